"""Import a recorded run: it is stored and judged like a live one, but nobody is held or asked.

Everything is read, masked, priced and judged in memory; then one transaction stores it all, or
nothing. Its cost counts for the run only: no budget, report or sum of the project includes it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from guard.formats.recording import Recording as Recorded
from guard.turn import Role
from guard.turn import Turn as GuardTurn
from missioncontrol.accounts.models import Project
from missioncontrol.costs import ledger, telemetry
from missioncontrol.costs.ledger import Call
from missioncontrol.detection import judging, sandbox
from missioncontrol.detection.engine_cache import policy_of
from missioncontrol.detection.models import Recording
from missioncontrol.errors import InvalidRequest, NotFound, ensure_found
from missioncontrol.ids import earlier_id, new_id
from missioncontrol.runs import journal, rows
from missioncontrol.runs.ingest import number_recording
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import Source, Status
from missioncontrol.runs.models import TAPE_POINTS, Run, RunMeters, Turn
from missioncontrol.runs.sanitizing import (
    masked_name,
    masked_text,
    storable_moment,
    storable_turn,
)
from missioncontrol.runs.selectors import find_run
from missioncontrol.runs.services import masked_workspace, no_capabilities
from missioncontrol.runs.statements import insert_rows
from missioncontrol.wire.events import RunImported, RunOpened
from missioncontrol.wire.policies import RecordedAlarm, RecordingRow
from missioncontrol.wire.rows import from_json, row_of, to_json

NAME_LENGTH = 60
# Formats that a single agent writes; in others the turns name their agents.
SINGLE_AGENT_FORMATS = frozenset({"claude-code", "codex", "gemini"})
RECORDING_CAPABILITIES = no_capabilities(
    "This is an imported recording: there is no agent to reach."
)

# A turn as it was read, and its row.
NumberedTurn = tuple[GuardTurn, Turn]


def find_imported(project_id: UUID, sha256: str) -> Recording | None:
    """Return the recording that was imported from this same file before."""
    found = Recording.objects.filter(project_id=project_id, sha256=sha256)
    return found.select_related("run__meters").first()


def import_recording(
    project: Project,
    recorded: Recorded,
    calls: Sequence[Call] = (),
    *,
    projects: Container[UUID],
    file: str,
    sha256: str,
    by: str,
    at: datetime,
) -> tuple[Recording, bool]:
    """Store a recording as an ended run of a project; False: the file is there already.

    `calls` are model calls reported separately from the turns: if any, only these are counted.
    `projects` is checked at the end, under the project's lock, as judging takes time.

    Raises:
        InvalidRequest: it holds no turn, or too many.
        NotFound: the project is not, or no longer, in `projects`.
    """
    turns = _readable_turns(recorded, project, at=at)
    run = _make_run(project, recorded, turns, at=at)
    recording = Recording(
        run=run,
        project=project,
        sha256=sha256,
        file=masked_name(file, 200, project.redaction),
        form=recorded.form,
        unreadable=recorded.malformed + sum(map(bool, recorded.turns)) - len(turns),
        by=by,
        at=at,
    )
    # Outside `journal.lock_runs`: no lock is held while a long recording is judged.
    tx = RunTransaction({}, at=at)
    tx.is_silent = True
    numbered = _enter_turns(tx, recording, turns, calls)
    recording.alarms = [to_json(alarm) for alarm in _judge_turns(tx, run, numbered)]
    try:
        with journal.lock_project(project.id):
            if project.id not in projects:
                raise NotFound("The project")
            run.save(force_insert=True)
            run.meters.save(force_insert=True)
            recording.save(force_insert=True)
            # By id: a proposal and its outcome share a row, which is inserted once.
            insert_rows(Turn, {row.id: row for _, row in numbered}.values())
            tx.flush()
    except IntegrityError:  # the same file was sent twice at once
        imported = find_imported(project.id, sha256)
        if imported is None:
            raise
        return imported, False
    return recording, True


def show_recording(run_id: UUID, *, projects: Sequence[UUID]) -> RecordingRow:
    """Return the recording that an imported run was read from.

    Raises:
        NotFound: no such run in these projects, or it was not imported.
    """
    run = find_run(run_id, projects=projects)
    found = Recording.objects.filter(run=run).select_related("run__meters")
    return recording_row(ensure_found(found.first(), "The recording"))


def recording_row(recording: Recording, *, is_new: bool = False) -> RecordingRow:
    """Return a recording as its wire row."""
    return row_of(
        RecordingRow,
        recording,
        run_name=recording.run.name,
        turns=recording.run.meters.last_seq + 1,
        alarms=tuple(from_json(RecordedAlarm, one) for one in recording.alarms),
        is_new=is_new,
        unread=(),
    )


def erase_texts(run: Run) -> None:
    """Erase the words stored with a run's recording; its file may be imported again."""
    for one in Recording.objects.filter(run=run):
        one.alarms = [{**alarm, "summary": ""} for alarm in one.alarms]
        one.file = one.sha256 = ""
        one.save(update_fields=["alarms", "file", "sha256"])


def _readable_turns(recorded: Recorded, project: Project, *, at: datetime) -> list[GuardTurn]:
    """Return the readable turns, masked, each with its time, or that of the turn before."""
    turns_read = [turn for turn in recorded.turns if turn is not None]
    if not turns_read:
        raise InvalidRequest("The file was read, but it contains no turns.", field="file")
    if len(turns_read) > sandbox.MAX_TURNS:  # a telemetry file, which has another reader
        raise sandbox.too_many_turns(len(turns_read))
    # Nothing was recorded after its import: a turn dated in the future would never grow old.
    moments = [moment and min(moment, at) for moment in (storable_moment(t.ts) for t in turns_read)]
    latest = next((moment for moment in moments if moment), at)
    turns = []
    for turn, moment in zip(turns_read, moments, strict=True):
        latest = moment or latest
        # Arguments nested hundreds of levels deep are no agent's call: only that turn is dropped.
        with suppress(RecursionError):
            turns.append(replace(storable_turn(turn, project.redaction), ts=latest))
    if not turns:
        raise InvalidRequest("Every turn of the file is nested too deeply.", field="file")
    return turns


def _make_run(
    project: Project, recorded: Recorded, turns: Sequence[GuardTurn], *, at: datetime
) -> Run:
    """Return the run: ended, and with no agent that could be answered."""
    asked = next((turn.content for turn in turns if turn.role is Role.USER and turn.content), "")
    # Without a goal, the first request is used instead.
    goal = masked_text(recorded.goal, project.redaction) or asked or ""
    speaks = next((turn.agent for turn in turns if turn.agent), "")
    # A transcript's own name is its session id, so the goal names the run.
    called = " ".join(goal.split())[:NAME_LENGTH] if recorded.form in SINGLE_AGENT_FORMATS else ""
    times = [turn.ts for turn in turns if turn.ts is not None]
    started_at = min(times)
    run = Run(
        # Runs are listed by id: this one is listed at its own time, not at its import's.
        id=earlier_id(new_id(), by=at - started_at),
        project=project,
        name=called or masked_name(recorded.run, 200, project.redaction) or "recording",
        agent=recorded.form if recorded.form in SINGLE_AGENT_FORMATS else speaks or "",
        goal=goal,
        mode=project.mode,
        policy_version=project.policy_version,
        capabilities=RECORDING_CAPABILITIES,
        workspace=masked_workspace(recorded.workspace, project.redaction),
        started_at=started_at,
        ended_at=max(times),
        status=Status.COMPLETED,
        source=Source.RECORDING,
    )
    RunMeters(
        run=run,
        cost_usd=rows.ZERO_COST,
        judge_cost_usd=rows.ZERO_COST,
        last_turn_at=max(times),
        presence="gone",
        final_ceilings=rows.shared_ceilings(run),
    )
    return run


def _enter_turns(
    tx: RunTransaction, recording: Recording, turns: Sequence[GuardTurn], calls: Sequence[Call]
) -> Sequence[NumberedTurn]:
    """Add the turns to the run's chain and meters, and each model call once."""
    run, by, sha256 = recording.run, recording.by, recording.sha256
    tx.add_run(run)
    tx.record(run, RunOpened, by=by, row=rows.run_row(run, at=tx.at))
    form, file, count = recording.form, recording.file, len(turns)
    tx.record(run, RunImported, by=by, file=file, form=form, sha256=sha256, turns=count)
    numbered: Sequence[NumberedTurn] = number_recording(tx, run, turns)
    # As `counting.count_turn` does: a proposal counts once, with its outcome.
    done = [turn for turn, _ in numbered if not turn.is_proposed]
    run.meters.done_turns += len(done)
    run.meters.tool_calls += sum(bool(turn.tool) for turn in done)
    if calls:
        numbered = _enter_separate_calls(tx, run, numbered, calls)
    paid = set[str]()
    # Calls reported separately are counted alone: the turns would report the same ones again.
    for turn, row in () if calls else numbered:
        call = turn.call_id or turn.key or str(row.id)
        if (turn.usage is None and turn.cost_usd is None) or call in paid:
            continue
        paid.add(call)
        source = "transcript" if run.agent in SINGLE_AGENT_FORMATS else "turns"
        model_call = Call.of_turn(turn, row, call_id=call, source=source)
        entered = ledger.enter_call(tx, run, model_call)[0]
        # A proposal and its outcome share a row: either shows what the call cost.
        run.meters.model, row.cost_usd = entered.model, entered.cost_usd
    run.meters.recent_costs = []  # nothing is being spent
    return numbered


def _enter_separate_calls(
    tx: RunTransaction, run: Run, numbered: Sequence[NumberedTurn], calls: Sequence[Call]
) -> list[NumberedTurn]:
    """Enter the calls reported separately; return the turns with their calls' usage and cost."""
    found = list(numbered)
    # If a proposal and its outcome share a row, the place of the outcome.
    index_of = {row.seq: place for place, (_, row) in enumerate(found)}
    rows_ = [row for _, row in reversed(numbered)]  # if several name a call, the first
    by_call = {row.call_id: row for row in rows_ if row.call_id}
    by_key = {row.key: row for row in rows_ if row.key}
    for given in calls:
        row = by_call.get(given.call_id) or by_key.get(given.turn_key or "")
        agent = masked_name(given.agent, 100, run.project.redaction)
        call = replace(given, agent=agent, turn_seq=None if row is None else row.seq)
        entered = ledger.enter_call(tx, run, call)[0]
        run.meters.model = entered.model
        if row is not None:
            telemetry.set_turn_cost(row, entered)
            turn = found[index_of[row.seq]][0]
            paid = replace(turn, call_id=call.call_id, usage=call.usage, cost_usd=call.cost_usd)
            model, provider = call.model or turn.model, call.provider or turn.provider
            found[index_of[row.seq]] = replace(paid, model=model, provider=provider), row
    return found


def _judge_turns(
    tx: RunTransaction, run: Run, numbered: Sequence[NumberedTurn]
) -> tuple[RecordedAlarm, ...]:
    """Judge the run under its project's policy; return where cards would have opened."""
    turns = tuple(replace(turn, seq=row.seq) for turn, row in numbered)
    recorded = Recorded(
        run=run.name, turns=turns, workspace=tuple(run.workspace), goal=run.goal or None
    )
    meters = run.meters
    assessments, opened = sandbox.judge_recording(recorded, policy_of(run))
    for (_, row), assessment in zip(numbered, assessments, strict=True):
        row.score, row.changed = round(assessment.score, 3), assessment.changed
        if meters.highest_score is None or assessment.stuck > meters.highest_score:
            meters.highest_score, meters.highest_score_seq = assessment.stuck, row.seq
    # A proposal and its outcome share a row, and have one bar.
    drawn = {row.seq: [row.score, row.changed] for _, row in numbered}
    meters.tape = list(drawn.values())[-TAPE_POINTS:]
    meters.judged_turns, meters.detected_obs = meters.last_seq + 1, meters.last_obs
    alarms = []
    for alarm in opened:
        row, signal = numbered[alarm.index][1], alarm.signal
        row.detector = signal.detector
        judging.record_detection(tx, run, signal, seq=row.seq, outcome="observed")
        until = None if alarm.until is None else numbered[alarm.until][1].seq
        alarms.append(
            RecordedAlarm(
                turn=row.seq,
                detector=signal.detector,
                kind=signal.kind.value,
                summary=signal.evidence.summary,
                until=until,
            )
        )
    return tuple(alarms)
