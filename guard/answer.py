"""The lines of what a tool returned, bounded and without volatile parts."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from guard.volatile import mask_lines

# Arguments that say which part of one thing is wanted: the next page of a file
# is the same file. Whether a page brought anything is for the news to tell.
PLACES = frozenset(
    {
        "cursor", "end", "end_line", "endline", "from", "length", "limit", "line", "line_number",
        "lines", "max_results", "n", "num_results", "offset", "page", "page_size", "per_page",
        "skip", "start", "start_line", "startline", "timeout", "to", "view_range", "verbose",
    }
)  # fmt: skip
_HEAD = 9_000
_TAIL = 3_000
_LONGEST_LINE = 300
_REMEMBERED = 32
_SHORT = 600
_GIANT = 10**12
_NUMBER = re.compile(r"\d+")


def mask_places(text: str, args: Mapping[str, Any] | None) -> str:
    """Mask the places that were asked for, where a short answer repeats them.

    "Line 900 is past the end" says what "line 800 is past the end" said.

    >>> mask_places("nothing at offset 900", {"path": "a.py", "offset": 900})
    'nothing at offset <~>'
    """
    if not args or len(text) > _SHORT or PLACES.isdisjoint(args):
        return text
    places = {_place(args[name]) for name in PLACES.intersection(args)}
    return _NUMBER.sub(lambda found: "<~>" if found[0] in places else found[0], text)


def _place(value: object) -> str:
    """Write a place; no number that large is one."""
    if isinstance(value, int) and abs(value) < _GIANT:
        return str(value)
    return value[:_LONGEST_LINE] if isinstance(value, str) else ""


def masked_lines(text: str) -> tuple[str, ...]:
    r"""Give the lines of a text's head and tail, masked and stripped.

    What lies beyond 12,000 characters, or 300 of a line, is left out: a result
    of a megabyte costs what one of 12 kB does.

    >>> masked_lines("3 passed in 0.1s\n\n  ok ")
    ('3 passed in <~>', 'ok')
    """
    return _masked_lines(text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}")


# Asked for each answer by the outcome, by the news and again by the judge.
@functools.lru_cache(maxsize=_REMEMBERED)
def _masked_lines(text: str) -> tuple[str, ...]:
    lines = list(filter(None, map(str.strip, text.split("\n"))))
    if lines and max(map(len, lines)) > _LONGEST_LINE:
        lines = [line[:_LONGEST_LINE] for line in lines]
    return tuple(mask_lines(lines))
