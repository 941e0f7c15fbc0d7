"""Has the session seen this line before? New information is progress.

Healthy repetition returns lines never seen (the next page, another failure);
stuck repetition does not: the strongest single signal there is (FINDINGS 2).
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from guard.lines import read_lines

_HEAD_LINES = 160
_TAIL_LINES = 40
_DEEPEST = 6
_REMEMBERED = 32
# Tuples made once; `dict` stands first since the look-up of an abstract type is slow.
_SCALARS, _SEQUENCES, _MAPPINGS = (int, float, type(None)), (list, tuple), (dict, Mapping)


class _Prints(NamedTuple):
    """The print of each line that counts, once, with that of its shape; and both of all."""

    shapes: dict[int, int]
    seen: frozenset[int]


class LineMemory:
    """Lines seen within the last `span` turns.

    Forgetting by turns keeps memory bounded and lets the server rebuild an
    engine from a run's last turns.
    """

    def __init__(self, span: int) -> None:
        self._span = span
        self._last_seen: dict[int, int] = {}
        self._by_turn: deque[tuple[int, frozenset[int]]] = deque()

    def note(self, text: str, at: int) -> None:
        """Remember what was written, so that an echo of it is no news."""
        self._remember(_read_prints(text).seen, at)

    def weigh(self, text: str, at: int, *, since: int) -> tuple[float, float]:
        """Remember a text; give the share of its lines that are new, in [0, 1].

        Twice: new since the turn `since`, and new at all. A line in which only
        digits moved is half new.
        """
        prints, seen = _read_prints(text)
        if not prints:
            return 0.0, 0.0
        known = self._last_seen
        if known.keys().isdisjoint(seen):
            since_then = ever = float(len(prints))
        else:
            since_then = _newness(prints, known, since)
            ever = _newness(prints, known, 0) if since else since_then
        self._remember(seen, at)
        return since_then / len(prints), ever / len(prints)

    def _remember(self, seen: frozenset[int], at: int) -> None:
        self._last_seen.update(dict.fromkeys(seen, at))
        self._by_turn.append((at, seen))
        while self._by_turn and self._by_turn[0][0] <= at - self._span:
            self._forget(*self._by_turn.popleft())

    def _forget(self, at: int, prints: frozenset[int]) -> None:
        for fingerprint in prints:
            if self._last_seen.get(fingerprint) == at:
                del self._last_seen[fingerprint]


def _newness(prints: dict[int, int], last_seen: dict[int, int], since: int) -> float:
    """Count the lines not seen since a turn; of which the shape was, half."""
    new = 0.0
    for line, shape in prints.items():
        if last_seen.get(line, -1) < since:
            new += 0.5 if last_seen.get(shape, -1) >= since else 1.0
    return new


def texts_in(args: Mapping[str, Any] | None) -> list[str]:
    """Give every text within a call's arguments, in order, bounded in depth.

    >>> texts_in({"a": "x", "b": [{"c": "y"}, 1]})
    ['x', 'y']
    """
    found: list[str] = []
    if args:
        _gather(args.values(), found, 1)
    return found


def _gather(values: Iterable[object], found: list[str], depth: int) -> None:
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, _SCALARS) or depth == _DEEPEST:
            continue
        elif isinstance(value, _MAPPINGS):
            _gather(value.values(), found, depth + 1)
        elif isinstance(value, _SEQUENCES):
            _gather(value, found, depth + 1)


# The same answer often comes back; what was read of it is not changed.
@functools.lru_cache(maxsize=_REMEMBERED)
def _read_prints(text: str) -> _Prints:
    lines = read_lines(text)
    if len(lines) > _HEAD_LINES + _TAIL_LINES:
        lines = lines[:_HEAD_LINES] + lines[-_TAIL_LINES:]
    shapes = {own: shape for _, own, shape in lines if own}
    return _Prints(shapes, frozenset(chain(shapes, shapes.values())))
