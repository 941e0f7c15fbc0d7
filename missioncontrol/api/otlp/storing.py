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
from missioncontrol.api.otlp.batch import Batch
from missioncontrol.api.otlp.reading import Reading
from missioncontrol.api.otlp.record import Record
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
MOST_RUNS = 200
# The same length as the names that hooks give to runs.
PROMPT_LENGTH = 60
SOURCE = {"traces": "spans", "logs": "logs"}
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
MOST_ATTRIBUTES = 100
LONGEST_TEXT = 1000
LONGEST_VALUE = 4000
# Conversations are stored as turns, and instructions are long and repeated with every model call.
NOT_KEPT = (
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
class Visit:
    """What one request contains for one run."""

    run: Run
    readings: Sequence[Reading]
    arrival: Arrival | None
    """Its turns; the records go with them if nothing else has to be done afterwards."""
    records: Sequence[TelemetryRecord]
    """The records that `settle` stores. A stored record is never read again, so the calls and ends
    it reports are handled first; they refer to turns.
    """


def visits(
    batch: Batch, readings: Sequence[Reading], *, key: KeyHolder, at: datetime
) -> list[Visit]:
    """Find or open each session's run, and what is new to it.

    Records of a run that `key` does not reach are refused, and the rest is taken.
    """
    # One look-up and one write per run, however many records it has.
    by_key: dict[str, list[Reading]] = defaultdict(list)
    for one in readings:
        by_key[one.run_key].append(one)
    found = []
    for number, (run_key, of_run) in enumerate(by_key.items()):
        if number >= MOST_RUNS:
            _refuse(batch, of_run, f"at most {MOST_RUNS} sessions a request")
            continue
        try:
            run = _open_run(run_key, of_run, at=at, opener=key)
        except Forbidden as refused:
            _refuse(batch, of_run, str(refused))
            continue
        # Of a record that occurs twice in one request, the first is new.
        unknown = {one.record.key: one for one in reversed(of_run)}
        # Exporters send a batch again when its answer was lost.
        for record in _KEPT.fetch([run.id], unknown.keys()):
            del unknown[record.key]
        new = [one for one in of_run if unknown.get(one.record.key) is one]
        # If hooks or the SDK report the run, they report its turns too, in more detail.
        turns = _pair_turns(run, new, key.redaction) if run.source == Source.TELEMETRY else []
        records = [kept_record(run.id, one, at=at, own=key.redaction) for one in new]
        is_only_turns = turns and not any(one.facts.use or one.facts.ends for one in new)
        arrival = Arrival(
            run=run.id,
            project=key.project,
            turns=turns,
            redaction=key.redaction,
            telemetry=records if is_only_turns else (),
        )
        # Masked here, in a separate thread: the ingest thread stores for everybody.
        arrived = sanitize(arrival) if turns else None
        found.append(Visit(run, new, arrived, () if is_only_turns else records))
    return found


def settle(found: Iterable[Visit], *, at: datetime) -> None:
    """Count the calls, end what is over, store the other records; called once turns are stored.

    Turns are matched with calls last, because that reads the records.
    """
    found = list(found)
    calls = {visit.run.id: calls_of(visit.readings, agent=visit.run.agent) for visit in found}
    telemetry.count_calls({run: made for run, made in calls.items() if made}, at=at)
    for visit in found:
        # Only a run that nothing else reports: a hook knows better when its session ends.
        last = next((one.facts for one in visit.readings if one.facts.ends), None)
        if last is not None and visit.run.source == Source.TELEMETRY:
            sessions.end_session(visit.run.id, at=at, failed=last.failed)
    if records := [row for visit in found for row in visit.records]:
        with transaction.atomic():
            insert_rows(TelemetryRecord, records, on_conflict="DO NOTHING")
    telemetry.place_calls(calls, at=at)


_KEPT = CompiledQuery(
    lambda runs, keys: TelemetryRecord.objects.filter(run_id__in=runs, key__in=keys).only("key")
)


def _refuse(batch: Batch, readings: Iterable[Reading], why: str) -> None:
    for one in readings:
        batch.refuse(one.record.place, why)


def _open_run(key: str, readings: list[Reading], *, opener: KeyHolder, at: datetime) -> Run:
    run = runs.join_run(opener.project, key, opener=opener, at=at)
    if run is not None and (run.goal or run.source != Source.TELEMETRY):
        return run  # most requests: a run that has its name learns nothing new
    first, own = readings[0], opener.redaction
    prompt = next((one.facts.prompt for one in readings if one.facts.prompt), "")
    prompt = masked_text(prompt, own) or ""  # before the name is cut from it
    name = f"{first.facts.client}: {prompt[:PROMPT_LENGTH]}" if prompt else first.facts.client
    agent = next((one.facts.agent for one in readings if one.facts.agent), first.facts.client)
    if run is None:
        run, is_new = runs.open_run(
            Project.objects.get(pk=opener.project),
            runs.OpenRun(
                name=name,
                key=key,
                agent=agent,
                goal=prompt,
                capabilities=CAPABILITIES,
                metadata={"otel": kept(first.record.resource, own)},
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


class Proposals:
    """Proposed turns that wait for their tool: keys by masked tool and arguments, oldest first."""

    def __init__(self, own: Redaction) -> None:
        self._own = own
        self._keys: dict[tuple[str | None, str], deque[str | None]] = defaultdict(deque)

    def add_stored(self, key: str | None, tool: str | None, args: Any) -> None:
        """Add a proposal that is stored, and so masked already."""
        self._keys[tool, canonical(args)].append(key)

    def add(self, turn: Turn) -> None:
        """Add a proposal that is about to be stored."""
        self._keys[self._masked_call(turn)].append(turn.key)

    def completed_by(self, turn: Turn) -> Turn:
        """Give a tool call without an id the key of the proposal it answers, if one waits."""
        # Each key once: two equal calls answer two proposals, the older one first.
        waiting = self._keys.get(self._masked_call(turn))
        return replace(turn, key=waiting.popleft()) if waiting else turn

    def _masked_call(self, turn: Turn) -> tuple[str | None, str]:
        # Masked as stored proposals are.
        tool, args = masked_text(turn.tool, self._own), masked_json(turn.args, self._own)
        return tool, canonical(args)


def _pair_turns(run: Run, readings: list[Reading], own: Redaction) -> list[Turn]:
    """Return the turns; a tool call without an id gets the key of the proposal it completes."""
    # A call is completed by the request that proposed it, or by a later one.
    waiting = Proposals(own)
    if any(one.facts.unpaired for one in readings):
        open_ = TurnModel.objects.filter(run=run, phase="proposed", key__isnull=False)
        for key, tool, args in open_.order_by("seq").values_list("key", "tool", "args"):
            waiting.add_stored(key, tool, args)
    turns: list[Turn] = []
    for one in readings:
        for turn in one.facts.turns:
            if turn.is_proposed:
                waiting.add(turn)
            turns.append(waiting.completed_by(turn) if one.facts.unpaired else turn)
    return turns


def kept_record(run: UUID, reading: Reading, *, at: datetime, own: Redaction) -> TelemetryRecord:
    """Return the row that stores a record."""
    record, facts = reading.record, reading.facts
    return TelemetryRecord(
        run_id=run,
        key=record.key,
        name=masked_name(record.name, 200, own),
        agent=facts.agent,
        attributes=kept(record.attributes, own),
        turn_key=facts.tool_key,
        began_at=storable_moment(record.began_at),
        at=at,
    )


def kept(attributes: Mapping[str, Any], own: Redaction) -> dict[str, Any]:
    """Return attributes as they are stored: without conversations and secrets, and shortened."""
    named = ((name, value) for name, value in attributes.items() if not name.startswith(NOT_KEPT))
    chosen: dict[str, Any] = {}
    for name, value in itertools.islice(named, MOST_ATTRIBUTES):
        # Values that are far too long are cut before masking reads them.
        is_nested = isinstance(value, list | dict)
        text = json.dumps(value, ensure_ascii=False, default=str) if is_nested else value
        is_long = isinstance(text, str) and len(text) > LONGEST_VALUE
        chosen[name[:200]] = text[:LONGEST_VALUE] if is_long else value
    masked: dict[str, Any] = masked_json(chosen, own) or {}
    # The final cut comes after masking: half a number would not have been recognised.
    return {
        name: (value[:LONGEST_TEXT] if isinstance(value, str) else value)
        for name, value in masked.items()
    }


def calls_of(readings: Sequence[Reading], *, agent: str) -> list[Call]:
    """Return the model calls reported, as `agent`'s unless they name another.

    A call within another is the same call.
    """
    spans = {one.record.span for one in readings if one.facts.use and _is_span(one.record)}
    calls: list[Call] = []
    for one in readings:
        use, record = one.facts.use, one.record
        if use is None or (_is_span(record) and record.parent in spans):
            continue
        calls.append(
            Call(
                call_id=use.call_id,
                source=SOURCE[record.signal],
                agent=one.facts.agent or agent,
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
