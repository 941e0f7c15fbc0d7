"""The lines of what a tool returned or an agent wrote: bounded, masked, each read once.

More than half of the lines of a run come again: what was read of a line is kept
for a while, and most of a result costs one look-up a line.
"""

from __future__ import annotations

import functools
import re

from guard.reading.volatile import (
    mask_job,
    mask_lines,
    mask_numbered,
    numbered,
    shapes_of,
    zero_digits,
)

_HEAD = 9_000
_TAIL = 3_000
_LONGEST_LINE = 300
_REMEMBERED = 32
_SHORTEST_LINE = 2
_PARTS = re.compile(r"(?<=[,;}\].!?])\s+|(?<=[,;}\]])(?=[\"'{\[])")
_NUMBERED = re.compile(r"\d{1,6}\s*[|:\t→]\s*")
# What surely numbers a line: "10:30" may be a time of day.
_LISTED = re.compile(r"\d{1,6}\s*(?:[|→]|:(?!\d)|\t(?!\s*[|:→]))\s*")
# "row 0" as a line is not "row 0" as the shape of "row 7".
_SHAPE = 0x5EED


Line = tuple[str, int, int]
"""A line without its volatile parts; its print, and that of its shape.

The print is the hash of the line without its number in a listing, 0 where it is too
short to count; its shape is the line without digits. A plain flat tuple: thousands
are made, and the garbage collector looks at each.
"""


class Lines:
    """Lines read before, the last thousand or two. What is read does not depend on it."""

    MOST = 1024

    def __init__(self) -> None:
        self._young: dict[str, Line] = {}
        self._old: dict[str, Line] = {}

    def clear(self) -> None:
        """Forget all."""
        self._young, self._old = {}, {}

    def read(self, raw: list[str]) -> list[Line]:
        """Read lines, in order; of those read before it is known what they are."""
        if len(self._young) >= self.MOST:
            self._young, self._old = {}, self._young
        known = self._young
        if unknown := set(raw).difference(known):
            known.update(self._learn(unknown))
        return list(map(known.__getitem__, raw))

    def _learn(self, unknown: set[str]) -> dict[str, Line]:
        old = self._old
        learnt = {line: old[line] for line in old.keys() & unknown}
        unread = unknown.difference(learnt) if learnt else unknown
        for lines in _by_script(unread):
            learnt.update(zip(lines, _read_anew(lines), strict=True))
        return learnt


_lines = Lines()


def read_lines(text: str) -> tuple[Line, ...]:
    """Give the lines of a text's head and tail that are not empty.

    What lies beyond 12,000 characters, or 300 of a part of a line, is left out: a result
    of a megabyte costs what one of 12 kB does.
    """
    return _read_lines(text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}")


def masked_lines(text: str) -> tuple[str, ...]:
    r"""Give them masked.

    >>> masked_lines("3 passed in 0.1s\n\n  ok ")
    ('3 passed in <~>', 'ok')
    """
    return tuple([masked for masked, _, _ in read_lines(text)])


# Asked for each answer by the outcome, by the news and again by the judge.
@functools.lru_cache(maxsize=_REMEMBERED)
def _read_lines(text: str) -> tuple[Line, ...]:
    raw = list(filter(None, map(str.strip, text.split("\n"))))
    if len(text) > _LONGEST_LINE and raw and max(map(len, raw)) > _LONGEST_LINE:
        raw = [piece for line in raw for piece in _fold(line)]
    if raw and raw[0][0] == "[":
        raw = list(map(mask_job, raw))
    return tuple(_lines.read(raw))


def _fold(line: str) -> list[str]:
    """Part a long line where its text does: JSON and prose are often written as one line."""
    if len(line) <= _LONGEST_LINE:
        return [line]
    return [piece[:_LONGEST_LINE] for piece in _PARTS.split(line) if piece]


def _by_script(lines: set[str]) -> list[list[str]]:
    """Part them: one sign beyond ASCII makes every look at a text ten times as slow."""
    if "".join(lines).isascii():
        return [list(lines)] if lines else []
    plain = set(filter(str.isascii, lines))
    return [list(part) for part in (plain, lines - plain) if part]


def _read_anew(raw: list[str]) -> list[Line]:
    """Read lines; those without a digit hold nothing volatile and are their own shape."""
    read = _read(raw, raw, raw)
    shapes = shapes_of(raw)
    if places := numbered(shapes):
        some = _read_numbered([raw[at] for at in places], [shapes[at] for at in places])
        for at, line in zip(places, some, strict=True):
            read[at] = line
    return read


def _read_numbered(raw: list[str], known: list[str]) -> list[Line]:
    """Read lines of known shapes; a listing's numbers, more than all others, are let be."""
    numbers = [
        found[0] if line[0].isdigit() and (found := _LISTED.match(line)) else "" for line in raw
    ]
    is_listing = any(numbers)
    if is_listing:
        masked = mask_lines(list(map(str.removeprefix, raw, numbers)))
    else:
        masked = mask_numbered(raw.copy(), known)
    bare = [
        _without_number(line) if not taken and line[:1].isdigit() else line
        for line, taken in zip(masked, numbers, strict=True)
    ]
    shapes = zero_digits("\n".join(bare)).split("\n")
    return _read(list(map(str.__add__, numbers, masked)) if is_listing else masked, bare, shapes)


def _without_number(line: str) -> str:
    """Give a line of a listing without its number."""
    found = _NUMBERED.match(line)
    return line[found.end() :] if found else line


def _read(masked: list[str], bare: list[str], shapes: list[str]) -> list[Line]:
    return [
        (line, 0, 0)
        if len(core) < _SHORTEST_LINE
        else (line, own := hash(core), own if core == shape else hash(shape) ^ _SHAPE)
        for line, core, shape in zip(masked, bare, shapes, strict=True)
    ]
