"""A recorded run of any format: its turns, calls paired with results and agents told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, islice
from typing import Any, Literal

from guard.formats.fields import read_content
from guard.turn import Role, Turn

# Why an entry of a file could not be read.
Why = Literal["empty", "not_json", "no_object", "too_long", "no_turn"]
Row = Mapping[str, Any]

# Sessions compared with each other; a log with more is not a run with sub-agents.
_MAX_SESSIONS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """One entry of a file that could not be read.

    Attributes:
        entry: Its line number, or its place in a JSON list; from 1.
        why: What is wrong with it.
    """

    entry: int
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One run as it was recorded.

    Attributes:
        run: Its name, from the header, the session, or else the file's stem.
        turns: By position in the file, first turn 0; None: the line could not
            be read and still counts as a position.
        malformed: How many positions could not be read.
        workspace: Paths that existed, if the header lists them.
        goal: The run's purpose, if the header states it.
        unread: The first few entries that could not be read, if the format's reader lists them.
        form: The format: a key of `guard.formats.FORMATS`, or "transcript", "log" or "shape"
            for texts; empty: not read by `read_recording`.
    """

    run: str
    turns: tuple[Turn | None, ...]
    # Counted, but no reason to refuse: a log that ends within a line is still a run.
    malformed: int = 0
    unread: tuple[Unread, ...] = ()
    workspace: tuple[str, ...] = ()
    goal: str | None = None
    form: str = ""


class PairedTurns:
    """Base of readers that number turns in order and find an answer's call by its id."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.session: str | None = None
        self._places: dict[str, int] = {}

    @classmethod
    def read(cls, rows: Iterable[Row | None], *, stem: str) -> Recording:
        """Read a file's rows: each tool call becomes one turn with its result."""
        reader, malformed = cls(), 0
        for row in rows:
            if row is None:
                malformed += 1
            else:
                reader.take(row)
        reader.finish()
        return Recording(
            run=reader.session or stem,
            turns=name_parallel_sessions(reader.turns),
            malformed=malformed,
        )

    def take(self, row: Row) -> None:
        """Take the next row."""
        raise NotImplementedError

    def finish(self) -> None:
        """Add what could not be known before the last row."""

    def add(self, turn: Turn, *, call: str | None = None) -> None:
        """Append a turn; `call` is the id by which its answer refers to it."""
        # The answer comes in a later record, in some formats with the role "user".
        if call:
            self._places[call] = len(self.turns)
        self.turns.append(replace(turn, seq=len(self.turns)))

    def take_result(self, block: Row) -> bool:
        """Take an Anthropic `tool_result` block; False: its call was not read."""
        text = read_content(block.get("content")) or ""
        call, failed = str(block.get("tool_use_id")), bool(block.get("is_error"))
        return self.answer(call, text, failed=failed)

    def answer(self, call: str, text: str, *, failed: bool) -> bool:
        """Add a result to its call; False: no such call was read."""
        # A log may begin in the middle: an answer without its call is not a turn.
        place = self._places.get(call)
        if place is None:
            return False
        self.put(place, text, failed=failed)
        return True

    def put(self, place: int, text: str, *, failed: bool) -> None:
        """Add a result to the call at `place`."""
        # As both error and result, the same text would count twice.
        self.turns[place] = replace(
            self.turns[place],
            result=None if failed else text,
            error=(text or "failed") if failed else None,
        )


def name_parallel_sessions(turns: Sequence[Turn | None]) -> tuple[Turn | None, ...]:
    """Name agents after their sessions, as agents of one run, where the sessions alternate.

    A session that only follows another is a new beginning. Two sessions that both continue
    after the other run in parallel: neither starts afresh when the other has spoken.

    >>> turn = Turn(role=Role.ASSISTANT, agent="coder", tool="Bash", session="a")
    >>> both = [turn, replace(turn, session="b")]
    >>> [one.agent for one in name_parallel_sessions([*both, *both])]
    ['coder a', 'coder b', 'coder a', 'coder b']
    >>> [one.agent for one in name_parallel_sessions([*both, turn])]
    ['coder', 'coder', 'coder']
    """
    sessions = (turn.session for turn in turns if turn is not None and turn.session)
    spans: dict[str | None, tuple[int, int]] = {}
    for place, (session, _) in enumerate(groupby(sessions)):
        spans[session] = (spans[session][0] if session in spans else place, place)
    back = islice((one for one, (first, last) in spans.items() if last > first), _MAX_SESSIONS)
    pairs = combinations(back, 2)  # each pair in the order of their beginnings
    parallel = {one for a, b in pairs if spans[b][0] < spans[a][1] < spans[b][1] for one in (a, b)}
    named: list[Turn | None] = []
    for turn in turns:
        if turn is None or turn.session not in parallel:
            named.append(turn)
            continue
        # Without `session`: a change of session would make detection start afresh.
        name = " ".join(filter(None, (turn.agent, turn.session)))
        agent = None if turn.role is Role.USER else name
        named.append(replace(turn, agent=agent, session=None))
    return tuple(named)
