"""Cut text into the words that are indexed and searched. Pure.

Both databases get the words ready-made, so that they find the same: small letters
without accents, letters and digits only, a sign of Chinese, Japanese or Korean
each a word of its own. `app/auth.py` is three words in a row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Of what is longer only the beginning counts: hashes and blobs.
LONGEST_WORD = 64
# Characters of one field that are indexed: its beginning, and the last fifth.
LONGEST_TEXT = 30_000
# Signs before a tag; no word holds one.
TOOL, AGENT = "\u00a7", "\u00b6"

_PLAIN = re.compile(r"[a-z0-9]+")
# Kana, CJK and Hangul: written without blanks, each sign is a word of its own.
_ANY = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_UNFIT = re.compile(r"[\W_]+")


def words_of(text: str) -> list[str]:
    r"""Return the words of a text, in order.

    >>> words_of("Naïve app/auth.py")
    ['naive', 'app', 'auth', 'py']
    >>> words_of("\U0001d54a")
    ['s']
    """
    # Code and logs are nearly always ASCII: one regular expression, no signs to take apart.
    if text.isascii():
        return [word[:LONGEST_WORD] for word in _PLAIN.findall(text.lower())]
    return [word for word, _, _ in placed_words(text)]


def placed_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each word of a text with where it begins and ends there."""
    for found in _ANY.finditer(text):
        word = found.group()
        if word.isascii():
            yield word.lower()[:LONGEST_WORD], found.start(), found.end()
            continue
        # Some capitals show only once a sign is taken apart: mathematics' own S, say.
        apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
        plain = _UNFIT.sub("", "".join(c for c in apart if not unicodedata.combining(c)))
        # Taken apart, a sign may be one of those that are words by themselves.
        for part in _ANY.findall(plain[:LONGEST_WORD]):
            yield part, found.start(), found.end()


def tag(sign: str, name: str) -> str:
    """Return the one word that stands for a tool's or an agent's whole name."""
    # Joined to one word: of several in a row, the sign would stand before the first alone.
    plain = "".join(words_of(name))
    return sign + plain[: LONGEST_WORD - 1] if plain else ""


def shortened(text: str) -> str:
    """Return what of a long text is indexed."""
    if len(text) <= LONGEST_TEXT:
        return text
    # An error stands at the end of an output, so the end is kept too.
    tail = LONGEST_TEXT // 5
    return f"{text[: LONGEST_TEXT - tail]} {text[-tail:]}"
