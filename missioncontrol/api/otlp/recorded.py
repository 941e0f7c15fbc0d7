"""A file of OTLP JSON as one recorded run: the collector's, a request a line, or one document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from uuid import UUID

from guard.formats.recording import Recording
from guard.turn import Turn
from missioncontrol.api.otlp import from_json, storing
from missioncontrol.api.otlp.batch import MOST_RECORDS
from missioncontrol.api.otlp.reading import Sessions, Telling, understood
from missioncontrol.api.otlp.record import Signal
from missioncontrol.api.otlp.told import ModelUse
from missioncontrol.errors import InvalidRequest
from missioncontrol.redaction import NOTHING

HOLDS: dict[bytes, Signal] = {b'"resourceSpans"': "traces", b'"resourceLogs"': "logs"}


def is_otlp(beginning: bytes) -> bool:
    """Tell by its first bytes whether a file is an export of spans or log records."""
    return any(name in beginning for name in HOLDS)


def read_recording(text: bytes, *, name: str, project: UUID) -> Recording:
    """Read the one session that a file tells of.

    Raises:
        InvalidRequest: a line is no request, or the file tells of no session, or of several.
    """
    sessions, tellings, refused = Sessions(), list[Telling](), 0
    for body, signal in _requests(text):
        batch = from_json.read(body, signal)
        tellings += understood(batch, project=project, sessions=sessions)
        refused += len(batch.refused)
        if len(tellings) > MOST_RECORDS:
            raise InvalidRequest(f"At most {MOST_RECORDS} records a recording.", field="file")
    runs = {one.run_key for one in tellings if one.told.turns}
    if len(runs) != 1:
        what = f"{len(runs)} sessions" if runs else "no turn of an agent"
        raise InvalidRequest(f"The file tells of {what}; a recording is one session.", field="file")
    (run,) = runs
    told = sorted(
        (one for one in tellings if one.run_key == run),
        key=lambda one: one.record.time_ns,
    )
    prompt = next((one.told.prompt for one in told if one.told.prompt), "")
    agent = next((one.told.agent for one in told if one.told.agent), told[0].told.client)
    turns = tuple(replace(turn, agent=turn.agent or agent) for turn in _turns(told))
    return Recording(
        run=prompt[:60] or name, turns=turns, malformed=refused, goal=prompt or None, form="otlp"
    )


def _requests(text: bytes) -> Iterator[tuple[bytes, Signal]]:
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


def _turns(told: Iterable[Telling]) -> Iterator[Turn]:
    """Yield the turns in order, each with the model call that was told beside it."""
    told = list(told)
    paid = {one.record.span for one in told if one.told.use and one.record.span}
    waiting: list[storing.Proposal] = []
    uses: list[ModelUse] = []
    for one in told:
        use = one.told.use
        if use is not None and one.record.parent not in paid:  # one within another is the same
            uses.append(use)
        for turn in one.told.turns:
            if turn.is_proposed:
                waiting.append((turn.key, turn.tool, turn.args))
            elif one.told.unpaired:
                turn = storing.completing(waiting, turn, NOTHING)  # noqa: PLW2901 - as it was told
            moment = turn.ts or one.record.began_at or one.record.ended_at
            yield _paid(replace(turn, ts=moment), uses)


def _paid(turn: Turn, uses: list[ModelUse]) -> Turn:
    if not uses or turn.usage is not None or turn.is_proposed:
        return turn
    use = uses.pop(0)
    return replace(
        turn,
        call_id=use.call_id,
        usage=use.usage,
        cost_usd=use.cost_usd,
        model=turn.model or use.model or None,
        provider=turn.provider or use.provider or None,
    )
