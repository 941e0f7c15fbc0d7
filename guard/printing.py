"""What a command prints: lines and tables that are safe to print, and a progress bar."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO, TypeVar

_Item = TypeVar("_Item")
_WIDTH = 30
_EVERY_S = 0.1
# Control, format (bidirectional overrides), surrogate, private and unassigned.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def printable(text: str, *, max_length: int = 200) -> str:
    r"""Make a text one line that cannot steer a terminal.

    Args:
        text: Anything, hostile or not.
        max_length: Characters kept; what is cut shows as an ellipsis.

    >>> printable("a\x1b[31mb\n\tc")
    'a [31mb c'
    """
    # Cut first: a hostile text may be megabytes long.
    shown = "".join(
        " " if unicodedata.category(sign) in _UNPRINTABLE else sign
        for sign in text[: 4 * max_length]
    )
    line = " ".join(shown.split())
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format rows under their heads, left-aligned, one line each.

    >>> print(table(("run", "turns"), [("a", "12")]), end="")
    run  turns
    a    12
    """
    lines = [tuple(heads), *(tuple(printable(cell) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def progress(
    items: Iterable[_Item], *, total: int, what: str, out: TextIO | None = None
) -> Iterator[_Item]:
    """Yield the items and draw a progress bar; draw nothing unless `out` is a terminal.

    Args:
        items: What is worked through.
        total: How many there are; 0: unknown.
        what: What they are called: "sessions".
        out: Where to draw; stderr by default.
    """
    out = out or sys.stderr
    # In a file or a pipe a bar would become many lines.
    if not out.isatty():
        yield from items
        return
    drawn_at = 0.0
    for done, item in enumerate(items):
        # Small items come by the thousand per second, faster than a terminal can draw.
        if (now := time.monotonic()) - drawn_at >= _EVERY_S:
            drawn_at = now
            filled = _WIDTH * min(done, total) // total if total else 0
            bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}]"
            out.write(f"\r{bar} {done}/{total or '?'} {what} ")
            out.flush()
        yield item
    # Erase the bar, so that the next output begins in its place.
    out.write("\r\x1b[K")
    out.flush()
