"""How near two requests are, compared argument by argument.

Arguments with equal values are boilerplate and are skipped; what differs is
compared. Page 2 and page 3 are different questions; the same body put at line
29 and then at line 30 is the same action.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from functools import cached_property
from itertools import chain, islice

from guard.reading.normalize import PLACES, canonical_json
from guard.reading.terms import bounded, likeness, texts_in, words_in

_NESTED = (dict, list, tuple, Mapping)
_BODY = 40
_TEXT = 80
_PROSE = 5
_HEAD_TEXT = 600
_TAIL_TEXT = 200
_MOST = 100
_NUMERIC = re.compile(r"[\d\s:.,;()\[\]-]+")

_DATE = re.compile(r"\d{4}-\d\d")
_PAGERS = re.compile(r"\b(?:sed -n|head|tail|awk 'NR)")
_PAGER_HINTS = ("sed -n", "head", "tail", "awk 'NR")
_NAME = re.compile(r"(?<=/)\w+|[a-z_]{3,}\w*")
_NAME_OR_NUMBER = re.compile(r"(?<=/)\w+|[a-z_]{3,}\w*|\d+")
# They are looked for in one token at a time, since most tokens of a run come again.
_TOKEN = re.compile(r"[/\w]\w*")
_APART = bytes(code if chr(code).isalnum() or chr(code) in "/_" else 32 for code in range(256))
_TOKENS = 8192
_names_in = functools.lru_cache(maxsize=_TOKENS)(_NAME.findall)
_names_and_numbers_in = functools.lru_cache(maxsize=_TOKENS)(_NAME_OR_NUMBER.findall)

NEAR = 0.54
"""From here on two requests are near-equal."""
ALIKE = 1 / 3
"""Below it two requests have little in common."""


class Argument:
    """One argument of a call; its words are read when first compared."""

    def __init__(self, name: str, value: object) -> None:
        """Hold a value as a text, and as much of it as is compared."""
        text = " ".join(texts_in({"": value})) if isinstance(value, _NESTED) else ""
        text = value if isinstance(value, str) else text or canonical_json(value)
        self._bounded = bounded(text, head=_HEAD_TEXT, tail=_TAIL_TEXT)
        if text is not self._bounded:
            # Texts are compared, and held for as long as the step is.
            text = f"{self._bounded} #{len(text)} {hash(text)}"
        self.text = text
        self.is_body = len(text) >= _BODY
        self.is_number = not self.is_body and _NUMERIC.fullmatch(text) is not None
        # The next page of a file is the same file; another date is another question.
        self.is_place = self.is_number and name.lower() in PLACES and not _DATE.search(text)

    @property
    def is_text(self) -> bool:
        """It is written in words, and may be worded in any way; a path or an id is not."""
        text = self.text
        return " " in text and (len(text) >= _TEXT or "\n" in text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of it."""
        return words_in(self._bounded)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names and numbers in it, none where it only says which part is wanted."""
        if self.is_place:
            return frozenset()
        text = self._bounded
        # `sed -n 900,950p file` pages by numbers; elsewhere a number is a name.
        is_paged = any(map(text.__contains__, _PAGER_HINTS)) and _PAGERS.search(text)
        find, low = _names_in if is_paged else _names_and_numbers_in, text.lower()
        if low.isascii():  # two thirds of the cost with the expression
            tokens = low.replace("/", " /").encode().translate(_APART).decode().split()
        else:
            tokens = _TOKEN.findall(low)
        return frozenset(chain.from_iterable(map(find, tokens)))


class Arguments(dict[str, Argument]):
    """The arguments of a call by name, and what they name together.

    >>> sorted(read_arguments({"path": "src/db", "page": 7, "from": "2026-07-05"}).names)
    ['05', '07', '2026', 'db', 'src']
    """

    @cached_property
    def names(self) -> frozenset[str]:
        """The names and numbers in them: what the call is about."""
        return frozenset[str]().union(*[one.names for one in self.values()])

    @cached_property
    def targets(self) -> frozenset[str]:
        """The names in those that are no texts: what an action is done to."""
        return frozenset[str]().union(*[one.names for one in self.values() if not one.is_text])

    @cached_property
    def aims(self) -> frozenset[str]:
        """The names in those that are no prose either: what a call is aimed at."""
        terse = [one for one in self.values() if one.text.count(" ") < _PROSE]
        return frozenset[str]().union(*[one.names for one in terse if not one.is_text])


def read_arguments(args: Mapping[str, object] | None) -> Arguments:
    """Read the first arguments of a call; nested values count as one text each."""
    first = islice(args.items(), _MOST) if args else ()
    return Arguments([(name := str(key), Argument(name, value)) for key, value in first])


def nearness(one: Arguments, other: Arguments, *, acts: bool) -> float:
    """Give how near two calls of one verb are, in [0, 1]; 1 means equal.

    Args:
        one: The arguments of a call.
        other: Those of another call of the same verb.
        acts: The calls change something: where they do it matters less than what.
    """
    least, shares_body, numbers_moved = 1.0, False, False
    for name in one.keys() | other.keys():
        first, second = one.get(name), other.get(name)
        if first is None or second is None:
            least = min(least, ALIKE)
        elif first.text == second.text:
            shares_body = shares_body or first.is_body
        elif first.is_number and second.is_number:
            numbers_moved = True
        else:
            least = min(least, likeness(first.words, second.words))
            shares_body = shares_body or (first.is_body and least >= NEAR)
    if numbers_moved and not (acts and shares_body):
        return 0.0
    return least
