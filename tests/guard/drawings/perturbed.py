"""The same runs in another form: what a detector must not depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from guard.turn import Role, Turn

Turns = Sequence[Turn | None]
_CUT = 300
_MOST = 800


def each(change: Callable[[int, Turn], Turn | None]) -> Callable[[Turns], tuple[Turn | None, ...]]:
    """Make a change of a whole run from that of a turn."""

    def changed(turns: Turns) -> tuple[Turn | None, ...]:
        return tuple(turn and change(place, turn) for place, turn in enumerate(turns))

    return changed


def rename_tool(_: int, turn: Turn) -> Turn:
    """Give each tool a name that tells nothing."""
    if turn.tool is None:
        return turn
    return replace(turn, tool=f"fn_{_digest(turn.tool)[:6]}")


def stamp_result(place: int, turn: Turn) -> Turn:
    """Add the hour, a duration and an id to what came back."""
    if turn.result is None:
        return turn
    mark = _digest(f"{place}{turn.tool}")
    minute, second = divmod(place * 37, 60)
    head = (
        f"2026-04-0{1 + place // 720}T{8 + minute // 60 % 12:02d}:{minute % 60:02d}:{second:02d}Z"
    )
    name = "-".join((mark[:8], mark[8:12], f"4{mark[12:15]}", f"a{mark[15:18]}", mark[18:30]))
    tail = f"(request {name}, took {0.1 + place % 17 / 10:.2f}s)"
    return replace(turn, result=f"[{head}] {turn.result}\n{tail}")


def mark_arguments(place: int, turn: Turn) -> Turn:
    """Give each call an id of its own."""
    if turn.tool is None:
        return turn
    return replace(turn, args={**(turn.args or {}), "request_id": _digest(f"call{place}")[:12]})


def cut_result(_: int, turn: Turn) -> Turn:
    """Keep 300 characters of what came back."""
    return replace(turn, result=turn.result and turn.result[:_CUT])


def drop_thought(_: int, turn: Turn) -> Turn:
    """Forget what was said beside a call."""
    return replace(turn, content=None) if turn.tool else turn


def drop_error(_: int, turn: Turn) -> Turn:
    """Tell an error as a plain result."""
    if turn.error is None:
        return turn
    return replace(turn, error=None, result=turn.result or turn.error)


def drop_result(_: int, turn: Turn) -> Turn | None:
    """Forget what came back; a turn that is nothing else is gone."""
    if turn.role is Role.TOOL:
        return None
    return replace(turn, result=None, error=None)


def keep_words(_: int, turn: Turn) -> Turn | None:
    """Forget the calls and keep what was said beside them."""
    if turn.role is Role.TOOL or not turn.content:
        return None
    return replace(turn, tool=None, args=None, result=None, error=None)


def join_tools(_: int, turn: Turn) -> Turn:
    """Call everything through one tool."""
    if turn.tool is None:
        return turn
    return replace(turn, tool="invoke", args={"name": turn.tool, **(turn.args or {})})


def turn_keys(place: int, turn: Turn) -> Turn:
    """Give the arguments in another order each time."""
    pairs = list((turn.args or {}).items())
    if len(pairs) < 2:
        return turn
    by = place % len(pairs)
    return replace(turn, args=dict(pairs[by:] + pairs[:by]))


PERTURBATIONS: dict[str, Callable[[Turns], tuple[Turn | None, ...]]] = {
    "as it is": tuple,
    "tools renamed": each(rename_tool),
    "one tool for everything": each(join_tools),
    "hour and id on every result": each(stamp_result),
    "an id in every call": each(mark_arguments),
    "keys in another order": each(turn_keys),
    "results cut to 300": each(cut_result),
    "thoughts dropped": each(drop_thought),
    "error flag dropped": each(drop_error),
    "results dropped": each(drop_result),
    "words alone": each(keep_words),
}


def results_apart(turns: Turns) -> tuple[Turn | None, ...]:
    """Log each result as a turn of its own, said by the tool."""
    apart: list[Turn | None] = []
    for turn in turns:
        if turn is None or turn.role is Role.TOOL or turn.tool is None or turn.result is None:
            apart.append(turn)
            continue
        apart.append(replace(turn, result=None, error=None))
        apart.append(Turn(role=Role.TOOL, agent=turn.agent, content=turn.error or turn.result))
    return tuple(apart)


def chained(runs: Iterable[Turns], most: int = _MOST) -> list[tuple[Turn | None, ...]]:
    """Join healthy runs, a person speaking between, up to so many turns each."""
    chains: list[tuple[Turn | None, ...]] = []
    chain: list[Turn | None] = []
    for number, run in enumerate(runs):
        if chain and len(chain) + len(run) > most:
            chains.append(tuple(chain))
            chain = []
        text = _BETWEEN[number % len(_BETWEEN)]
        chain += [Turn(role=Role.USER, content=f"{text} (task {number + 1})"), *run]
    return [*chains, tuple(chain)] if chain else chains


_BETWEEN = (
    "Thank you. Now something else.",
    "Good. Next task, please.",
    "Fine, let us go on with this:",
    "That will do. Another thing:",
)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
