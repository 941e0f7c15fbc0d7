"""Calls whose results come as turns of their own, as in a chat protocol's log."""

from __future__ import annotations

from dataclasses import replace

from guard.news import texts_in
from guard.react import is_report, reported
from guard.turn import Role, Turn

_MOST = 16
_LONGEST = 100_000


class OpenCalls:
    """The last calls nothing is known of yet, oldest first.

    The results of a batch all come before the next call: what is open then was
    never answered, and is let go.

    >>> calls = OpenCalls()
    >>> calls.note(Turn(role=Role.ASSISTANT, tool="ls", args={}), 3)
    >>> calls.answered_by(Turn(role=Role.TOOL, content="a.py")).result
    'a.py'
    """

    def __init__(self) -> None:
        self._open: list[Turn] = []
        self._was_answered = False

    def clear(self) -> None:
        """Forget all: a person stepped in."""
        self._open.clear()
        self._was_answered = False

    def note(self, turn: Turn, seq: int) -> None:
        """Remember a call without a result, by its number."""
        if turn.role is Role.TOOL or turn.tool is None or turn.is_proposed:
            return
        if self._was_answered:
            self._open = [call for call in self._open if call.agent != turn.agent]
            self._was_answered = False
        if turn.result is None and turn.error is None and _is_small(turn):
            self._open = [*self._open[1 - _MOST :], replace(turn, seq=seq)]

    def answered_by(self, turn: Turn) -> Turn | None:
        """Give the call that this turn answers, with its result; None: it answers none."""
        if not self._open or not _is_result(turn):
            return None
        place = next((i for i, call in enumerate(self._open) if _belongs(turn, call)), None)
        if place is None:
            return None
        self._was_answered = True
        call = self._open.pop(place)
        result = turn.result if turn.result is not None else turn.content
        return replace(call, result=result and reported(result), error=turn.error)


def _is_small(turn: Turn) -> bool:
    return sum(len(text) for text in texts_in(turn.args)) <= _LONGEST


def _is_result(turn: Turn) -> bool:
    if turn.is_proposed or turn.args or not (turn.role is Role.TOOL or is_report(turn)):
        return False
    return any(text is not None for text in (turn.content, turn.result, turn.error))


def _belongs(result: Turn, call: Turn) -> bool:
    return result.tool is None or result.tool == call.tool
