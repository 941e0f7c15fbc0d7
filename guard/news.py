"""Has the session seen this line before? New information is progress.

Healthy repetition returns lines never seen (the next page, another failure);
stuck repetition does not: the strongest single signal there is (FINDINGS 2).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from guard.answer import masked_lines
from guard.volatile import zero_digits

_HEAD_LINES = 160
_TAIL_LINES = 40
_SHORTEST_LINE = 2
_NUMBERED = re.compile(r"^\d{1,6}\s*[|:\t→]\s*")
_DEEPEST = 6
# "row 0" as a line is not "row 0" as the shape of "row 7".
_SHAPE = 0x5EED
# Tuples made once; `dict` stands first since the look-up of an abstract type is slow.
_SCALARS, _SEQUENCES, _MAPPINGS = (int, float, type(None)), (list, tuple), (dict, Mapping)


class LineMemory:
    """Lines seen within the last `span` turns.

    Forgetting by turns keeps memory bounded and lets the server rebuild an
    engine from a run's last turns.
    """

    def __init__(self, span: int) -> None:
        self._span = span
        self._last_seen: dict[int, int] = {}
        self._by_turn: deque[tuple[int, set[int]]] = deque()

    def note(self, text: str, at: int) -> None:
        """Remember what was written, so that an echo of it is no news."""
        lines, shapes = _prints(text)
        self._remember({*lines, *shapes}, at)

    def weigh(self, text: str, at: int, *, since: int) -> tuple[float, float]:
        """Remember a text; give the share of its lines that are new, in [0, 1].

        Twice: new since the turn `since`, and new at all. A line in which only
        digits moved is half new.
        """
        lines, shapes = _prints(text)
        if not lines:
            return 0.0, 0.0
        prints = {*lines, *shapes}
        if self._last_seen.keys().isdisjoint(prints):
            self._remember(prints, at)
            return 1.0, 1.0
        seen = self._last_seen.get
        last_seen = [
            (seen(line, -1), seen(shape, -1)) for line, shape in zip(lines, shapes, strict=True)
        ]
        self._remember(prints, at)
        since_then = sum([_newness(line, shape, since) for line, shape in last_seen])
        ever = sum([_newness(line, shape, 0) for line, shape in last_seen]) if since else since_then
        return since_then / len(lines), ever / len(lines)

    def _remember(self, prints: set[int], at: int) -> None:
        self._last_seen.update(dict.fromkeys(prints, at))
        self._by_turn.append((at, prints))
        while self._by_turn and self._by_turn[0][0] <= at - self._span:
            self._forget(*self._by_turn.popleft())

    def _forget(self, at: int, prints: set[int]) -> None:
        for fingerprint in prints:
            if self._last_seen.get(fingerprint) == at:
                del self._last_seen[fingerprint]


def _newness(line_seen: int, shape_seen: int, since: int) -> float:
    if line_seen >= since:
        return 0.0
    return 0.5 if shape_seen >= since else 1.0


def texts_in(args: Mapping[str, Any] | None) -> list[str]:
    """Give every text within a call's arguments, in order, bounded in depth.

    >>> texts_in({"a": "x", "b": [{"c": "y"}, 1]})
    ['x', 'y']
    """
    found: list[str] = []
    _gather(args or {}, found, 0)
    return found


def _gather(value: object, found: list[str], depth: int) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, _SCALARS) or depth == _DEEPEST:
        return
    elif isinstance(value, _MAPPINGS):
        for inner in value.values():
            _gather(inner, found, depth + 1)
    elif isinstance(value, _SEQUENCES):
        for inner in value:
            _gather(inner, found, depth + 1)


def _prints(text: str) -> tuple[list[int], list[int]]:
    """Hash each line, and each line without its digits; a line without any is its shape."""
    lines = _distinct_lines(text)
    if not lines:
        return [], []
    hashes = list(map(hash, lines))
    shapes = map(hash, zero_digits("\n".join(lines)).split("\n"))
    pairs = zip(hashes, shapes, strict=True)
    return hashes, [line if line == shape else shape ^ _SHAPE for line, shape in pairs]


def _distinct_lines(text: str) -> list[str]:
    lines = masked_lines(text)
    if len(lines) > _HEAD_LINES + _TAIL_LINES:
        lines = lines[:_HEAD_LINES] + lines[-_TAIL_LINES:]
    bare = [_NUMBERED.sub("", line) if line[0].isdigit() else line for line in lines]
    return [line for line in dict.fromkeys(bare) if len(line) >= _SHORTEST_LINE]
