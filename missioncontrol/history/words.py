"""Cut text into the words that are indexed and searched. Pure.

Both databases get prepared words, so that they find the same: lower case without
accents, letters and digits only, each Chinese, Japanese or Korean character a word of
its own. `app/auth.py` is three words in a row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Only the beginning of longer words counts: they are hashes and blobs.
MAX_WORD_LENGTH = 64
# Characters of one field that are indexed: its beginning, and its end for the last fifth.
MAX_INDEXED_TEXT = 30_000
# The first character of a tag; no word contains it.
TOOL_SIGN, AGENT_SIGN = "\u00a7", "\u00b6"

_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Kana, CJK and Hangul are written without spaces: each character is a word of its own.
_WORD = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_NOT_WORD = re.compile(r"[\W_]+")


def split_words(text: str) -> list[str]:
    r"""Return the words of a text, in order.

    >>> split_words("Naïve app/auth.py")
    ['naive', 'app', 'auth', 'py']
    >>> split_words("\U0001d54a")
    ['s']
    """
    # Code and logs are nearly always ASCII: one regular expression, no characters to decompose.
    if text.isascii():
        return [word[:MAX_WORD_LENGTH] for word in _ASCII_WORD.findall(text.lower())]
    return [word for word, _, _ in located_words(text)]


def located_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each word of a text with its start and end in the text."""
    for found in _WORD.finditer(text):
        word = found.group()
        if word.isascii():
            yield word.lower()[:MAX_WORD_LENGTH], found.start(), found.end()
            continue
        # Some capitals show only once a character is decomposed, such as the mathematical S.
        apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
        plain = _NOT_WORD.sub("", "".join(c for c in apart if not unicodedata.combining(c)))
        # A decomposed character may contain ones that are words by themselves.
        for part in _WORD.findall(plain[:MAX_WORD_LENGTH]):
            yield part, found.start(), found.end()


def make_tag(sign: str, name: str) -> str:
    """Return the one word that stands for a tool's or an agent's whole name."""
    # Joined to one word: with several, only the first would have the sign.
    plain = "".join(split_words(name))
    return sign + plain[: MAX_WORD_LENGTH - 1] if plain else ""


def cut_middle(text: str) -> str:
    """Return the parts of a long text that are indexed."""
    if len(text) <= MAX_INDEXED_TEXT:
        return text
    # An error is at the end of an output, so the end is kept too.
    tail = MAX_INDEXED_TEXT // 5
    return f"{text[: MAX_INDEXED_TEXT - tail]} {text[-tail:]}"
