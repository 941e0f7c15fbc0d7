"""Agents that write their calls as text: "Thought: … Action: … Observation: …".

Read as what they are, calls with a result, so that every detector sees them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from guard.turn import Role, Turn

_LONGEST_ACTION = 4000
_OBSERVATION = "Observation:"
_ACTION = re.compile(r"(?:^|[\s.])Action(?: \d{1,4})?:")
_INPUT = re.compile(r"Action Input(?: \d{1,4})?:")
_NAMED = re.compile(r"([A-Za-z_]\w{0,60}) ?[\[(](.*)[\])]$", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w{0,60}$")
_ANONYMOUS = "act"
_REPORTS = re.compile(
    r"\s{0,4}(?:OBSERVATION|Observation|\[?Tool (?:result|output)\]?|<tool_result)\b:?"
)


def as_call(turn: Turn) -> Turn:
    """Give an agent's turn whose text holds an action as that call.

    With what was observed of it, where the same text tells; without a result,
    where only a named action stands there: the report comes with a later turn.

    >>> step = Turn(role=Role.ASSISTANT, content="Action: search[tide mill] Observation: No page.")
    >>> call = as_call(step)
    >>> call.tool, call.args, call.result
    ('search', {'input': 'tide mill'}, 'No page.')
    """
    if turn.role is not Role.ASSISTANT or turn.tool is not None or not turn.content:
        return turn
    said, seen, result = turn.content.partition(_OBSERVATION)
    if not seen and "Action" not in said:
        return turn
    bounded = said.rstrip()[-_LONGEST_ACTION:]
    action = _ACTION.search(bounded)
    tool, argument = _read_action(bounded[action.end() :] if action else bounded)
    if not seen and (action is None or tool == _ANONYMOUS):
        return turn
    came = result.strip() if seen else None
    return replace(turn, tool=tool, args={"input": argument}, result=came, content=None)


def is_report(turn: Turn) -> bool:
    """Tell a tool's report, sent in the user's name as some loops do, from a person."""
    return turn.role is Role.USER and turn.content is not None and _starts_as_report(turn.content)


def reported(text: str) -> str:
    """Give what a report reports, without the word that announces it.

    >>> reported("Observation: No page found.")
    'No page found.'
    """
    announced = _REPORTS.match(text)
    return text[announced.end() :].strip() if announced else text


def _starts_as_report(text: str) -> bool:
    return _REPORTS.match(text) is not None


def _read_action(text: str) -> tuple[str, str]:
    named, *arguments = _INPUT.split(text, maxsplit=1)
    named = named.strip()
    if arguments and _NAME.match(named):
        return named, arguments[0].strip()
    if match := _NAMED.match(named):
        return match[1], match[2]
    return _ANONYMOUS, named
