"""The same run told in other forms, as other harnesses would have logged it.

A metamorphic test: what an agent did does not change with the shape of its log, so a
detector should say the same of every form (Chen et al., *Metamorphic testing*, 1998).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from guard.turn import Role, Turn


class Told(NamedTuple):
    """A turn of a form, and the position of the recorded turn that it tells of."""

    origin: int
    turn: Turn


Form = Callable[[Sequence[Turn | None]], list[Told]]

_ENVIRONMENT = "environment"
_WORKERS = 3
_FENCE = "```"
_OPENINGS = (
    "Here is what came back:",
    "The call returned the following.",
    "Output received from the tool:",
    "This is what the tool answered.",
)
_DROPPED = frozenset({"the", "a", "an", "of", "to", "is", "was", "has", "been", "that", "this"})


def _each(change: Callable[[int, Turn], list[Turn]]) -> Form:
    def tell(turns: Sequence[Turn | None]) -> list[Told]:
        return [
            Told(place, told)
            for place, turn in enumerate(turns)
            if turn is not None
            for told in change(place, turn)
        ]

    return tell


def _answer(turn: Turn) -> str | None:
    """Give what came back from a call, None where it is no call or nothing is known."""
    if turn.tool is None or turn.role is Role.TOOL:
        return None
    return turn.error or turn.result


def _call_alone(turn: Turn) -> Turn:
    return replace(turn, result=None, error=None)


def _apart(role: Role, agent: str | None) -> Form:
    def change(place: int, turn: Turn) -> list[Turn]:
        answer = _answer(turn)
        if not answer:
            return [turn]
        return [_call_alone(turn), Turn(role=role, agent=agent, content=answer)]

    return _each(change)


def _with_answer(change: Callable[[int, str], str]) -> Form:
    def rewrite(place: int, turn: Turn) -> list[Turn]:
        if _answer(turn) is None:
            return [turn]
        result = change(place, turn.result) if turn.result else turn.result
        error = change(place, turn.error) if turn.error else turn.error
        return [replace(turn, result=result, error=error)]

    return _each(rewrite)


def _router(place: int, turn: Turn) -> list[Turn]:
    line = f"Next speaker: {turn.agent or 'agent'}"
    return [Turn(role=Role.ASSISTANT, agent="router", content=line), turn]


def _swap_words(place: int, answer: str) -> str:
    shuffle = random.Random(place).shuffle  # noqa: S311 - the same shuffle each time
    lines = [line.split(" ") for line in answer.split("\n")]
    for words in lines:
        shuffle(words)
    return "\n".join(" ".join(words) for words in lines)


def _paraphrase(place: int, answer: str) -> str:
    words = [word for word in answer.split(" ") if word.lower() not in _DROPPED]
    return f"{_OPENINGS[place % len(_OPENINGS)]}\n{' '.join(words)}"


def _stamp(place: int, answer: str) -> str:
    at = f"2026-03-{1 + place % 28:02}T{place % 24:02}:{place * 7 % 60:02}:{place * 13 % 60:02}Z"
    return f"[{at}] {answer}\n(finished in {place * 37 % 900 + 11} ms)"


def _as_text(place: int, turn: Turn) -> list[Turn]:
    if turn.tool is None or turn.role is Role.TOOL:
        return [turn]
    call = f"{turn.tool} {json.dumps(dict(turn.args or {}), default=str)}"
    said = f"{turn.content}\n{call}" if turn.content else call
    return [replace(turn, tool=None, args=None, content=said)]


def _written(place: int, turn: Turn) -> list[Turn]:
    answer = _answer(turn)
    if not answer:
        return [turn]
    args = dict(turn.args or {})
    alone = args.get("command") if len(args) == 1 else None
    if isinstance(alone, str) and _FENCE not in alone:
        call = f"{_FENCE}bash\n{alone}\n{_FENCE}"
        code = int(turn.error is not None)
        report = f"<returncode>{code}</returncode>\n<output>\n{answer}\n</output>"
    else:
        named = json.dumps({"name": turn.tool, "arguments": args}, default=str)
        call = f"<tool_call>\n{named}\n</tool_call>"
        report = f"<tool_response>\n{answer}\n</tool_response>"
    said = f"{turn.content or ''}\n\n{call}"
    told = replace(_call_alone(turn), tool=None, args=None, content=said)
    return [told, Turn(role=Role.USER, content=report)]


def _ordered(place: int, turn: Turn) -> list[Turn]:
    if turn.tool is None or turn.role is Role.TOOL:
        return [turn]
    order = Turn(
        role=Role.ASSISTANT,
        agent="orchestrator",
        tool="ask_worker",
        args={"request": f"Please go on with {turn.tool} for step {place}."},
    )
    return [order, replace(turn, agent="worker")]


def _shared_out(place: int, turn: Turn) -> list[Turn]:
    if turn.role is not Role.ASSISTANT:
        return [turn]
    return [replace(turn, agent=f"{turn.agent or 'agent'} {place % _WORKERS}")]


def _restarted(turns: Sequence[Turn | None]) -> list[Told]:
    told = as_is(turns)
    middle = len(told) // 2
    if not middle:
        return told
    summary = Turn(
        role=Role.USER,
        content="This session is being continued from a previous conversation that ran out of "
        "context. Please continue from where we left it off without asking further questions.",
    )
    return [*told[:middle], Told(told[middle].origin, summary), *told[middle:]]


def _without_flag(place: int, turn: Turn) -> list[Turn]:
    return [replace(turn, result=turn.result or turn.error, error=None)]


def _renamed(turns: Sequence[Turn | None]) -> list[Told]:
    names: dict[str, str] = {}
    told = []
    for place, turn in as_is(turns):
        if turn.tool is None:
            told.append(Told(place, turn))
        else:
            name = names.setdefault(turn.tool, f"tool_{len(names)}")
            told.append(Told(place, replace(turn, tool=name)))
    return told


def _numbered(place: int, turn: Turn) -> list[Turn]:
    if turn.tool is None or turn.role is Role.TOOL:
        return [turn]
    made = random.Random(place).getrandbits(128)  # noqa: S311 - an id, no secret
    return [replace(turn, args={**(turn.args or {}), "request_id": f"{made:032x}"})]


def _as_recorded(place: int, turn: Turn) -> list[Turn]:
    return [turn]


def _after_a_blank(place: int, turn: Turn) -> list[Turn]:
    return [Turn(role=turn.role, content=" "), turn]


as_is: Form = _each(_as_recorded)

FORMS: dict[str, Form] = {
    "as it is": as_is,
    "results as tool turns": _apart(Role.TOOL, None),
    "results as another agent's message": _apart(Role.ASSISTANT, _ENVIRONMENT),
    "results as user turns": _apart(Role.USER, None),
    "a router's line between turns": _each(_router),
    "words swapped within the results' lines": _with_answer(_swap_words),
    "calls as plain text, results beside": _each(_as_text),
    "calls written into the text, results as user turns": _each(_written),
    "blank turns between": _each(_after_a_blank),
    "an orchestrator and a worker": _each(_ordered),
    "several agents": _each(_shared_out),
    "a restart in the middle": _restarted,
    "answers paraphrased": _with_answer(_paraphrase),
    "error flags dropped": _each(_without_flag),
    "tools renamed": _renamed,
    "ids in every call": _each(_numbered),
    "timestamps in every result": _with_answer(_stamp),
}
"""Every form by its name; the first is the run as it was recorded."""
