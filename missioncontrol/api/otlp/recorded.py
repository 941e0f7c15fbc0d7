"""A file of OTLP JSON as one recorded run: the collector's, a request a line, or one document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from guard.formats.recording import Recording
from guard.turn import Turn
from missioncontrol.api.otlp import decoding, storing
from missioncontrol.api.otlp.batch import MOST_RECORDS
from missioncontrol.api.otlp.reading import Reading, Sessions, understood
from missioncontrol.api.otlp.record import Signal
from missioncontrol.costs.ledger import SOURCES, Call
from missioncontrol.costs.telemetry import Began, led_to
from missioncontrol.errors import InvalidRequest
from missioncontrol.redaction import NOTHING

# No metrics: they tell of no turn.
HOLDS: dict[bytes, Signal] = {b'"resourceSpans"': "traces", b'"resourceLogs"': "logs"}


def is_otlp(beginning: bytes) -> bool:
    """Tell by its first bytes whether a file is an export of spans or log records."""
    return any(name in beginning for name in HOLDS)


def read_recording(text: bytes, *, name: str, project: UUID) -> tuple[Recording, list[Call]]:
    """Read the one session that a file tells of, and its model calls.

    Raises:
        InvalidRequest: a line is no request, or the file tells of no session, or of several.
    """
    sessions, readings, refused = Sessions(), list[Reading](), 0
    for body, signal in _requests(text):
        batch = decoding.read_json(body, signal)
        readings += understood(batch, project=project, sessions=sessions)
        refused += len(batch.refused)
        if len(readings) > MOST_RECORDS:
            raise InvalidRequest(f"At most {MOST_RECORDS} records a recording.", field="file")
    runs = {one.run_key for one in readings if one.facts.turns}
    if len(runs) != 1:
        what = f"{len(runs)} sessions" if runs else "no turn of an agent"
        raise InvalidRequest(f"The file tells of {what}; a recording is one session.", field="file")
    (run,) = runs
    # Exporters send logs and spans each in their own batches: only the clock orders them.
    ordered = sorted(
        (one for one in readings if one.run_key == run),
        key=lambda one: one.record.time_ns,
    )
    prompt = next((one.facts.prompt for one in ordered if one.facts.prompt), "")
    agent = next((one.facts.agent for one in ordered if one.facts.agent), ordered[0].facts.client)
    turns: list[Turn] = []
    waiting = storing.Proposals(NOTHING)
    for one in ordered:
        for turn in one.facts.turns:
            if turn.is_proposed:
                waiting.add(turn)
            elif one.facts.unpaired:
                turn = waiting.completed_by(turn)  # noqa: PLW2901 - as it was told
            moment = turn.ts or one.record.began_at or one.record.ended_at
            turns.append(replace(turn, ts=moment, agent=turn.agent or agent))
    recording = Recording(
        run=prompt[:60] or name,
        turns=tuple(turns),
        malformed=refused,
        goal=prompt or None,
        form="otlp",
    )
    return recording, _calls(ordered, agent)


def _requests(text: bytes) -> Iterator[tuple[bytes, Signal]]:
    # First as one document: indented JSON has lines too, and none of them is a request.
    if (signal := _signal(text)) and _is_json(text):
        yield text, signal
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        signal = _signal(line)
        if signal is None or not _is_json(line):
            raise InvalidRequest(
                f"Line {number}: expected an OTLP request in JSON, with resourceSpans or"
                " resourceLogs.",
                field="file",
            )
        yield line, signal


def _signal(text: bytes) -> Signal | None:
    return next((signal for name, signal in HOLDS.items() if name in text), None)


def _is_json(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _calls(readings: Sequence[Reading], agent: str) -> list[Call]:
    """Return each model call once, as the best source tells it, with the tool it asked for."""
    calls = storing.calls_of(readings, agent=agent)
    best = max((call.source for call in calls), key=SOURCES.index, default="")
    # Of a call told of twice, the first.
    by_id = {call.call_id: call for call in reversed(calls) if call.source == best}
    begun = [
        Began(name=call.call_id, agent=call.agent, at=call.began_at)
        for call in by_id.values()
        if call.began_at is not None
    ]
    tools = [
        Began(name=one.facts.tool_key, agent=one.facts.agent or agent, at=one.record.began_at)
        for one in readings
        if one.facts.tool_key and one.record.began_at is not None
    ]
    keys = led_to(begun, tools)
    return [replace(call, turn_key=keys.get(name)) for name, call in reversed(by_id.items())]
