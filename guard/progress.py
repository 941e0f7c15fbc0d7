"""A bar on stderr for long work, where a person is looking."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

_Item = TypeVar("_Item")
_WIDTH = 30
_EVERY_S = 0.1


def progress(
    items: Iterable[_Item], *, total: int, what: str, out: TextIO | None = None
) -> Iterator[_Item]:
    """Pass items on and draw how far the work is; silent unless `out` is a terminal.

    Args:
        items: What is worked through.
        total: How many there are; 0: not known.
        what: What they are called: "sessions".
        out: Where to draw; stderr by default.
    """
    out = out or sys.stderr
    if not out.isatty():
        yield from items
        return
    drawn_at = 0.0
    for done, item in enumerate(items):
        if (now := time.monotonic()) - drawn_at >= _EVERY_S:
            drawn_at = now
            out.write(f"\r{_bar(done, total)} {done}/{total or '?'} {what} ")
            out.flush()
        yield item
    out.write("\r\x1b[K")
    out.flush()


def _bar(done: int, total: int) -> str:
    filled = _WIDTH * min(done, total) // total if total else 0
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}]"
