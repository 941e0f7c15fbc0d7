"""Texts that take a regular expression longest, derived from the expression itself.

What makes one slow is always of the same make: much that begins like a match and is
none. So its own beginnings are repeated, and each of its repetitions is drawn out and
broken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

PREFERRED = ("a1 ", "1a ", " \t\n", "-_./:\\\"'=,", "\n ")
"""Which characters of a class are taken, in turn: neighbours that overlap are the slow ones."""
DRAWN_OUT = 300
BREAKS_OFF = "\0`"
"""What ends a text that nearly matched; the second is one that a class may leave out."""
_CLASSES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
_ANYTHING = "".join(map(chr, range(1, 0x250))) + "→…●✕一ぁ가"


@dataclass(frozen=True, slots=True)
class Shape:
    """A text of any length: `head`, many times `unit`, `tail`."""

    head: str
    unit: str
    tail: str = ""

    def text(self, length: int) -> str:
        """Return the text, at most a unit shorter than `length`."""
        room = length - len(self.head) - len(self.tail)
        return self.head + self.unit * max(1, room // len(self.unit)) + self.tail


def shapes(pattern: re.Pattern[str]) -> set[Shape]:
    """Return the hostile shapes of a pattern."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    found: set[Shape] = set()
    for preferred in PREFERRED:
        for branch in range(4):
            found |= set(_shapes(_Example(preferred, branch).of(tree)))
    return {shape for shape in found if shape.unit}


def _shapes(pieces: list[_Piece]) -> Iterator[Shape]:
    head = ""
    for piece in pieces:
        if piece.repeats:
            yield from (Shape(head, piece.text, end) for end in BREAKS_OFF)
            yield Shape("", piece.text)
            yield Shape("", head + piece.text * min(piece.most, DRAWN_OUT))
        head += piece.text * max(piece.least, 1)
        yield Shape("", head)
        yield Shape("", f"{head} ")
        yield Shape("", f"{head}\0\n")


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    least: int = 1
    most: int = 1

    @property
    def repeats(self) -> bool:
        return self.most > 1 and bool(self.text)


class _Example:
    """A text that an expression matches, in pieces; one character for each class."""

    def __init__(self, preferred: str, branch: int) -> None:
        self._preferred = preferred
        self._branch = branch

    def of(self, tree: Iterable[tuple[Any, Any]]) -> list[_Piece]:
        return [piece for node in tree for piece in self._pieces(*node)]

    def _pieces(self, code: Any, value: Any) -> list[_Piece]:
        if code in {op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY}:
            return [_Piece(self._character(code, value))]
        if code is op.SUBPATTERN:
            return self.of(value[-1])
        if code is op.ATOMIC_GROUP:
            return self.of(value)
        if code is op.BRANCH:
            branches = value[1]
            return self.of(branches[self._branch % len(branches)])
        if code in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            least, most, inner = value
            inside = self.of(inner)
            text = "".join(piece.text * max(piece.least, 1) for piece in inside)
            nested = [piece for piece in inside if piece.repeats]
            return [*nested, _Piece(text, least, min(int(most), 10**6))]
        return []

    def _character(self, code: Any, value: Any) -> str:
        if code is op.LITERAL:
            return chr(value)
        if code is op.ANY:
            return self._preferred[0]
        items = [(op.NEGATE, None), (op.LITERAL, value)] if code is op.NOT_LITERAL else value
        fits = (one for one in self._preferred + _ANYTHING if _is_in(items, one))
        return next(fits, "")


def _is_in(items: Iterable[tuple[Any, Any]], character: str) -> bool:
    negated = found = False
    for code, value in items:
        if code is op.NEGATE:
            negated = True
        elif code is op.LITERAL:
            found |= chr(value) == character
        elif code is op.RANGE:
            found |= value[0] <= ord(character) <= value[1]
        elif code is op.CATEGORY:
            found |= re.match(_CLASSES[value], character) is not None
    return found != negated
