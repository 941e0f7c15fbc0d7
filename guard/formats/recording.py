"""A recorded run, read from a file of any form."""

from __future__ import annotations

from dataclasses import dataclass

from guard.turn import Turn


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
        form: Which of `guard.formats.FORMATS` it was read as; empty: none of them.
    """

    run: str
    turns: tuple[Turn | None, ...]
    malformed: int = 0
    workspace: tuple[str, ...] = ()
    goal: str | None = None
    form: str = ""
