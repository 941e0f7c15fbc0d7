"""What a project masks besides what is always masked: its own rules, matched in linear time.

A rule is a literal in which `#` stands for a digit and `?` for a letter; a `*` at its end takes
the rest of the word. So a text is read once, and no rule can be made to read it again and again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guard.redact import MASK
from missioncontrol.errors import InvalidRequest
from missioncontrol.sealing import fingerprint

MOST_RULES = 50
LONGEST_RULE = 100
SHORTEST_RULE = 3
"""Signs before the star: fewer are met in every text."""
_MARKED = r"\[masked(?: [a-p]{6})?\]"
"""What is masked already stays as it is: a turn may come by more than one door."""
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_STANDS_FOR = {"#": r"\d", "?": r"[^\W\d_]", " ": r"\s"}


@dataclass(frozen=True, slots=True)
class Redaction:
    """A project's rules, as they were read; without one, nothing is masked.

    With a `salt`, its project's id, equal words leave equal marks, which say nothing without
    the secret key: calls about a hundred customers stay a hundred calls, and do not look like
    one call a hundred times.
    """

    rules: tuple[str, ...] = ()
    salt: str = ""

    def text(self, text: str) -> str:
        """Return a text with what a rule matches masked.

        >>> Redaction(("K-####",)).text("order K-1234 shipped")
        'order [masked] shipped'
        """
        return _pattern(self.rules).sub(self._mask, text) if self.rules else text

    def found(self, text: str) -> list[tuple[str, int, int]]:
        """Say which rule matches from where to where, in the order of the text."""
        if not self.rules:
            return []
        return [
            (self.rules[match.lastindex - 1], match.start(), match.end())
            for match in _pattern(self.rules).finditer(text)
            if match.lastindex
        ]

    def json(self, value: Any) -> Any:
        """Return JSON with its texts, names and numbers masked."""
        if not self.rules or value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float):
            written = str(value)
            masked = self.text(written)
            return value if masked == written else masked
        if isinstance(value, dict):
            return {self.text(name): self.json(part) for name, part in value.items()}
        return [self.json(part) for part in value]

    def _mask(self, match: re.Match[str]) -> str:
        if not match.lastindex:
            return match[0]
        if not self.salt:
            return MASK
        known = fingerprint(f"redaction {self.salt} {match[0].casefold()}")
        return f"{MASK[:-1]} {known[:6].translate(_LETTERS)}]"


NOTHING = Redaction()


@lru_cache(maxsize=256)
def _pattern(rules: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        "|".join([_MARKED, *(f"({_written(rule)})" for rule in rules)]), re.IGNORECASE
    )


def _written(rule: str) -> str:
    """Write a rule as an expression; where it begins or ends in a word, so does what it meets."""
    whole = rule.removesuffix("*")
    body = "".join(_STANDS_FOR.get(sign, re.escape(sign)) for sign in whole)
    begins = r"(?<!\w)" if _is_of_a_word(whole[0]) else ""
    ends = r"(?!\w)" if _is_of_a_word(whole[-1]) else ""
    return f"{begins}{body}" + (r"\w*+" if whole != rule else ends)


def _is_of_a_word(sign: str) -> bool:
    return sign in "#?_" or sign.isalnum()


def read_rules(asked: Sequence[str]) -> Redaction:
    """Read rules as a person wrote them; empty ones and repeats are left out.

    Raises:
        InvalidRequest: one says nothing, too much or what no rule can say.
    """
    rules = tuple(dict.fromkeys(rule for one in asked if (rule := " ".join(one.split()))))
    if len(rules) > MOST_RULES:
        raise InvalidRequest(f"At most {MOST_RULES} rules.", field="redact_rules")
    for rule in rules:
        if fault := _fault_of(rule):
            raise InvalidRequest(f"{rule[:LONGEST_RULE]}: {fault}", field="redact_rules")
    return Redaction(rules)


def _fault_of(rule: str) -> str | None:
    whole = rule.removesuffix("*")
    if len(rule) > LONGEST_RULE or not rule.isprintable():
        return f"at most {LONGEST_RULE} characters, all of which can be seen."
    if "*" in whole:
        return "a star stands at the end only, for the rest of the word."
    if len(whole) < SHORTEST_RULE:
        return f"at least {SHORTEST_RULE} characters before the star, or it meets every text."
    if not whole.replace("?", "").strip():
        return "letters alone are every word: name a sign of its own, or a digit as #."
    return None
