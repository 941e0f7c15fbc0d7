"""What a turn says, in whatever form it is logged: turns become attempts, attempts become steps.

    Turn -> `written`    a call written into a text is a call
         -> `attempts`   an answer goes to its call, machines are told from people: `ReadTurn`
         -> `classify`, `normalize`, `messages`   what is asked for or said: `Action`
         -> `outcome`    what came back: `Outcome`
         -> `step`       both, compared with the steps before: `Step`, all that the rules see

Texts are compared by their `terms`, without what is `volatile`. The words and phrases used
for this are data: `words.toml`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

# The words and phrases by which turns are read: a tool can be added without code.
TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)


def read_words(table: str) -> dict[str, frozenset[str]]:
    """Return the lists of words in a table of `words.toml`, by name."""
    lists = TABLES[table].items()
    return {name: frozenset(one.split() if isinstance(one, str) else one) for name, one in lists}


def pattern_of(name: str) -> str:
    """Return a regular expression for any of the phrases under this name."""
    return f"(?:{'|'.join(TABLES['phrases'][name].splitlines())})"


def compile_phrases(name: str, flags: int = 0) -> re.Pattern[str]:
    """Return a compiled expression for any of the phrases under this name."""
    return re.compile(pattern_of(name), flags)


_HINTS = read_words("hints")


class Phrase:
    """A phrase of `words.toml`, searched only where one of its hints occurs: that is cheaper."""

    def __init__(
        self, name: str, *, head: int | None = None, lower: bool = False, words: bool = False
    ) -> None:
        """Take the phrases of this name, to search as whole words or not in a text's `head`."""
        self._search = re.compile(rf"\b{pattern_of(name)}\b" if words else pattern_of(name)).search
        self._hints = tuple(sorted(_HINTS.get(name, {""})))  # iterating a tuple is faster
        self._head, self._lower = head, lower

    def occurs_in(self, text: str) -> bool:
        """Return whether one of the phrases occurs in this text."""
        head = text[: self._head].lower() if self._lower else text[: self._head]
        for hint in self._hints:
            if hint in head:
                return self._search(head) is not None
        return False

    def matching_lines(self, text: str) -> list[str]:
        """Return the lines of a text that contain one of the phrases: usually none."""
        hints = [hint for hint in self._hints if hint in text]
        if not hints:
            return hints
        lines = [line for line in text.split("\n") if any(map(line.__contains__, hints))]
        return list(filter(self._search, lines))
