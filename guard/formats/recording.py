"""A recorded run, read from a file of any form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from guard.turn import Turn

# What is wrong with an entry of a file.
Why = Literal["empty", "not_json", "no_object", "too_long", "no_turn"]


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
