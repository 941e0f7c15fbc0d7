"""Turn files: JSON Lines with an optional header, then one turn per line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from guard.formats.fields import read_text, read_texts, read_turn
from guard.formats.recording import Recording, Unread, name_parallel_sessions
from guard.turn import Turn

Row = Mapping[str, Any]

_TELLING = frozenset({"run", "role", "tool"})


def recognises(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the first readable lines look like a header or a turn."""
    return any(_TELLING & row.keys() for row in rows[:3])


def read(rows: Iterable[Row | None], *, stem: str) -> Recording:
    """Read the lines of a turn file; a row is None if the line was not an object.

    The header's label is not read: no detector may see it.
    """
    # The header is optional: a first line with `role` is a turn.
    lines, header = iter(rows), dict[str, Any]()
    for first in islice(lines, 1):
        if first is not None and "run" in first and "role" not in first:
            header = dict(first)
        else:
            lines = chain([first], lines)
    name = header.get("run")
    turns: list[Turn | None] = []
    unread = []
    for position, row in enumerate(lines):
        turns.append(None if row is None else read_turn(row, seq=position))
        if row is not None and turns[-1] is None:
            # Entries count from 1, as in editors, and include the header's line.
            unread.append(Unread(entry=position + (2 if header else 1), why="no_turn"))
    return Recording(
        run=str(name) if isinstance(name, str | int) and name != "" else stem,
        turns=name_parallel_sessions(turns),
        malformed=sum(turn is None for turn in turns),
        unread=tuple(unread),
        workspace=read_texts(header.get("workspace")),
        goal=read_text(header.get("goal")),
    )
