"""A recorded run of any form, and its turns as they are read: calls with what came back.

Sub-agents are told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, islice
from typing import Any, Literal

from guard.formats.fields import read_content
from guard.turn import Role, Turn

# What is wrong with an entry of a file.
Why = Literal["empty", "not_json", "no_object", "too_long", "no_turn"]
Row = Mapping[str, Any]

# Sessions that are held against each other; a log of more is no run of sub-agents.
_MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """One entry of a file that could not be read.

    Attributes:
        entry: Its line, or its place in a JSON list; from 1.
        why: What is wrong with it.
    """

    entry: int
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One run as it was recorded.

    Attributes:
        run: Its name: the header's, the session's, else the file's stem.
        turns: By position in the file, first turn 0; None: the line could not
            be read and still counts as a position.
        malformed: How many positions could not be read.
        workspace: Paths that existed, where the header tells.
        goal: What the run was for, where the header tells.
        unread: The first few entries that could not be read, where the form counts them.
        form: Which of `guard.formats.FORMATS` it was read as; empty: none of them.
    """

    run: str
    turns: tuple[Turn | None, ...]
    # Counted, never a reason to refuse: a log that breaks off in a line is a run all the same.
    malformed: int = 0
    unread: tuple[Unread, ...] = ()
    workspace: tuple[str, ...] = ()
    goal: str | None = None
    form: str = ""


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
        reader.finish()
        return Recording(
            run=reader.session or stem, turns=tell_apart(reader.turns), malformed=malformed
        )

    def take(self, row: Row) -> None:
        """Take the next row."""
        raise NotImplementedError

    def finish(self) -> None:
        """Add what could not be told before the last row."""

    def add(self, turn: Turn, *, call: str | None = None) -> None:
        """Append a turn; `call` is the id by which its answer names it."""
        # Kept by place, since the answer comes in a later record: in the user's name, with some.
        if call:
            self._places[call] = len(self.turns)
        self.turns.append(replace(turn, seq=len(self.turns)))

    def take_result(self, block: Row) -> bool:
        """Take a block of Anthropic's that holds what came back; False: no such call was read."""
        text = read_content(block.get("content")) or ""
        call, failed = str(block.get("tool_use_id")), bool(block.get("is_error"))
        return self.answer(call, text, failed=failed)

    def answer(self, call: str, text: str, *, failed: bool) -> bool:
        """Put what came back into its call; False: no such call was read."""
        # A record may begin in the middle: an answer without its call is no turn.
        place = self._places.get(call)
        if place is None:
            return False
        self.put(place, text, failed=failed)
        return True

    def put(self, place: int, text: str, *, failed: bool) -> None:
        """Put what came back into the call that stands there."""
        # The same text as error and as result would say everything twice.
        self.turns[place] = replace(
            self.turns[place],
            result=None if failed else text,
            error=(text or "failed") if failed else None,
        )


def tell_apart(turns: Sequence[Turn | None]) -> tuple[Turn | None, ...]:
    """Name agents of sessions that alternate after these, as one run's.

    A session that follows another is a new beginning. Two of which each comes back after
    the other run side by side, and neither begins anew each time the other has spoken.

    >>> turn = Turn(role=Role.ASSISTANT, agent="coder", tool="Bash", session="a")
    >>> both = [turn, replace(turn, session="b")]
    >>> [one.agent for one in tell_apart([*both, *both])]
    ['coder a', 'coder b', 'coder a', 'coder b']
    >>> [one.agent for one in tell_apart([*both, turn])]
    ['coder', 'coder', 'coder']
    """
    sessions = (turn.session for turn in turns if turn is not None and turn.session)
    spans: dict[str | None, tuple[int, int]] = {}
    for place, (session, _) in enumerate(groupby(sessions)):
        spans[session] = (spans[session][0] if session in spans else place, place)
    back = islice((one for one, (first, last) in spans.items() if last > first), _MOST)
    pairs = combinations(back, 2)  # in the order in which they began
    parallel = {one for a, b in pairs if spans[b][0] < spans[a][1] < spans[b][1] for one in (a, b)}
    named: list[Turn | None] = []
    for turn in turns:
        if turn is None or turn.session not in parallel:
            named.append(turn)
            continue
        # Without its session: one that changes would begin everything anew.
        name = " ".join(filter(None, (turn.agent, turn.session)))
        agent = None if turn.role is Role.USER else name
        named.append(replace(turn, agent=agent, session=None))
    return tuple(named)
