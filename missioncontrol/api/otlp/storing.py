"""Put telemetry into runs: open them, store their turns, count their calls.

Every step may be repeated: turns, calls and records are known by their keys. So a
request that failed in the middle can be sent again and does no harm.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from guard.turn import Turn
from missioncontrol.accounts.models import Project
from missioncontrol.accounts.selectors import KeyHolder
from missioncontrol.api.otlp.record import Batch, Record, SessionRecord
from missioncontrol.compiled_queries import CompiledQuery
from missioncontrol.costs import telemetry
from missioncontrol.costs.ledger import Call
from missioncontrol.decisions import sessions
from missioncontrol.errors import Forbidden
from missioncontrol.proof import canonical
from missioncontrol.redaction import Redaction
from missioncontrol.runs import services as runs
from missioncontrol.runs.ingest import Arrival, sanitize
from missioncontrol.runs.lifecycle import Source
from missioncontrol.runs.models import Run, TelemetryRecord
from missioncontrol.runs.models import Turn as TurnModel
from missioncontrol.runs.sanitizing import masked_json, masked_name, masked_text, storable_moment
from missioncontrol.runs.statements import insert_rows

# Per request; with more, somebody is inventing sessions.
MAX_RUNS = 200
# The same length as the names that hooks give to runs.
NAME_PROMPT_CHARS = 60
CALL_SOURCES = {"traces": "spans", "logs": "logs"}
# A run known only from telemetry is watched: it asks us nothing before a call.
CAPABILITIES = {
    "hold": False,
    "inject": [],
    "terminate": "not",
    "cost": "otlp",
    "why": {
        "hold": "Only telemetry tells of this run: it cannot be held.",
        "inject": "Only telemetry tells of this run: no text can be sent to it.",
        "terminate": "Only telemetry tells of this run: it cannot be ended from here.",
    },
}
MAX_ATTRIBUTES = 100
MAX_STORED_CHARS = 1000
MAX_VALUE_CHARS = 4000
# Conversations are stored as turns, and instructions are long and repeated with every model call.
DROPPED_ATTRIBUTES = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "llm.input_messages",
    "llm.output_messages",
    "response_text",
)


@dataclass(frozen=True, slots=True)
class RunBatch:
    """What one request contains for one run."""

    run: Run
    session_records: Sequence[SessionRecord]
    arrival: Arrival | None
    """Its turns; the records go with them if nothing else has to be done afterwards."""
    records: Sequence[TelemetryRecord]
    """The records that `finish_batches` stores. A stored record is never read again, so the calls
    and ends it reports are handled first; they refer to turns.
    """


def batch_by_run(
    batch: Batch, session_records: Sequence[SessionRecord], *, key: KeyHolder, at: datetime
) -> list[RunBatch]:
    """Find or open each session's run, and what is new to it.

    Records of a run that `key` does not reach are refused, and the rest is taken.
    """
    # One look-up and one write per run, however many records it has.
    by_key: dict[str, list[SessionRecord]] = defaultdict(list)
    for one in session_records:
        by_key[one.run_key].append(one)
    found = []
    for number, (run_key, of_run) in enumerate(by_key.items()):
        if number >= MAX_RUNS:
            _refuse_records(batch, of_run, f"at most {MAX_RUNS} sessions a request")
            continue
        try:
            run = _open_run(run_key, of_run, at=at, opener=key)
        except Forbidden as refused:
            _refuse_records(batch, of_run, str(refused))
            continue
        # Of a record that occurs twice in one request, the first is new.
        unknown = {one.record.key: one for one in reversed(of_run)}
        # Exporters send a batch again when its answer was lost.
        for record in _STORED_KEYS.fetch([run.id], unknown.keys()):
            del unknown[record.key]
        new = [one for one in of_run if unknown.get(one.record.key) is one]
        # If hooks or the SDK report the run, they report its turns too, in more detail.
        turns = _pair_turns(run, new, key.redaction) if run.source == Source.TELEMETRY else []
        records = [telemetry_row(run.id, one, at=at, own=key.redaction) for one in new]
        is_only_turns = turns and not any(one.use or one.ends for one in new)
        arrival = Arrival(
            run=run.id,
            project=key.project,
            turns=turns,
            redaction=key.redaction,
            telemetry=records if is_only_turns else (),
        )
        # Masked here, in a separate thread: the ingest thread stores for everybody.
        arrived = sanitize(arrival) if turns else None
        found.append(RunBatch(run, new, arrived, () if is_only_turns else records))
    return found


def finish_batches(run_batches: Iterable[RunBatch], *, at: datetime) -> None:
    """Count the calls, end what is over, store the other records; called once turns are stored.

    Turns are matched with calls last, because that reads the records.
    """
    run_batches = list(run_batches)
    calls = {one.run.id: calls_of(one.session_records, agent=one.run.agent) for one in run_batches}
    telemetry.count_calls({run: made for run, made in calls.items() if made}, at=at)
    for run_batch in run_batches:
        # Only a run that nothing else reports: a hook knows better when its session ends.
        last = next((one for one in run_batch.session_records if one.ends), None)
        if last is not None and run_batch.run.source == Source.TELEMETRY:
            sessions.end_session(run_batch.run.id, at=at, failed=last.failed)
    if records := [row for run_batch in run_batches for row in run_batch.records]:
        with transaction.atomic():
            insert_rows(TelemetryRecord, records, on_conflict="DO NOTHING")
    telemetry.attach_calls_to_turns(calls, at=at)


_STORED_KEYS = CompiledQuery(
    lambda runs, keys: TelemetryRecord.objects.filter(run_id__in=runs, key__in=keys).only("key")
)


def _refuse_records(batch: Batch, session_records: Iterable[SessionRecord], why: str) -> None:
    for one in session_records:
        batch.refuse(one.record.index, why)


def _open_run(
    key: str, session_records: list[SessionRecord], *, opener: KeyHolder, at: datetime
) -> Run:
    run = runs.join_run(opener.project, key, opener=opener, at=at)
    if run is not None and (run.goal or run.source != Source.TELEMETRY):
        return run  # most requests: a run that has its name learns nothing new
    first, own = session_records[0], opener.redaction
    prompt = next((one.prompt for one in session_records if one.prompt), "")
    prompt = masked_text(prompt, own) or ""  # before the name is cut from it
    name = f"{first.client}: {prompt[:NAME_PROMPT_CHARS]}" if prompt else first.client
    agent = next((one.agent for one in session_records if one.agent), first.client)
    if run is None:
        run, is_new = runs.open_run(
            Project.objects.get(pk=opener.project),
            runs.OpenRun(
                name=name,
                key=key,
                agent=agent,
                goal=prompt,
                capabilities=CAPABILITIES,
                metadata={"otel": stored_attributes(first.record.resource, own)},
            ),
            by="agent",
            at=at,
            source=Source.TELEMETRY,
            opener=opener,
        )
        if is_new:
            return run
    # It was opened before its prompt was known, or by another request meanwhile.
    if run.source == Source.TELEMETRY and prompt and not run.goal:
        runs.describe_run(run.id, name=name, goal=prompt, redaction=own, at=at)
    return run


class OpenProposals:
    """Proposed turns that wait for their tool: keys by masked tool and arguments, oldest first."""

    def __init__(self, own: Redaction) -> None:
        self._own = own
        self._keys: dict[tuple[str | None, str], deque[str | None]] = defaultdict(deque)

    def add_stored(self, key: str | None, tool: str | None, args: Any) -> None:
        """Add a proposal that is stored, and so masked already."""
        self._keys[tool, canonical(args)].append(key)

    def pair(self, turn: Turn, of: SessionRecord) -> Turn:
        """Add a proposal; give a call without an id the key of the proposal that it answers."""
        if not (turn.is_proposed or of.is_unpaired):
            return turn
        # Masked as stored proposals are.
        tool, args = masked_text(turn.tool, self._own), masked_json(turn.args, self._own)
        waiting = self._keys[tool, canonical(args)]
        if turn.is_proposed:
            waiting.append(turn.key)
            return turn
        # Each key once: two equal calls answer two proposals, the older one first.
        return replace(turn, key=waiting.popleft()) if waiting else turn


def _pair_turns(run: Run, session_records: list[SessionRecord], own: Redaction) -> list[Turn]:
    """Return the turns; a tool call without an id gets the key of the proposal it completes."""
    # A call is completed by the request that proposed it, or by a later one.
    proposals = OpenProposals(own)
    if any(one.is_unpaired for one in session_records):
        open_ = TurnModel.objects.filter(run=run, phase="proposed", key__isnull=False)
        for key, tool, args in open_.order_by("seq").values_list("key", "tool", "args"):
            proposals.add_stored(key, tool, args)
    return [proposals.pair(turn, one) for one in session_records for turn in one.turns]


def telemetry_row(run: UUID, of: SessionRecord, *, at: datetime, own: Redaction) -> TelemetryRecord:
    """Return the row that stores a record."""
    record = of.record
    return TelemetryRecord(
        run_id=run,
        key=record.key,
        name=masked_name(record.name, 200, own),
        agent=of.agent,
        attributes=stored_attributes(record.attributes, own),
        turn_key=of.tool_key,
        began_at=storable_moment(record.began_at),
        at=at,
    )


def stored_attributes(attributes: Mapping[str, Any], own: Redaction) -> dict[str, Any]:
    """Return attributes as they are stored: without conversations and secrets, and shortened."""
    kept = (name for name in attributes if not name.startswith(DROPPED_ATTRIBUTES))
    chosen: dict[str, Any] = {}
    for name in itertools.islice(kept, MAX_ATTRIBUTES):
        value = attributes[name]
        # Values that are far too long are cut before masking reads them.
        is_nested = isinstance(value, list | dict)
        text = json.dumps(value, ensure_ascii=False, default=str) if is_nested else value
        is_long = isinstance(text, str) and len(text) > MAX_VALUE_CHARS
        chosen[name[:200]] = text[:MAX_VALUE_CHARS] if is_long else value
    masked: dict[str, Any] = masked_json(chosen, own) or {}
    # The final cut comes after masking: half a number would not have been recognised.
    return {
        name: (value[:MAX_STORED_CHARS] if isinstance(value, str) else value)
        for name, value in masked.items()
    }


def calls_of(session_records: Sequence[SessionRecord], *, agent: str) -> list[Call]:
    """Return the model calls reported, as `agent`'s unless they name another.

    A call within another is the same call.
    """
    spans = {one.record.span for one in session_records if one.use and _is_span(one.record)}
    calls: list[Call] = []
    for one in session_records:
        use, record = one.use, one.record
        if use is None or (_is_span(record) and record.parent in spans):
            continue
        calls.append(
            Call(
                call_id=use.call_id,
                source=CALL_SOURCES[record.signal],
                agent=one.agent or agent,
                model=use.model or None,
                provider=use.provider or None,
                usage=use.usage,
                cost_usd=use.cost_usd,
                made_at=record.ended_at,
                began_at=record.began_at,
            )
        )
    return calls


def _is_span(record: Record) -> bool:
    return record.signal == "traces"
