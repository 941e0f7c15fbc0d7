"""What a turn says, whatever form its log has: turns become attempts, attempts become steps.

    Turn -> `written`    a call written into a text is a call
         -> `attempts`   an answer belongs to its call, a machine is no person: `ReadTurn`
         -> `classify`, `normalize`, `messages`   what is asked for or said: `Action`
         -> `outcome`    what came back: `Outcome`
         -> `step`       both, beside the steps before: `Step`, all that the rules see

Texts are compared by their `terms`, without what is `volatile`. The words and phrases by which
all of it is told are data: `words.toml`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

# The words and phrases by which turns are read, so that a tool is added without code.
TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)


def read_words(table: str) -> dict[str, frozenset[str]]:
    """Return the lists of words in a table of `words.toml`, by name."""
    lists = TABLES[table].items()
    return {name: frozenset(one.split() if isinstance(one, str) else one) for name, one in lists}


def any_of(name: str) -> str:
    """Write a regular expression for any of the phrases under this name."""
    return f"(?:{'|'.join(TABLES['phrases'][name].splitlines())})"


_HINTS = read_words("hints")


class Phrase:
    """A phrase of `words.toml`, looked for where one of its hints stands: that is cheaper."""

    def __init__(
        self, name: str, *, head: int | None = None, lower: bool = False, words: bool = False
    ) -> None:
        """Take the phrases of this name, whole words or not, for the `head` of a text."""
        self._search = re.compile(rf"\b{any_of(name)}\b" if words else any_of(name)).search
        self._hints = tuple(sorted(_HINTS.get(name, {""})))  # a tuple is gone through faster
        self._head, self._lower = head, lower

    def stands_in(self, text: str) -> bool:
        """Return whether one of the phrases stands in this text."""
        head = text[: self._head].lower() if self._lower else text[: self._head]
        for hint in self._hints:
            if hint in head:
                return self._search(head) is not None
        return False

    def pick(self, text: str) -> list[str]:
        """Return the lines of a text in which one of them stands: mostly none."""
        hints = [hint for hint in self._hints if hint in text]
        if not hints:
            return hints
        lines = [line for line in text.split("\n") if any(map(line.__contains__, hints))]
        return list(filter(self._search, lines))
