"""Has the session seen this line before? New information is progress.

Healthy repetition returns lines never seen (the next page, another failure);
stuck repetition does not: the strongest single signal there is.

What an answer tells, whatever order and wording it has, are its terms. New *terms* mark
progress better than new lines: a reworded or reordered answer is all new lines and no
new term. Of an answer in a stuck stretch 0 to 12 % of the terms are new, of one in a
moving stretch 25 to 60 % (measured on recorded runs of 17 public sources).
"""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from guard.reading.lines import masked_lines, read_lines

_HEAD_LINES = 160
_TAIL_LINES = 40
_DEEPEST = 6
_REMEMBERED = 32
_MOST = 600
_ANSWERS = 64
_TERM = re.compile(r"\w+")
_LETTERS = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))

# Tuples made once; `dict` stands first since the look-up of an abstract type is slow.
_SCALARS, _SEQUENCES, _MAPPINGS = (int, float, type(None)), (list, tuple), (dict, Mapping)

ALIKE = 0.8
"""From this share of common terms on two answers are near-equal."""
FEW = 0.12
"""Below this share of new terms an answer brings nothing new."""
BRIEF = 12
"""An answer of fewer terms is told apart by each of them."""
MANY = 0.25
"""From this share of new terms on an answer brings much."""


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


@functools.lru_cache(maxsize=_ANSWERS)
def terms_in(text: str) -> frozenset[str]:
    """Give the words, names and numbers of a text, without its volatile parts.

    >>> sorted(terms_in("Row 7: Harbour_Cafe, saved in 0.3s"))
    ['7', 'harbour_cafe', 'in', 'row', 'saved']
    """
    known = "\n".join(masked_lines(text)).lower()
    if known.isascii():  # a third of the expression's cost
        words = known.encode().translate(_LETTERS).decode().split()
    else:
        words = _TERM.findall(known)
    return frozenset(words[:_MOST] + words[-_MOST:] if len(words) > 2 * _MOST else words)


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the share of terms that two texts have in common (Jaccard), in [0, 1].

    >>> likeness(frozenset("ab"), frozenset("bc")) == 1 / 3
    True
    """
    if not one and not other:
        return 1.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


class TermMemory:
    """Terms seen within the last `span` turns; forgetting bounds it and lets it be rebuilt.

    >>> memory = TermMemory(88)
    >>> memory.note(frozenset({"row"}), 1)
    >>> memory.weigh(frozenset({"row", "7"}), 2)
    0.5
    """

    def __init__(self, span: int) -> None:
        self._span = span
        self._last_seen: dict[str, int] = {}
        self._by_turn: deque[tuple[int, frozenset[str]]] = deque()

    def note(self, terms: frozenset[str], at: int) -> None:
        """Remember what was asked or said: its echo is nothing new."""
        self._remember(terms, at)

    def clear(self) -> None:
        """Forget all: a person stepped in."""
        self._last_seen.clear()
        self._by_turn.clear()

    def weigh(self, terms: frozenset[str], at: int) -> float:
        """Remember an answer's terms; give the share not seen before, in [0, 1]."""
        if not terms:
            return 0.0
        new = len(terms.difference(self._last_seen))
        self._remember(terms, at)
        return new / len(terms)

    def _remember(self, terms: frozenset[str], at: int) -> None:
        if self._by_turn and self._by_turn[-1][0] == at and self._by_turn[-1][1] is terms:
            return  # what a call asked for when it was proposed, now that it is done
        self._last_seen.update(dict.fromkeys(terms, at))
        self._by_turn.append((at, terms))
        while self._by_turn and self._by_turn[0][0] <= at - self._span:
            when, old = self._by_turn.popleft()
            for term in old:
                if self._last_seen.get(term) == when:
                    del self._last_seen[term]
