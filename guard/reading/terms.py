"""What a text says: its lines without volatile parts, and its terms.

Terms are words, names and numbers, in any order. They are the only measure of whether an answer is
the same as before and whether it brings something new: a reworded or reordered answer has new lines
only, and no new term. In a stuck stretch, 0 to 12 % of an answer's terms are new, in a moving
stretch 25 to 60 % (measured on recorded runs of 17 public sources).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from guard.raw_texts import head_and_tail
from guard.reading.volatile import mask_lines

_HEAD, _TAIL = 9_000, 3_000
_MAX_LINE, _MAX_WORDS, _MAX_DEPTH = 300, 600, 6
_COMBINED = "\n"
# It begins with the character itself: a lookbehind would be tried at every position.
_LINE_BREAKS = re.compile(r"[,;}\].!?](?:\s+|(?<![.!?])(?=[\"'{\[]))")
# A byte table costs a third of an expression, and lowers ASCII; almost all others are letters.
_APART = [code for code in range(128) if not chr(code).isalnum() and chr(code) != "_"]
_SIGNS = bytes(32 if code in _APART else code for code in range(256)).lower()
_MARKS = "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u2022\u00b7"

# The tuples are created once; `dict` comes first, since checking an abstract type is slow.
_SCALARS, _SEQUENCES, _MAPPINGS = (int, float, type(None)), (list, tuple), (dict, Mapping)

# From this share of common terms on, two answers are near-equal.
SIMILAR = 0.8
# Below this share of new terms an answer brings nothing new.
FEW_NEW = 0.12
# From this share of new terms on, an answer brings something.
NEWS = 0.2
# From this share of new terms on, it brings much.
MANY_NEW = 0.25
# From this share of common words on, two messages say the same.
SAME_WORDS = 0.75
_MIN_COMMON = 2  # this many words are enough to compare
# In an answer with fewer terms, each of them counts.
BRIEF_ANSWER = 12


def masked_lines(text: str) -> tuple[str, ...]:
    """Return the non-empty lines of a text, without their volatile parts.

    Only 12,000 characters of head and tail are read, and 300 of each part of a long line: a
    result of a megabyte costs as much as one of 12 kB.
    """
    text = head_and_tail(text, head=_HEAD, tail=_TAIL, joint="\n")
    raw = list(filter(None, map(str.strip, text.split("\n"))))
    if len(text) > _MAX_LINE and raw and max(map(len, raw)) > _MAX_LINE:
        raw = [piece for line in raw for piece in _split_line(line)]
    return tuple(mask_lines(raw))


def _split_line(line: str) -> list[str]:
    """Split a long line where its text does: JSON and prose are often written as one line."""
    if len(line) <= _MAX_LINE:
        return [line]
    pieces, start = [], 0
    for end in _LINE_BREAKS.finditer(line):
        pieces.append(line[start : min(end.start() + 1, start + _MAX_LINE)])
        start = end.end()
    return [*pieces, line[start : start + _MAX_LINE]] if start < len(line) else pieces


def words_in(text: str) -> frozenset[str]:
    """Return the words and numbers of a text's head and tail, volatile or not."""
    return frozenset(_words(head_and_tail(text, head=_HEAD, tail=_TAIL)))


def _words(text: str) -> list[str]:
    if not text.isascii():
        text = text.lower()
        for mark in _MARKS:
            text = text.replace(mark, " ")
    signs = text.encode("utf-8", "surrogatepass").translate(_SIGNS)
    return signs.decode("utf-8", "surrogatepass").split()


def terms_in(text: str) -> frozenset[str]:
    """Return the words, names and numbers of a text, without its volatile parts."""
    return terms_of_lines(masked_lines(text))


def terms_of_lines(lines: Sequence[str]) -> frozenset[str]:
    """Return the words, names and numbers of masked lines."""
    words = _words("\n".join(lines))
    return frozenset(
        words[:_MAX_WORDS] + words[-_MAX_WORDS:] if len(words) > 2 * _MAX_WORDS else words
    )


def differ_in_quotes(
    answered: frozenset[str], asked: frozenset[str], again: frozenset[str], anew: frozenset[str]
) -> bool:
    """Return whether answers differ only in what each quotes of its request (`asked`, `anew`)."""
    if len(answered & again) < _MIN_COMMON:
        return False
    return answered == again or (answered - again <= asked and again - answered <= anew)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of terms that two texts have in common (Jaccard), in [0, 1]."""
    if not one and not other:
        return 1.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


class TermMemory:
    """Terms seen within the last `span` turns, from which it can be rebuilt."""

    def __init__(self, span: int) -> None:
        self._span = span
        # When each was seen last: since the last fresh start, and before it.
        self._seen, self._seen_before = _LastSeen(), _LastSeen()
        self._began = self._forgotten = float("-inf")

    def start_segment(self) -> None:
        """Start a new part of the run: a person stepped in."""
        self._seen_before.recent.update(self._seen.recent)
        self._seen_before.older.update(self._seen.older)
        self._seen = _LastSeen()

    def add(self, terms: frozenset[str], at: float) -> None:
        """Remember what was asked or said: an echo of it is not news."""
        self._forgotten = at - self._span
        if self._began <= self._forgotten:
            self._began = at
            for times in (self._seen, self._seen_before):
                times.recent, times.older = {}, times.recent
        recent = self._seen.recent
        for term in terms:
            recent[term] = at

    def measure_news(self, terms: frozenset[str], at: float) -> tuple[float, float]:
        """Remember an answer's terms; return two shares of new ones, each in [0, 1].

        The first counts terms not seen since the last fresh start, the second terms never seen.
        """
        if not terms:
            return 0.0, 0.0
        since = self._seen.not_seen(terms, self._forgotten)
        ever = self._seen_before.not_seen(since, self._forgotten)
        new, never = len(since) / len(terms), len(ever) / len(terms)
        if len(terms) < BRIEF_ANSWER:
            # Few words in a new combination are news, even if each of them was asked for.
            at_once = frozenset({_COMBINED.join(sorted(terms))})
            terms |= at_once
            since |= self._seen.not_seen(at_once, self._forgotten)
            new = max(new, NEWS) if since else new
            unseen = self._seen_before.not_seen(since, self._forgotten)
            never = max(never, NEWS) if unseen else never
        self.add(terms, at)
        return new, never


class _LastSeen:
    """When terms were last seen, in two generations; the older one is dropped as a whole."""

    def __init__(self) -> None:
        self.recent: dict[str, float] = {}
        self.older: dict[str, float] = {}

    def not_seen(self, terms: frozenset[str], forgotten: float) -> frozenset[str]:
        """Return the terms that were not seen later than `forgotten`."""
        left = terms.difference(self.recent) if self.recent else terms
        if not (left and self.older):
            return left
        seen = self.older.get
        return frozenset([term for term in left if seen(term, forgotten) <= forgotten])


def texts_in(args: Mapping[str, Any] | None) -> list[str]:
    """Return every text in a call's arguments, in order, to a bounded depth."""
    found: list[str] = []
    if args:
        _collect_texts(args.values(), found, 1)
    return found


def _collect_texts(values: Iterable[object], found: list[str], depth: int) -> None:
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, _SCALARS) or depth == _MAX_DEPTH:
            continue
        elif isinstance(value, _SEQUENCES):
            _collect_texts(value, found, depth + 1)
        elif isinstance(value, _MAPPINGS):
            _collect_texts(value.values(), found, depth + 1)
