"""A person's taps. Each is one transaction under the run's row lock."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from uuid import UUID

from guard.signals import Kind
from missioncontrol.costs.spending import ORGANISATION, TREE
from missioncontrol.decisions import (
    budgets,
    cards,
    directives,
    organisation,
    rows,
    sessions,
)
from missioncontrol.decisions.actions import ACTIONS, Tap, ceiling_scope_of, check_agent
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.errors import (
    ActionUnavailable,
    Forbidden,
    InvalidRequest,
    NoSuchMove,
    NotFound,
    StaleRun,
)
from missioncontrol.proof import canonical
from missioncontrol.runs import journal, lineage
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, MUST_STOP, ON_HOLD, Move
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import run_row
from missioncontrol.wire.decisions import PERMISSION, DecisionRow, InterventionRow
from missioncontrol.wire.events import InterventionMade
from missioncontrol.wire.rows import to_json
from missioncontrol.wire.runs import RunRow

WITHOUT_VERSION = frozenset({"pause", "terminate", "restart", "undo"})
SETTLED_AT_TERMINAL = {
    "answered": "This card has moved on: it was answered at the agent's terminal.",
    "timed_out": "This card no longer waits for an answer: give it at the agent's terminal.",
}
CEILING_ACTIONS = frozenset({"allow_budget", "undo"})
RECORDING_REFUSAL = "This run is an imported recording: there is no agent to reach."
# Actions on an ended run; *Continue* too, if a hold outlived its session.
ENDED_RUN_ACTIONS = frozenset({"terminate", "allow_budget", "restart", "undo"})


def intervene(
    run_id: UUID,
    tap: Tap,
    *,
    projects: Container[UUID],
    by: str,
    at: datetime,
    owns_project: Callable[[], bool] = lambda: False,
) -> tuple[InterventionRow, bool]:
    """Carry out a tap; True: it is new, False: this repeats the first answer.

    `owns_project` tells, under the locks, whether the person owns a project: only then may they
    change the organisation's ceiling.

    Raises:
        NotFound: no such run in the person's projects.
        KeyReused: the key was used before with another body.
        StaleRun: the run has changed since the person looked.
        InvalidRequest: the action lacks its version, message or amount.
        ActionUnavailable: the card does not offer this action.
        NoSuchMove: the run has ended.
        Forbidden: it would change the organisation's ceiling, and the person owns no project.
    """
    # Before the lock: agents are not indexed, so an unknown name takes reading all turns. An agent
    # that has turns keeps them, so the answer stays true.
    agent_exists = tap.agent is None or Turn.objects.filter(run=run_id, agent=tap.agent).exists()
    with _lock_for_tap(run_id, tap, projects=projects, at=at) as (tx, scope):
        run = _run_in_projects(tx, run_id, projects)
        _refuse_recording(run)
        if known := directives.find_repeated(run, tap.key, body=_canonical_body(tap)):
            return rows.intervention_row(known, run), False
        decision = _current_decision(run, tap, at=at)
        check_agent(tap, decision, agent_exists=agent_exists)
        if tap.action == "allow_budget" and ceiling_scope_of(decision) != scope:
            raise _stale_error(run, tap, at=at)  # another card opened before these locks were taken
        if scope == ORGANISATION and tap.action in CEILING_ACTIONS and not owns_project():
            raise Forbidden("Only a project owner can raise the budget of all projects.")
        return _carry_out(tx, run, tap, decision, by=by), True


@contextmanager
def _lock_for_tap(
    run_id: UUID, tap: Tap, *, projects: Container[UUID], at: datetime
) -> Iterator[tuple[RunTransaction, str]]:
    """Lock the run and, if the answer affects others, the project and those runs.

    Yields the transaction and the scope of the ceiling that it is locked for.
    """
    changes_ceiling, ends = tap.action in CEILING_ACTIONS, tap.action == "terminate"
    # Read without a lock, to know what to lock; `intervene` checks again under the locks.
    card = _find_card(run_id, tap) if changes_ceiling else None
    run = Run.objects.only("project_id", "root").filter(pk=run_id).first()
    with ExitStack() as locks:
        others: list[UUID] = []
        if (changes_ceiling or ends) and run is not None and run.project_id in projects:
            others = _lock_others(locks, run, card, ends=ends)
        lock = journal.lock_runs({run_id, *others}, at=at, priority=True)
        yield locks.enter_context(lock), ceiling_scope_of(card)


def _lock_others(locks: ExitStack, run: Run, card: Decision | None, *, ends: bool) -> list[UUID]:
    """Take the locks that come before those of runs; return the other runs that are affected.

    `card`: the one whose ceiling may change; `ends`: the run may end.
    """
    scope = ceiling_scope_of(card)
    if scope == ORGANISATION:
        locks.enter_context(organisation.lock_organisation())
        return budgets.live_run_ids()
    if scope == "run" and run.root is None:
        return []
    locks.enter_context(journal.lock_project(run.project_id, priority=True))
    # Read under the project's lock: no run is added while it is held.
    if ends:
        return lineage.live_descendant_ids(run)
    # A tree counts together; a shared ceiling affects every run that shares it.
    if card is not None and scope == TREE:
        return [*lineage.live_relative_ids(run.root), UUID(card.evidence["whose"])]
    if scope == "run":
        return lineage.live_relative_ids(run.root)
    return budgets.live_run_ids(run.project_id)


def _find_card(run_id: UUID, tap: Tap) -> Decision | None:
    """Return the card that a tap answers: the one it names, otherwise the open one."""
    cards_of = Decision.objects.filter(run=run_id).select_related("run")
    if tap.action == "undo":
        return cards_of.filter(
            interventions__key=tap.undoes, interventions__action="allow_budget"
        ).first()
    if tap.decision is not None:
        return cards_of.filter(pk=tap.decision).first()
    return cards_of.filter(status__in=rows.OPEN_STATUSES).exclude(kind=PERMISSION).first()


def _canonical_body(tap: Tap) -> str:
    # One text for each tap: a repeat must be identical. These fields are newer than some stored
    # taps, so they are left out if unset, as in those.
    later = {name for name in ("agent", "for_run") if not getattr(tap, name)}
    return canonical({name: one for name, one in to_json(tap).items() if name not in later})


def _current_decision(run: Run, tap: Tap, *, at: datetime) -> Decision | None:
    """Return the open card that the tap answers, if the person saw its current version."""
    if tap.version is None:
        if tap.action not in WITHOUT_VERSION:
            raise InvalidRequest(
                f"{tap.action} needs the run's version as you saw it.", field="version"
            )
    elif tap.version != run.version:
        raise _stale_error(run, tap, at=at)
    if tap.decision is not None and tap.decision != run.open_decision:
        closed = run.decisions.filter(pk=tap.decision).first()
        if closed is not None and closed.kind == PERMISSION and closed.status == "open":
            return _check_offered(closed, run, tap)
        if tap.action == "restart" and closed is not None:
            return closed  # the new run is told of what ended this one
        raise _stale_error(run, tap, at=at)
    if run.open_decision is None:
        return None
    return _check_offered(Decision.objects.get(pk=run.open_decision), run, tap)


def _check_offered(decision: Decision, run: Run, tap: Tap) -> Decision:
    """Return an open card if it offers the action that was tapped."""
    offered = rows.offered_actions(decision.kind, decision.holds, run)
    if decision.kind != PERMISSION:
        # These work while any card is open, but a permission's card can only be answered.
        offered = (*offered, "pause", "restart", "undo")
    # A tap that names no card answers the open one, but must not bypass a ceiling.
    if (tap.decision or decision.kind == Kind.BUDGET) and tap.action not in offered:
        refusal = f"This card does not offer {tap.action}."
        raise ActionUnavailable(rows.unavailable_actions(run).get(tap.action, refusal))
    return decision


def _stale_error(run: Run, tap: Tap, *, at: datetime) -> StaleRun:
    shown_to_them = tap.decision or run.open_decision
    seen = run.decisions.filter(pk=shown_to_them).first() if shown_to_them else None
    shown: DecisionRow | None = rows.decision_row(seen, run) if seen else None
    row: RunRow = run_row(run, at=at)
    changed = f"This run has moved on: it is {run.status} at version {run.version}."
    if seen is not None and seen.resolution in SETTLED_AT_TERMINAL:
        changed = SETTLED_AT_TERMINAL[seen.resolution]
    elif seen is not None and seen.resolved_at is not None:
        answer = (seen.resolution or "answered").replace("_", " ")
        changed = f"This card has moved on: {seen.resolved_by} answered it with {answer}."
    return StaleRun(changed, run=row, decision=shown)


def _carry_out(
    tx: RunTransaction, run: Run, tap: Tap, decision: Decision | None, *, by: str
) -> InterventionRow:
    hold = run.hold
    lifts_hold = hold is not None and hold.stands and tap.action == "continue"
    if run.status in ENDED and not lifts_hold and tap.action not in ENDED_RUN_ACTIONS:
        raise NoSuchMove(run.status, tap.action)
    # Before the tap is stored and the card closed: both carry the new version.
    tx.raise_version(run)
    intervention = Intervention(
        run=run,
        decision=decision,
        key=tap.key,
        body=_canonical_body(tap),
        action=tap.action,
        message=tap.message,
        status="asked",
        by=by,
        version=run.version,
        at=tx.at,
        held_from=hold.from_seq if hold and (lifts_hold or run.status in ON_HOLD) else None,
    )
    # Before the act: what it creates (messages, entries, a new run) refers to the tap.
    intervention.save(force_insert=True)
    # Before the act, which may end the hold that this is read from.
    is_reachable = hold is None or hold.gave_up_at is None or run.parked
    if decision is not None and decision.kind == PERMISSION:
        cards.resolve_card(tx, run, decision, resolution=tap.action, by=by)
    # A pause keeps the card that holds the agent; an undo reopens one.
    elif tap.action not in {"pause", "undo"}:
        cards.close_card(tx, run, resolution=tap.action, by=by)
    raised = ACTIONS[tap.action](tx, run, tap, intervention)
    _track_delivery(tx, run, tap, intervention, is_reachable=is_reachable, lifts_hold=lifts_hold)
    row = rows.intervention_row(intervention, run)
    asks = tap.action == "pause" and run.open_decision is not None
    expires_at = run.hold.expires_at if asks and run.hold else None
    tx.record(run, InterventionMade, by=by, row=row, expires_at=expires_at, raised=raised)
    return row


def _track_delivery(
    tx: RunTransaction,
    run: Run,
    tap: Tap,
    intervention: Intervention,
    *,
    is_reachable: bool,
    lifts_hold: bool,
) -> None:
    """Have the agent's next act confirm this answer; a stop, once followed, stays followed.

    If the agent gave up waiting, the answer is unreachable until the agent is heard from again.
    `lifts_hold`: the answer lifts the hold of an ended session, and waits for the session's return.
    """
    if run.status in ENDED and not lifts_hold:
        run.meters.unconfirmed = None
        # A new run can be reached by its requests; the ended one by none.
        intervention.status = "unreachable" if intervention.new_run_id is None else "acknowledged"
        intervention.acknowledged_at = intervention.at if intervention.new_run_id else None
    elif tap.action in {"terminate", "restart"} or run.status not in MUST_STOP:
        is_beside = tap.agent is not None or tap.action in directives.PERMISSION_ANSWERS
        if not is_beside or run.meters.unconfirmed is None:
            # One answer is followed at a time. An answer to a permission is confirmed by its own
            # request; a message to one agent does not replace what all agents were told.
            directives.follow_answer(tx, run, intervention)
        # A pause is for the next turn: no request need be open now.
        if not is_reachable and tap.action != "pause":
            intervention.status = "unreachable"
    else:  # a stop wins: nothing of this answer leaves
        intervention.status = "unreachable"
    if intervention.status != "asked":
        intervention.save(update_fields=["status", "acknowledged_at"])


def set_mode(run_id: UUID, mode: str, *, projects: Container[UUID], by: str, at: datetime) -> Run:
    """Change what the server does when this run loops."""
    with journal.lock_runs([run_id], at=at) as tx:
        run = _run_in_projects(tx, run_id, projects)
        _refuse_recording(run)
        # No change, no event: a new version would make open taps stale.
        if run.mode != mode:
            tx.raise_version(run)
            run.mode = mode
            tx.record_state(run, by=by, reason=f"mode set to {mode}")
    return run


def report_end(
    run_id: UUID, status: str, *, projects: Container[UUID], by: str, at: datetime
) -> Run:
    """Accept the agent's report that its run has completed or failed."""
    move = Move.COMPLETE if status == "completed" else Move.FAIL
    with journal.lock_runs([run_id], at=at) as tx:
        run = _run_in_projects(tx, run_id, projects)
        sessions.end_run(tx, run, move, by=by, reason=f"the agent reported {status}")
    return run


def _refuse_recording(run: Run) -> None:
    """Refuse to act on a recording.

    Raises:
        ActionUnavailable: the run is a recording.
    """
    if run.imported:
        raise ActionUnavailable(RECORDING_REFUSAL)


def _run_in_projects(tx: RunTransaction, run_id: UUID, projects: Container[UUID]) -> Run:
    run = tx.run(run_id)
    if run.project_id not in projects:
        raise NotFound("The run")
    return run
