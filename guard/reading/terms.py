"""What a text says: its lines without volatile parts, and its terms.

Terms are words, names and numbers, in any order. They are the only measure of whether an
answer is the same as before and whether it brings something new: a reworded or reordered
answer has new lines only, and no new term. In a stuck stretch, 0 to 12 % of an answer's
terms are new, in a moving stretch 25 to 60 % (measured on recorded runs of 17 public
sources).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from guard.raw_texts import head_and_tail
from guard.reading.volatile import mask_lines

_HEAD, _TAIL = 9_000, 3_000
_LONGEST_LINE = 300
_MOST = 600
_DEEPEST = 6
_BITS = 1024
_AT_ONCE = "\n"
# It begins with the character itself: a lookbehind would be tried at every position.
_PART_ENDS = re.compile(r"[,;}\].!?](?:\s+|(?<![.!?])(?=[\"'{\[]))")
# A byte table costs a third of an expression; almost all characters beyond ASCII are letters.
_APART = [code for code in range(128) if not chr(code).isalnum() and chr(code) != "_"]
_SIGNS = bytes(32 if code in _APART else code for code in range(256))
_MARKS = "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u2022\u00b7"

# The tuples are created once; `dict` comes first, since checking an abstract type is slow.
_SCALARS, _SEQUENCES, _MAPPINGS = (int, float, type(None)), (list, tuple), (dict, Mapping)

# From this share of common terms on, two answers are near-equal.
ALIKE = 0.8
# Below this share of new terms an answer brings nothing new.
FEW = 0.12
# From this share of new terms on, an answer brings something.
NEWS = 0.2
# From this share of new terms on, it brings much.
MANY = 0.25
# From this share of common words on, two messages say the same.
SAME_WORDS = 0.75
_SOMETHING = 2  # this many words are enough to compare
# In an answer with fewer terms, each of them counts.
BRIEF = 12


def masked_lines(text: str) -> tuple[str, ...]:
    """Return the non-empty lines of a text, without their volatile parts.

    Only 12,000 characters of head and tail are read, and 300 of each part of a long line: a
    result of a megabyte costs as much as one of 12 kB.
    """
    text = head_and_tail(text, head=_HEAD, tail=_TAIL, joint="\n")
    raw = list(filter(None, map(str.strip, text.split("\n"))))
    if len(text) > _LONGEST_LINE and raw and max(map(len, raw)) > _LONGEST_LINE:
        raw = [piece for line in raw for piece in _fold(line)]
    return tuple(mask_lines(raw))


def _fold(line: str) -> list[str]:
    """Split a long line where its text does: JSON and prose are often written as one line."""
    if len(line) <= _LONGEST_LINE:
        return [line]
    pieces, start = [], 0
    for end in _PART_ENDS.finditer(line):
        pieces.append(line[start : min(end.start() + 1, start + _LONGEST_LINE)])
        start = end.end()
    return [*pieces, line[start : start + _LONGEST_LINE]] if start < len(line) else pieces


def words_in(text: str) -> frozenset[str]:
    """Return the words and numbers of a text's head and tail, volatile or not."""
    return frozenset(_words(head_and_tail(text, head=_HEAD, tail=_TAIL)))


def _words(text: str) -> list[str]:
    low = text.lower()
    if not low.isascii():
        for mark in _MARKS:
            low = low.replace(mark, " ")
    signs = low.encode("utf-8", "surrogatepass").translate(_SIGNS)
    return signs.decode("utf-8", "surrogatepass").split()


def terms_in(text: str) -> frozenset[str]:
    """Return the words, names and numbers of a text, without its volatile parts."""
    return terms_of_lines(masked_lines(text))


def terms_of_lines(lines: Sequence[str]) -> frozenset[str]:
    """Return the words, names and numbers of masked lines."""
    words = _words("\n".join(lines))
    return frozenset(words[:_MOST] + words[-_MOST:] if len(words) > 2 * _MOST else words)


def same_but_quoted(
    answered: frozenset[str], asked: frozenset[str], again: frozenset[str], anew: frozenset[str]
) -> bool:
    """Return whether answers differ only in what each quotes of its request (`asked`, `anew`)."""
    if len(answered & again) < _SOMETHING:
        return False
    return answered == again or (answered - again <= asked and again - answered <= anew)


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of terms that two texts have in common (Jaccard), in [0, 1]."""
    if not one and not other:
        return 1.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def bitmap_of(terms: frozenset[str]) -> int:
    """Return a bit set of the terms: two texts differ in at least as many terms as bits."""
    marks = bytearray(b"0" * _BITS)  # setting a bit of an int copies it
    for term in terms:
        marks[hash(term) % _BITS] = b"1"[0]
    return int(marks, 2)


class TermMemory:
    """Terms seen within the last `span` turns; old ones are forgotten, so that it stays small.

    A memory can be rebuilt from these turns.
    """

    def __init__(self, span: int) -> None:
        self._span = span
        # When each was seen last: since the last fresh start, and before it.
        self._seen, self._before = _Times(), _Times()
        self._began = self._forgotten = float("-inf")

    def start_afresh(self) -> None:
        """Start a new part of the run: a person stepped in."""
        self._before.young.update(self._seen.young)
        self._before.old.update(self._seen.old)
        self._seen = _Times()

    def note(self, terms: frozenset[str], at: float) -> None:
        """Remember what was asked or said: an echo of it is not news."""
        self._forgotten = at - self._span
        if self._began <= self._forgotten:
            self._began = at
            for times in (self._seen, self._before):
                times.young, times.old = {}, times.young
        self._seen.young.update(dict.fromkeys(terms, at))

    def weigh(self, terms: frozenset[str], at: float) -> tuple[float, float]:
        """Remember an answer's terms; return two shares of new ones, each in [0, 1].

        The first counts terms not seen since the last fresh start, the second terms never seen.
        """
        if not terms:
            return 0.0, 0.0
        since = self._seen.unknown(terms, self._forgotten)
        ever = self._before.unknown(since, self._forgotten)
        new, never = len(since) / len(terms), len(ever) / len(terms)
        if len(terms) < BRIEF:
            # Few words in a new combination are news, even if each of them was asked for.
            at_once = frozenset({_AT_ONCE.join(sorted(terms))})
            terms |= at_once
            since |= self._seen.unknown(at_once, self._forgotten)
            new = max(new, NEWS) if since else new
            never = max(never, NEWS) if self._before.unknown(since, self._forgotten) else never
        self.note(terms, at)
        return new, never


class _Times:
    """When terms were last seen, in two generations; the older one is dropped as a whole."""

    def __init__(self) -> None:
        self.young: dict[str, float] = {}
        self.old: dict[str, float] = {}

    def unknown(self, terms: frozenset[str], forgotten: float) -> frozenset[str]:
        """Return the terms that were not seen later than `forgotten`."""
        left = terms.difference(self.young) if self.young else terms
        if not (left and self.old):
            return left
        seen = self.old.get
        return frozenset([term for term in left if seen(term, forgotten) <= forgotten])


def texts_in(args: Mapping[str, Any] | None) -> list[str]:
    """Return every text in a call's arguments, in order, to a bounded depth."""
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
        elif isinstance(value, _SEQUENCES):
            _gather(value, found, depth + 1)
        elif isinstance(value, _MAPPINGS):
            _gather(value.values(), found, depth + 1)
