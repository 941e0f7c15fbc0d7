"""Runs rewritten in other forms, as other harnesses would have logged them.

A metamorphic test: the form of a log does not change what the agent did, so a detector
should give the same result for every form (Chen et al., *Metamorphic testing*, 1998).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from guard.turn import Role, Turn


class FormTurn(NamedTuple):
    """A turn of a form, and the position of the recorded turn that it comes from."""

    origin: int
    turn: Turn


Form = Callable[[Sequence[Turn | None]], list[FormTurn]]

_ENVIRONMENT = "environment"
# Enough that no agent sees two neighbouring turns of a loop.
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
    def tell(turns: Sequence[Turn | None]) -> list[FormTurn]:
        return [
            FormTurn(place, changed)
            for place, turn in enumerate(turns)
            if turn is not None
            for changed in change(place, turn)
        ]

    return tell


def _answer(turn: Turn) -> str | None:
    """Return a call's result or error; None: not a call, or neither is known."""
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


def router(place: int, turn: Turn) -> list[Turn]:
    line = f"Next speaker: {turn.agent or 'agent'}"
    return [Turn(role=Role.ASSISTANT, agent="router", content=line), turn]


# The same words in another order: a comparison of sets of words must not be affected.
def swap_words(place: int, answer: str) -> str:
    shuffle = random.Random(place).shuffle  # noqa: S311 - the same shuffle each time
    lines = [line.split(" ") for line in answer.split("\n")]
    for words in lines:
        shuffle(words)
    return "\n".join(" ".join(words) for words in lines)


def paraphrase(place: int, answer: str) -> str:
    words = [word for word in answer.split(" ") if word.lower() not in _DROPPED]
    return f"{_OPENINGS[place % len(_OPENINGS)]}\n{' '.join(words)}"


# Times and durations differ in every answer and carry no information.
def stamp(place: int, answer: str) -> str:
    at = f"2026-03-{1 + place % 28:02}T{place % 24:02}:{place * 7 % 60:02}:{place * 13 % 60:02}Z"
    return f"[{at}] {answer}\n(finished in {place * 37 % 900 + 11} ms)"


def as_text(place: int, turn: Turn) -> list[Turn]:
    if turn.tool is None or turn.role is Role.TOOL:
        return [turn]
    call = f"{turn.tool} {json.dumps(dict(turn.args or {}), default=str)}"
    text = f"{turn.content}\n{call}" if turn.content else call
    return [replace(turn, tool=None, args=None, content=text)]


# As with models without tool calls: results come in user messages.
def written(place: int, turn: Turn) -> list[Turn]:
    answer = _answer(turn)
    if not answer:
        return [turn]
    args = dict(turn.args or {})
    # Two notations: a command in a fence, as for mini-swe-agent; otherwise JSON in tags.
    alone = args.get("command") if len(args) == 1 else None
    if isinstance(alone, str) and _FENCE not in alone:
        call = f"{_FENCE}bash\n{alone}\n{_FENCE}"
        code = int(turn.error is not None)
        report = f"<returncode>{code}</returncode>\n<output>\n{answer}\n</output>"
    else:
        named = json.dumps({"name": turn.tool, "arguments": args}, default=str)
        call = f"<tool_call>\n{named}\n</tool_call>"
        report = f"<tool_response>\n{answer}\n</tool_response>"
    text = f"{turn.content or ''}\n\n{call}"
    asked = replace(_call_alone(turn), tool=None, args=None, content=text)
    return [asked, Turn(role=Role.USER, content=report)]


# Another agent requests each call, which puts repeats one turn further apart.
def ordered(place: int, turn: Turn) -> list[Turn]:
    if turn.tool is None or turn.role is Role.TOOL:
        return [turn]
    order = Turn(
        role=Role.ASSISTANT,
        agent="orchestrator",
        tool="ask_worker",
        args={"request": f"Please go on with {turn.tool} for step {place}."},
    )
    return [order, replace(turn, agent="worker")]


def shared_out(place: int, turn: Turn) -> list[Turn]:
    if turn.role is not Role.ASSISTANT:
        return [turn]
    return [replace(turn, agent=f"{turn.agent or 'agent'} {place % _WORKERS}")]


# The summary that a harness writes when the context is full: no person spoke.
def restarted(turns: Sequence[Turn | None]) -> list[FormTurn]:
    whole = as_is(turns)
    middle = len(whole) // 2
    if not middle:
        return whole
    summary = Turn(
        role=Role.USER,
        content="This session is being continued from a previous conversation that ran out of "
        "context. Please continue from where we left it off without asking further questions.",
    )
    return [*whole[:middle], FormTurn(whole[middle].origin, summary), *whole[middle:]]


# Meaningless names: no rule may depend on a tool's name.
def renamed(turns: Sequence[Turn | None]) -> list[FormTurn]:
    names: dict[str, str] = {}
    changed = []
    for place, turn in as_is(turns):
        if turn.tool is None:
            changed.append(FormTurn(place, turn))
        else:
            name = names.setdefault(turn.tool, f"tool_{len(names)}")
            changed.append(FormTurn(place, replace(turn, tool=name)))
    return changed


# A new id in each call: equal calls have different arguments.
def numbered(place: int, turn: Turn) -> list[Turn]:
    if turn.tool is None or turn.role is Role.TOOL:
        return [turn]
    made = random.Random(place).getrandbits(128)  # noqa: S311 - an id, no secret
    return [replace(turn, args={**(turn.args or {}), "request_id": f"{made:032x}"})]


as_is: Form = _each(lambda _, turn: [turn])

# All forms by name; the first is the run as recorded.
FORMS: dict[str, Form] = {
    "as it is": as_is,
    "results as tool turns": _apart(Role.TOOL, None),
    "results as another agent's message": _apart(Role.ASSISTANT, _ENVIRONMENT),
    "results as user turns": _apart(Role.USER, None),
    "a router's line between turns": _each(router),
    "words swapped within the results' lines": _with_answer(swap_words),
    "calls as plain text, results beside": _each(as_text),
    "calls written into the text, results as user turns": _each(written),
    "blank turns between": _each(lambda _, turn: [Turn(role=turn.role, content=" "), turn]),
    "an orchestrator and a worker": _each(ordered),
    "several agents": _each(shared_out),
    "a restart in the middle": restarted,
    "answers paraphrased": _with_answer(paraphrase),
    "error flags dropped": _each(
        lambda _, turn: [replace(turn, result=turn.result or turn.error, error=None)]
    ),
    "tools renamed": renamed,
    "ids in every call": _each(numbered),
    "timestamps in every result": _with_answer(stamp),
}
