r"""Mask what changes from run to run without meaning: times, ids, durations.

Regular expressions dominate the cost of an engine like this. So words are judged by their shape,
with each digit as 0, and each shape is judged once: a listing has hundreds of numbers and few
shapes. Parts that depend on a neighbouring word are searched only where a hint occurs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from guard.reading import TABLES, compile_phrases, pattern_of

# Replaces a volatile part.
PLACEHOLDER = "<~>"
_MAX_WORD = 400
_MIN_TIMESTAMP = 10
_PUNCTUATION = ".,:;()[]{}'\""
# Only a cache: what is masked does not depend on it.
_plain_shapes: set[str] = set()
_MAX_SHAPES, _MAX_HINTS = 40_000, 12
_HAS_DIGIT = re.compile(r"\d")
# Characters that are never in a volatile word and do not keep one from being volatile.
_MARKS = b"!\"#$%&'()*,/;<=>?@[\\]^`{|}~"
# For bytes: on a `str`, `translate` looks up every character.
_TO_SHAPE = bytes.maketrans(b"123456789" + _MARKS, b"0" * 9 + b" " * len(_MARKS))

_VOLATILE = re.compile(pattern_of("volatile") % "1[4-9]")
# The shape of everything that the expression above finds, except temporary paths.
_VOLATILE_SHAPE = re.compile(pattern_of("volatile") % "00")
_TEMPORARY = (" tmp ", " var folders ", " dev shm ")
_TEMPORARY_WORDS = frozenset({"tmp", "folders", "shm"})  # one word of each of these
# All that they find in a word contains one of these, which costs a quarter to search.
_MAY_BE_VOLATILE = re.compile(r"[-:_/]|0x|\d[nuµmsh]|.{10}")
_TEMP_PATH, _LINE_NUMBER = compile_phrases("scratch"), compile_phrases("line_number")
_NEIGHBOUR_PATTERNS = [(one["hints"], re.compile(one["finds"])) for one in TABLES["beside"]]
_NEIGHBOUR_HINT = compile_phrases("beside_hint", re.MULTILINE)
# What a shell prints for a background job: "[1] 46519".
_JOB = re.compile(r"\[\d+\]\s+\d+")
_ABSOLUTE_PATH = re.compile(r"/(?:[\w.@+-]+/)+([\w.@+-]+)")


def mask_volatile(text: str) -> str:
    """Replace times, durations, ids, addresses and temporary paths by `PLACEHOLDER`.

    Plain numbers and quoted names stay: page 2 is not page 3.
    """
    return "\n".join(mask_lines(text.split("\n")))


def mask_lines(lines: list[str]) -> list[str]:
    """Mask each line like `mask_volatile`; return the same list if nothing is masked."""
    if lines and lines[0][:1] == "[":
        lines = [PLACEHOLDER if _JOB.fullmatch(line) else line for line in lines]
    # Every plain digit becomes 0, and each mark between words a space.
    signs = "\n".join(lines).encode("utf-8", "surrogatepass").translate(_TO_SHAPE)
    plain = signs.isascii()
    if b"0" not in signs and plain:
        return lines
    shapes = signs.decode("utf-8", "surrogatepass").split("\n")
    places = [at for at, one in enumerate(shapes) if "0" in one or not (plain or one.isascii())]
    marked = [shapes[at] for at in places]
    suspects, may_stand_beside = _find_volatile_words("\n".join(marked))
    if not suspects and not may_stand_beside:
        return lines  # usually
    some = [lines[at] for at in places]
    for at in _lines_containing(suspects, marked):
        some[at] = " ".join([_mask_word(word) for word in some[at].split(" ")])
    if may_stand_beside:
        low = "\n".join(some).lower()
        low_lines = low.split("\n")
        for hints, pattern in _NEIGHBOUR_PATTERNS:
            if standing := list(filter(low.__contains__, hints)):
                # A function: a template string costs more, even if nothing is found.
                mask = (lambda found: found[1] + PLACEHOLDER) if pattern.groups else PLACEHOLDER
                for at in _lines_containing(standing, low_lines):
                    some[at] = pattern.sub(mask, some[at])
    masked = dict(zip(places, some, strict=True))
    return [masked.get(at, line) for at, line in enumerate(lines)]


def mask_temp_paths(text: str) -> str:
    """Replace only temporary paths, whose names are generated, by `PLACEHOLDER`.

    Dates, ids and numbers in a request are part of what is asked for.
    """
    has_hint = "tmp/" in text or "/var/folders" in text
    return _TEMP_PATH.sub(PLACEHOLDER, text) if has_hint else text


def mask_failure(text: str) -> str:
    """Mask further parts of a failure's masked text: line numbers, directories."""
    if "/" in text:
        text = _ABSOLUTE_PATH.sub(lambda found: found[1], text)
    return _LINE_NUMBER.sub(PLACEHOLDER, text)


def _find_volatile_words(shape: str) -> tuple[list[str], bool]:
    """Return the words of a shape that may be volatile, and whether any word is a hint.

    Most words of a run recur, so only shapes not seen before are examined.
    """
    if len(_plain_shapes) > _MAX_SHAPES:
        _plain_shapes.clear()
    words = set(shape.split())
    unknown = words.difference(_plain_shapes)
    suspects = [
        word
        for word in unknown
        if ("0" in word or (not word.isascii() and _HAS_DIGIT.search(word)))
        and len(word) <= _MAX_WORD
        and _MAY_BE_VOLATILE.search(word)
        and _VOLATILE_SHAPE.search(word)
    ]
    some = unknown if _NEIGHBOUR_HINT.search("\n".join(unknown).lower()) else ()  # usually none
    hints = [word for word in some if _NEIGHBOUR_HINT.search(word.lower())]
    _plain_shapes.update(unknown.difference(suspects, hints))
    if not words.isdisjoint(_TEMPORARY_WORDS):
        suspects += [hint for hint in _TEMPORARY if hint in shape]
    return suspects, bool(hints)


@functools.lru_cache(maxsize=8192)
def _mask_word(word: str) -> str:
    if len(word) > _MAX_WORD or not _HAS_DIGIT.search(word):
        return word
    if len(word) < _MIN_TIMESTAMP and word.strip(_PUNCTUATION).isdigit():
        return word
    return _VOLATILE.sub(PLACEHOLDER, word) if _MAY_BE_VOLATILE.search(word) else word


def _lines_containing(hints: list[str], lines: list[str]) -> Collection[int]:
    """Return the positions of lines that contain a hint; most lines of a listing have none."""
    if len(hints) > _MAX_HINTS:
        return range(len(lines))
    return {place for hint in hints for place, line in enumerate(lines) if hint in line}
