"""A local hashing vectoriser: how alike two texts are, without a model.

Words, pairs of neighbouring words and character 4-grams, hashed into 2^20
buckets, L2-normalised: no vocabulary, no state, no download.
"""

from __future__ import annotations

import functools
import math
import re
from itertools import filterfalse
from zlib import crc32

_WORD = re.compile(r"\w+|[^\w\s]{2,}")
# Tables of bytes: `str.translate` looks each sign up anew for each text.
_SIGNS = {code: chr(code).isalnum() or chr(code) == "_" for code in range(128)}
_WITHOUT_MARKS = bytes(code if _SIGNS.get(code) else 32 for code in range(256))
_WITHOUT_WORDS = bytes(32 if _SIGNS.get(code) else code for code in range(256))
_MARKS = frozenset(chr(code) for code, is_sign in _SIGNS.items() if not is_sign)
_BUCKETS = (1 << 20) - 1
_LONGEST = 900
_HELD = 4000
_PAIR_WEIGHT = 0.3
_GRAM_WEIGHT = 0.35
_GRAM = 4
_LONGEST_WORD = 40

Vector = dict[int, float]

ALIKE = 0.86
"""The cosine from which two messages say the same in other words: LoopGuard's threshold."""


@functools.lru_cache(maxsize=256)
def vectorise(text: str) -> Vector:
    """Turn a text into a sparse unit vector; an empty text has none.

    Long texts count by their head and tail, so that the cost is bounded. The
    vector is shared by all who ask for it: do not change it.
    """
    weights: Vector = {}
    before = 0
    for word in words_of(text):
        bucket, grams = _features(word)
        weights[bucket] = weights.get(bucket, 0.0) + 1.0
        for gram in grams:
            weights[gram] = weights.get(gram, 0.0) + _GRAM_WEIGHT
        if before:
            pair = (before * 31 + bucket) & _BUCKETS
            weights[pair] = weights.get(pair, 0.0) + _PAIR_WEIGHT
        before = bucket
    return _normalised(weights)


def cosine(one: Vector, other: Vector) -> float:
    """Give the cosine of two unit vectors, in [0, 1].

    >>> a, b = vectorise("the config file is missing"), vectorise("the config file is missing")
    >>> round(cosine(a, b), 6)
    1.0
    >>> cosine(vectorise("alpha"), vectorise(""))
    0.0
    """
    if len(one) > len(other):
        one, other = other, one
    get = other.get
    return min(1.0, sum([weight * get(bucket, 0.0) for bucket, weight in one.items()], 0.0))


def words_of(text: str) -> list[str]:
    """Give the words of a text in lower case; of long texts head and tail."""
    return _WORD.findall(_lowered(text))


def word_set(text: str) -> frozenset[str]:
    """Give the words of a text, each once, as `words_of` reads them.

    >>> sorted(word_set("a::b, A"))
    ['::', 'a', 'b']
    """
    bounded = _lowered(text)
    if not bounded.isascii():
        return frozenset(_WORD.findall(bounded))
    # A fifth of the expression's cost.
    signs = bounded.encode()
    words = signs.translate(_WITHOUT_MARKS).decode().split()
    words += filterfalse(_MARKS.__contains__, signs.translate(_WITHOUT_WORDS).decode().split())
    return frozenset(words)


def bounded(text: str, *, joint: str = " ") -> str:
    """Give a text's head and tail, 4,000 characters at most: what is held for long."""
    return text if len(text) <= _HELD else f"{text[: _HELD * 3 // 4]}{joint}{text[-_HELD // 4 :]}"


def _lowered(text: str) -> str:
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST * 2 // 3]} {text[-_LONGEST // 3 :]}"
    return text.lower()


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the share of words two sets have in common (Dice), in [0, 1].

    A fiftieth of the cosine's cost: good enough to draw, not to trip on.

    >>> overlap(frozenset("ab"), frozenset("bc"))
    0.5
    """
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0


@functools.lru_cache(maxsize=16384)
def _features(word: str) -> tuple[int, tuple[int, ...]]:
    short = word[:_LONGEST_WORD]
    grams = (short[start : start + _GRAM] for start in range(0, len(short) - _GRAM + 1, 2))
    return _bucket(word), tuple(_bucket("#" + gram) for gram in grams)


def _bucket(feature: str) -> int:
    return crc32(feature.encode("utf-8", "surrogatepass")) & _BUCKETS


def _normalised(weights: Vector) -> Vector:
    length = math.sqrt(sum([weight * weight for weight in weights.values()], 0.0))
    return {bucket: weight / length for bucket, weight in weights.items()} if length else {}
