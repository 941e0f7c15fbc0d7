"""Tables and lines of text that are safe to print, whatever stands in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

# Control, format (bidirectional overrides), surrogate, private and unassigned.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def printable(text: str, *, longest: int = 200) -> str:
    r"""Make a text one line that cannot steer a terminal.

    Args:
        text: Anything, hostile or not.
        longest: Characters kept; what is cut shows as an ellipsis.

    >>> printable("a\x1b[31mb\n\tc")
    'a [31mb c'
    """
    shown = "".join(
        " " if unicodedata.category(sign) in _UNPRINTABLE else sign for sign in text[: 4 * longest]
    )
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set rows under their heads, left-aligned, one line each.

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
