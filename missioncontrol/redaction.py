"""A project's own masking rules, besides what is always masked; matched in linear time.

A rule is a literal in which `#` stands for a digit and `?` for a letter; a `*` at its end matches
the rest of the word. So a text is read only once, whatever the rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guard.redact import MASK
from missioncontrol.errors import InvalidRequest
from missioncontrol.sealing import fingerprint

MAX_RULES = 50
MAX_RULE_LENGTH = 100
# Characters before the star: fewer would occur in every text.
MIN_RULE_LENGTH = 3
# What is masked already stays as it is, because a turn may pass through several maskings.
_MASK_PATTERN = r"\[masked(?: [a-p]{6})?\]"
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
# Possessive (`+`): no shorter match of the spaces is tried again, so time stays linear.
_WILDCARDS = {"#": r"\d", "?": r"[^\W\d_]", " ": r"\s{1,16}+"}
# Characters searched at a time, because no other thread runs during a search. A match is shorter
# than the overlap, except for the rest of a word.
_CHUNK, _OVERLAP = 16_384, 2_048


@dataclass(frozen=True, slots=True)
class Redaction:
    """A project's parsed rules; without any, nothing is masked.

    With a `salt`, its project's id, equal words get equal marks, which reveal nothing without
    the secret key: calls about a hundred customers stay a hundred calls, and do not look like
    one call a hundred times.
    """

    rules: tuple[str, ...] = ()
    salt: str = ""

    def mask_text(self, text: str) -> str:
        """Return a text with what a rule matches masked.

        >>> Redaction(("K-####",)).mask_text("order K-1234 shipped")
        'order [masked] shipped'
        """
        if not self.rules:
            return text
        parts: list[str] = []
        done = 0
        for match in _find_matches(self.rules, text):
            mask = MASK
            if not match.lastgroup:
                mask = match[0]
            elif self.salt:
                # With the project's salt: equal words in two projects get different marks.
                known = fingerprint(f"redaction {self.salt} {match[0].casefold()}")
                mask = f"{MASK[:-1]} {known[:6].translate(_LETTERS)}]"
            parts += text[done : match.start()], mask
            done = match.end()
        return "".join([*parts, text[done:]])

    def find_matches(self, text: str) -> list[tuple[str, int, int]]:
        """Return each match's rule, start and end, in the order of the text."""
        if not self.rules:
            return []
        return [
            (self.rules[int(match.lastgroup[1:].partition("_")[0])], match.start(), match.end())
            for match in _find_matches(self.rules, text)
            if match.lastgroup
        ]

    def mask_json(self, value: Any) -> Any:
        """Return JSON with its texts, names and numbers masked."""
        if not self.rules or value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, int | float):
            # As written: a customer's number is masked with or without quotes.
            written = str(value)
            masked = self.mask_text(written)
            return value if masked == written else masked
        if isinstance(value, dict):
            return {self.mask_text(name): self.mask_json(part) for name, part in value.items()}
        return [self.mask_json(part) for part in value]


NO_REDACTION = Redaction()


@lru_cache(maxsize=256)
def _compile_rules(rules: tuple[str, ...]) -> re.Pattern[str]:
    """Return one pattern for all rules, which tries them only where one may begin."""
    # In both forms of an accented letter: as one character, and as a letter with a combining mark.
    named = [
        (form, f"r{at}_{n}")
        for at, rule in enumerate(rules)
        for n, form in enumerate(sorted({unicodedata.normalize(f, rule) for f in ("NFC", "NFD")}))
    ]
    # A rule that begins with a word character must not match in the middle of a word.
    whole_words = [one for one in named if _is_word_char(one[0][0])]
    others = [one for one in named if not _is_word_char(one[0][0])]
    # Existing marks come first, so that no rule matches a part of one.
    parts = [_MASK_PATTERN]
    parts += [rf"(?<!\w){_alternatives(whole_words)}"] if whole_words else []
    parts += [_alternatives(others)] if others else []
    return re.compile("|".join(parts), re.IGNORECASE)


def _alternatives(named: Sequence[tuple[str, str]]) -> str:
    firsts = "|".join(sorted({_char_pattern(rule[0]) for rule, _ in named}))
    each = []
    for rule, name in named:
        whole = rule.removesuffix("*")
        # A rule that ends with a word character matches only to a word's end.
        ends = r"(?!\w)" if _is_word_char(whole[-1]) else ""
        rest = r"\w*+" if whole != rule else ends
        each.append(f"(?P<{name}>{''.join(map(_char_pattern, whole))}{rest})")
    return f"(?={firsts})(?:{'|'.join(each)})"


def _char_pattern(sign: str) -> str:
    return _WILDCARDS.get(sign) or re.escape(sign)


def _find_matches(rules: tuple[str, ...], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of rules and existing marks, a piece of the text at a time."""
    pattern, at = _compile_rules(rules), 0
    while at < len(text):
        piece = at + _CHUNK
        match = pattern.search(text, at, piece + _OVERLAP)
        if match is None or match.start() >= piece:
            at = piece
        elif (whole := pattern.match(text, match.start())) is not None:
            yield whole
            at = whole.end()
        else:  # it only seemed to end there, where the piece ends
            at = match.start() + 1


def _is_word_char(sign: str) -> bool:
    return sign in "#?_" or sign.isalnum()


def read_rules(asked: Sequence[str]) -> Redaction:
    """Read rules as a person wrote them, without empty ones and repeats.

    Raises:
        InvalidRequest: a rule is too short, too long, too broad or not a valid rule.
    """
    rules = tuple(dict.fromkeys(rule for one in asked if (rule := " ".join(one.split()))))
    if len(rules) > MAX_RULES:
        raise InvalidRequest(f"At most {MAX_RULES} rules.", field="redact_rules")
    for rule in rules:
        # Refused when it is written: a rule that matches every text would blank all runs for good.
        whole, fault = rule.removesuffix("*"), ""
        if len(rule) > MAX_RULE_LENGTH or not rule.isprintable():
            fault = f"at most {MAX_RULE_LENGTH} characters, all of which can be seen."
        elif "*" in whole:
            fault = "a star stands at the end only, for the rest of the word."
        elif len(whole) < MIN_RULE_LENGTH:
            fault = (
                f"at least {MIN_RULE_LENGTH} characters before the star, or it meets every text."
            )
        elif not whole.replace("?", "").strip():
            fault = "letters alone are every word: name a sign of its own, or a digit as #."
        if fault:
            raise InvalidRequest(f"{rule[:MAX_RULE_LENGTH]}: {fault}", field="redact_rules")
    return Redaction(rules)
