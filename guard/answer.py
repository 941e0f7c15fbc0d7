"""What a short answer repeats of the places that were asked for."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

# Arguments that say which part of one thing is wanted: the next page of a file
# is the same file. Whether a page brought anything is for the news to tell.
PLACES = frozenset(
    {
        "cursor", "end", "end_line", "endline", "from", "length", "limit", "line", "line_number",
        "lines", "max_results", "n", "num_results", "offset", "page", "page_size", "per_page",
        "skip", "start", "start_line", "startline", "timeout", "to", "view_range", "verbose",
    }
)  # fmt: skip
_LONGEST_PLACE = 300
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
    return _mask(text, frozenset([_place(args[name]) for name in PLACES.intersection(args)]))


# An answer is read for what failed and for what is new, and often comes again.
@functools.lru_cache(maxsize=64)
def _mask(text: str, places: frozenset[str]) -> str:
    if not any(place in text for place in places):
        return text
    return _NUMBER.sub(lambda found: "<~>" if found[0] in places else found[0], text)


def _place(value: object) -> str:
    """Write a place; no number that large is one."""
    if isinstance(value, int) and abs(value) < _GIANT:
        return str(value)
    return value[:_LONGEST_PLACE] if isinstance(value, str) else ""
