"""Messages without actions: does anybody say something new?

A matter can be put in new words for ever, but not in new *terms*: names, numbers and
things. The terms of a message are what remains without function words and endings; when
talk goes in circles, hardly any of them are new.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from guard.raw_texts import head_and_tail
from guard.reading import Phrase, compile_phrases, pattern_of, read_words

if TYPE_CHECKING:
    from guard.reading.step import Step

_STEM_LENGTH = 5
_MIN_CHANT_LENGTH, _MIN_CHANT_LINES, _MIN_CHANT_WORDS = 400, 8, 60
_LETTERS = re.compile(r"[^\W\d_]{3}")
_WORD = re.compile(r"[^\W_]{3,}|\d+")
# The same as a table of bytes, at a third of the expression's cost, for texts with no letter beyond
# ASCII: most have only a dash or a bullet there.
_ASCII = bytes(range(128))
_SEPARATORS = bytes(at if at < 128 and chr(at).isalnum() else 32 for at in range(256)).lower()  # noqa: PLR2004 - ASCII
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_MIN_WORD_LENGTH = 3
# Distinguishes a message that shows an action or its outcome from talk.
SHOWN_WORK = Phrase("shown_work", head=3000)
_STAMP = re.compile(f"^{pattern_of('stamps')}", re.IGNORECASE | re.MULTILINE)
# The same after a line break, which is found faster than the beginning of a line.
_STAMP_BELOW = re.compile(f"\n{pattern_of('stamps')}", re.IGNORECASE | re.MULTILINE)
# Distinguishes a message that announces an action.
ANNOUNCES = Phrase("announces", head=400, lower=True, words=True)
_ANNOUNCING_ONE_IN = 3
_MOSTLY = 0.85
_NUMBER = compile_phrases("counts")
# The empty text is what remains of a short word without digits.
_FILLER = frozenset(word[:_STEM_LENGTH] for word in (*read_words("talk")["filler"], ""))


def strip_stamps(text: str) -> str:
    """Return a message without the lines that only number or date it, unless nothing remains."""
    return _STAMP.sub("", text).strip() or text if _STAMP_BELOW.search(f"\n{text}") else text


# Cached, because it is called with the same agents' names turn after turn.
@functools.lru_cache(maxsize=256)
def stems_of(text: str) -> frozenset[str]:
    """Return the terms of a text: the stems of its words without filler words."""
    text = head_and_tail(text)
    text = text if text.isascii() else text.lower()  # the table lowers ASCII
    signs = text.encode("utf-8", "surrogatepass")
    beyond = b"" if text.isascii() else signs.translate(None, _ASCII)
    if not any(map(str.isalnum, beyond.decode("utf-8", "surrogatepass"))):
        words = set(signs.translate(_SEPARATORS).decode().split())
        stems = {word[:_STEM_LENGTH] for word in words if len(word) >= _MIN_WORD_LENGTH}
        stems.update([word.strip(_ALPHABET) for word in words if len(word) < _MIN_WORD_LENGTH])
        return frozenset(stems - _FILLER)
    stems = set[str]()
    for word in set(_WORD.findall(text)):
        if word[0] < "\u2e80":
            stems.add(word[:_STEM_LENGTH])
        else:  # written without spaces: pairs of characters are its words
            stems.update(word[at : at + 2] for at in range(len(word) - 1))
    return frozenset(stems - _FILLER)


def only_announces(steps: Sequence[Step]) -> bool:
    """Return whether a log leaves actions out: one agent, no calls, many announcements.

    It is then unknown what was done, and the next step may well use the same words.
    """
    if any(step.is_call or step.agent != steps[0].agent for step in steps):
        return False
    announcing = sum(step.announces for step in steps)
    return announcing * _ANNOUNCING_ONE_IN >= len(steps)


def trailing_talk(steps: Sequence[Step]) -> list[Step]:
    """Return the messages and hand-overs that the run ends with, oldest first.

    Calls in between that brought nothing are skipped, and so is a message that announces the
    answered call after it. The talk ends where a call brought something or a message that
    shows work tells something.
    """
    talk: list[Step] = []
    later: Step | None = None
    for step in reversed(steps):
        is_done, later = later is not None and later.is_answered, step
        if is_done and step.announces:
            continue
        if step.shows_work and step.says_new:
            break
        if not step.is_call or step.hands_over or step.thinks:
            talk.append(step)
        elif step.made_progress or not step.outcome_known:
            break
    talk.reverse()
    return talk


def are_numbered(messages: Sequence[Step]) -> bool:
    """Return whether similar messages count up: "batch 3 of 9" after "batch 2 of 9"."""
    numbers = [tuple(_NUMBER.findall(step.text[:2000].lower())) for step in messages]
    return all(numbers) and len(set(numbers)) == len(numbers)


def find_empty_tail(
    talk: Sequence[Step], *, max_new: float, max_share: float, min_length: int
) -> int:
    """Return the length of the longest tail of messages that together tell nothing new.

    It is at least `min_length`, or 0. At most `max_new` new terms per message on average, and at
    most this `max_share` of all terms, count as nothing.
    """
    best = new = total = 0
    for count, step in enumerate(reversed(talk), start=1):
        new, total = new + step.new_terms, total + len(step.terms)
        # Messages of at most one term each tell nothing, unless they all differ.
        is_empty = new <= max_share * total or (total <= count and new <= _MOSTLY * total)
        if count >= min_length and new <= max_new * count and is_empty:
            best = count
    return best


def find_chant(text: str) -> str | None:
    """Return the sentence that makes up at least half of a message, if there is one."""
    if len(text) < _MIN_CHANT_LENGTH:
        return None
    text = text[:20_000]
    sentences = text.replace(".", "\n").replace("!", "\n").replace("?", "\n").split("\n")
    said = [sentence for sentence in map(str.strip, sentences) if sentence]
    # Usually no sentence occurs twice.
    often = Counter(said).items() if len(said) - len(set(said)) >= _MIN_CHANT_LINES - 1 else ()
    for sentence, count in often:
        is_most = count >= _MIN_CHANT_LINES and 2 * count * len(sentence) >= len(text)
        if is_most and _LETTERS.search(sentence):
            return sentence[:200]
    words = text.split()  # the same without full stops: "and then and then and then"
    least = len(words) / 4
    if len(words) < _MIN_CHANT_WORDS or max(Counter(words).values()) < least:
        return None  # no pair occurs more often than its words
    pair, count = Counter(pairwise(words)).most_common(1)[0]
    chant = " ".join(pair)
    return chant[:200] if count >= least and _LETTERS.search(chant) else None
