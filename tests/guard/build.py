"""Build turns: say only what matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from guard.engine import Engine
from guard.policy import DEFAULT_POLICY, Policy
from guard.signals import Assessment, Signal
from guard.turn import Phase, Role, Turn


def a_call(tool: str = "Bash", result: str | None = "done", **fields: Any) -> Turn:
    """Build a completed call; what is no field of a turn is an argument."""
    known = {name: fields.pop(name) for name in list(fields) if name in Turn.__dataclass_fields__}
    args = known.pop("args", fields)
    error = known.pop("error", None)
    result = None if error is not None else result
    return Turn(role=Role.ASSISTANT, tool=tool, args=args, result=result, error=error, **known)


def a_proposal(tool: str = "Bash", **fields: Any) -> Turn:
    """Build a call that has not run yet."""
    return a_call(tool, None, phase=Phase.PROPOSED, **fields)


def a_message(content: str, **fields: Any) -> Turn:
    """Build what an agent says."""
    return Turn(role=Role.ASSISTANT, content=content, **fields)


def a_user(content: str = "Go on.") -> Turn:
    """Build what a person says."""
    return Turn(role=Role.USER, content=content)


def watch(turns: Iterable[Turn], policy: Policy = DEFAULT_POLICY) -> list[Assessment]:
    """Give a fresh engine's assessments of the turns."""
    engine = Engine(policy)
    return [engine.observe(turn) for turn in turns]


def first_trip(turns: Iterable[Turn], policy: Policy = DEFAULT_POLICY) -> int | None:
    """Give the position of the first turn that trips."""
    for position, assessment in enumerate(watch(turns, policy)):
        if assessment.trip:
            return position
    return None


def last_trip(turns: Iterable[Turn], policy: Policy = DEFAULT_POLICY) -> Signal | None:
    """Give the trip of the last turn."""
    return watch(turns, policy)[-1].trip
