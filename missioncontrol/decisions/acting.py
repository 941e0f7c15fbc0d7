"""Tell whether a turn takes up what a message says. Pure.

Only evidence that can be checked counts: the turn names a file, a command or words of the
message that nothing named before the agent had it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# One word in common is chance.
FEWEST_WORDS = 2
_SHARE = 1 / 3
_PHRASE = re.compile(
    r"`([^`\n]{2,200})`|\"([^\"\n]{3,200})\"|“([^“”\n]{3,200})”|„([^„“\n]{3,200})“"
)
# One class of signs and what it holds: alternatives that begin alike took quadratic time.
_TOKEN = re.compile(r"[\w@~.+/-]+(?:::\w+)*")
_LONGEST_EXTENSION = 8
_WORD = re.compile(r"[^\W_]{4,}")
# What any message may hold and any answer repeat.
_COMMON = frozenset(
    _WORD.findall(
        "about after again also before change could does done dont each from have here into just "
        "like make more need only please rather should some than that them then there these they "
        "this those use using very want what when where which will with would your "
        "aber alle auch bitte dann dass dein denn diese dieser doch eine einen einer erst etwas "
        "haben hier jetzt kann kein keine machen mehr mich nach nicht noch nur oder sein sich sind "
        "soll statt über und unter vorher wenn werden wieder wird"
    )
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a message names: files, commands and quoted phrases; words."""

    names: frozenset[str]
    words: frozenset[str]


def read_asked(text: str) -> Asked:
    """Read what a message names.

    >>> sorted(read_asked("Skip legacy plans, see docs/billing.md").names)
    ['docs/billing.md']
    """
    names = ["".join(found) for found in _PHRASE.findall(text)]
    for found in _TOKEN.findall(text):
        # The full stop of a sentence is no part of the file that it ends with.
        token = found.rstrip(".")
        is_path = "/" in token.rstrip("/") or "_" in token.strip("_") or "::" in token
        # A file by its extension; the end of a sentence or a number has none.
        stem, _, extension = token.rpartition(".")
        is_file = stem and extension[:1].isalpha() and len(extension) <= _LONGEST_EXTENSION
        if is_path or is_file:
            names.append(token)
    return Asked(frozenset(" ".join(name.lower().split()) for name in names), _words_of(text))


def find_acting(
    message: str, before: Iterable[str], after: Iterable[tuple[int, str]]
) -> int | None:
    """Give the number of the first turn that takes the message up; None: none is known to.

    Args:
        message: What the agent was told.
        before: What its last turns before said and called.
        after: The turns since, oldest first: number, and what each said or called.
    """
    asked, earlier = read_asked(message), "\n".join(before).lower()
    # What the agent named before the message proves nothing of the message.
    names = [name for name in asked.names if name not in earlier]
    words = asked.words - _words_of(earlier)
    # A long message is taken up by a share of it, or two common words would do.
    enough = max(FEWEST_WORDS, len(asked.words) * _SHARE)
    for number, text in after:
        lowered = text.lower()
        if any(name in lowered for name in names) or len(words & _words_of(lowered)) >= enough:
            return number
    return None


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _COMMON
