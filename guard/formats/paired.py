"""Turns as a form is read: calls in their places, and what came back put into them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from guard.formats.parallel import tell_apart
from guard.formats.recording import Recording
from guard.turn import Turn

Row = Mapping[str, Any]


class PairedTurns:
    """Numbers turns in order, and finds the call that an answer is to by its id."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.session: str | None = None
        self._places: dict[str, int] = {}

    @classmethod
    def read(cls, rows: Iterable[Row | None], *, stem: str) -> Recording:
        """Read a file's rows: each tool call one turn, with what came back."""
        reader, malformed = cls(), 0
        for row in rows:
            if row is None:
                malformed += 1
            else:
                reader.take(row)
        return Recording(
            run=reader.session or stem, turns=tell_apart(reader.turns), malformed=malformed
        )

    def take(self, row: Row) -> None:
        """Take the next row."""
        raise NotImplementedError

    def add(self, turn: Turn, *, call: str | None = None) -> None:
        """Append a turn; `call` is the id by which its answer names it."""
        # Kept by place, since the answer comes in a later record: in the user's name, with some.
        if call:
            self._places[call] = len(self.turns)
        self.turns.append(replace(turn, seq=len(self.turns)))

    def answer(self, call: str, text: str, *, failed: bool) -> bool:
        """Put what came back into its call; False: no such call was read."""
        # A record may begin in the middle: an answer without its call is no turn.
        place = self._places.get(call)
        if place is None:
            return False
        # The same text as error and as result would say everything twice.
        self.turns[place] = replace(
            self.turns[place],
            result=None if failed else text,
            error=(text or "failed") if failed else None,
        )
        return True
