"""Read posted turns: good ones are kept, bad ones are refused one by one."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pydantic import TypeAdapter, ValidationError

from guard.turn import Turn
from guard.wire import Refusal
from missioncontrol.api.endpoint import read_json_object
from missioncontrol.errors import InvalidRequest

MOST_TURNS = 500
LONGEST = {
    "key": 200,
    "agent": 100,
    "tool": 200,
    "state": 200,
    "action_class": 50,
    "call_id": 200,
    "model": 100,
    "provider": 50,
}
# Far above what a call costs or uses, and within what the columns hold.
HIGHEST_COST = Decimal(1_000_000)
MOST_TOKENS = 10**10


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsBody:
    """The body of `POST runs/{id}/turns/`."""

    turns: tuple[Turn, ...]


# What may have to be mended before it is stored; rare, so the slow way will do.
UNSTORABLE = (b"\\u0000", b"\\ud", b"\\uD", b"NaN", b"Infinity")

_bodies: TypeAdapter[TurnsBody] = TypeAdapter(TurnsBody)
_turns: TypeAdapter[Turn] = TypeAdapter(Turn)


def read_turns(body: bytes) -> tuple[tuple[Turn, ...], tuple[Refusal, ...]]:
    """Return the turns that can be taken and a refusal for each that cannot.

    Raises:
        InvalidRequest: no turn could be read, or there are too many.
    """
    # All at once is many times as fast, and right for nearly every body.
    if any(trace in body for trace in UNSTORABLE):
        return _one_by_one(body)
    try:
        turns = _bodies.validate_json(body).turns
    except ValidationError:
        return _one_by_one(body)
    # One bad turn must not cost the good ones: an agent's outbox would send them for ever.
    if any(fault_of(turn) for turn in turns) or not 0 < len(turns) <= MOST_TURNS:
        return _one_by_one(body)
    return turns, ()


def _one_by_one(body: bytes) -> tuple[tuple[Turn, ...], tuple[Refusal, ...]]:
    given = read_json_object(body).get("turns")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_TURNS:
        raise InvalidRequest(f"`turns` must be a list of 1 to {MOST_TURNS} turns.", field="turns")
    taken: list[Turn] = []
    refused: list[Refusal] = []
    for index, value in enumerate(given):
        if isinstance(value, dict):  # ours to number: what a client says is left out
            value.pop("seq", None)
        try:
            turn = _turns.validate_python(value)
            fault = fault_of(turn)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            fault = f"{'.'.join(str(part) for part in first['loc']) or 'turn'}: {first['msg']}"
        if fault:
            refused.append(Refusal(index=index, code="invalid_turn", detail=fault))
        else:
            taken.append(turn)
    if not taken:
        raise InvalidRequest(
            f"No turn could be read. The first: {refused[0].detail}",
            refused=[{"index": r.index, "code": r.code, "detail": r.detail} for r in refused],
        )
    return tuple(taken), tuple(refused)


def fault_of(turn: Turn) -> str | None:
    """Say what is wrong with a turn whose fields have the right types."""
    if turn.tool is None and turn.content is None:
        return "a turn needs `tool` or `content`"
    # As long as their columns: beyond it PostgreSQL would refuse the whole request's turns.
    for name, most in LONGEST.items():
        text = getattr(turn, name)
        if text is not None and len(text) > most:
            return f"{name}: at most {most} characters, got {len(text)}"
    cost = turn.cost_usd
    if cost is not None and not (cost.is_finite() and 0 <= cost <= HIGHEST_COST):
        return f"cost_usd: expected 0 to {HIGHEST_COST}, got {cost}"
    if turn.usage is not None:
        for name in turn.usage.__slots__:
            count = getattr(turn.usage, name)
            if not 0 <= count <= MOST_TOKENS:
                return f"usage.{name}: expected 0 to {MOST_TOKENS}, got {count}"
    return None
