"""One sentence over and over within one message."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

_CHANT_LENGTH = 400
_CHANT_LINES = 8
_CHANT_WORDS = 60
_CHANT_SHARE = 0.5
_CHANT_TEXT = 20_000
_SENTENCE = re.compile(r"[.!?\n]+\s*")
_LETTERS = re.compile(r"[^\W\d_]{3}")


def find_chant(text: str) -> str | None:
    """Give the sentence that makes up at least half of a message, if one does.

    >>> find_chant("I will check the file again. " * 20)
    'I will check the file again'
    >>> find_chant("One thing. Another thing.") is None
    True
    """
    if len(text) < _CHANT_LENGTH:
        return None
    sentences = [part.strip() for part in _SENTENCE.split(text[:_CHANT_TEXT])]
    counts = Counter(part for part in sentences if _LETTERS.search(part))
    for sentence, count in counts.most_common(1):
        if count >= _CHANT_LINES and count * len(sentence) >= _CHANT_SHARE * len(
            text[:_CHANT_TEXT]
        ):
            return sentence[:200]
    return _find_chanted_words(text[:_CHANT_TEXT])


def _find_chanted_words(text: str) -> str | None:
    """The same without full stops: "and then and then and then"."""
    words = text.split()
    if len(words) < _CHANT_WORDS:
        return None
    pair, count = Counter(pairwise(words)).most_common(1)[0]
    is_text = _LETTERS.search(" ".join(pair)) is not None
    return " ".join(pair)[:200] if is_text and count >= len(words) / 4 else None
