"""What notices say, in the language of whom they reach, and how a language writes figures.

Our own texts are in a file for each language (`missioncontrol.translation`), and the German of the
guard's sentences in `german_sentences.toml`. Sentences missing there stay English. The screens use
the same (`frontend/src/messages/de/record.ts`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from types import MappingProxyType
from typing import Self

from missioncontrol.translation import LANGUAGES, TextTable, language_of, tables_of

# In one call: two replacements, one after the other, would undo each other.
_SWAPPED = str.maketrans(",.", ".,")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One language's way of writing figures."""

    has_decimal_comma: bool
    dollars: str
    percent: str
    under_a_minute: str

    def money(self, amount: Decimal) -> str:
        """Write dollars as the screens do.

        >>> money = texts_in("en").figures.money
        >>> [money(Decimal(text)) for text in ("2.31", "0.004", "1204.4", "0.0001")]
        ['$2.31', '$0.004', '$1,204', '<$0.001']
        """
        # Rounded it would read $0.000, as if it were free.
        if Decimal(0) < amount < Decimal("0.0005"):
            return f"<{self._dollars(f'{0.001:.3f}')}"
        if Decimal(0) < amount < Decimal("0.01"):
            return self._dollars(f"{amount:.3f}")
        thousand = Decimal(1000)
        return self._dollars(f"{amount:,.0f}" if amount >= thousand else f"{amount:.2f}")

    def round_money(self, amount: Decimal) -> str:
        """Write dollars as people say them: `$5`, `$4.50`."""
        whole = amount == amount.to_integral_value()
        return self._dollars(f"{amount:,.0f}") if whole else self.money(amount)

    def whole(self, amount: Decimal | int) -> str:
        """Write a whole number with its thousands separated."""
        return self._written(f"{amount:,.0f}")

    def share(self, part: Decimal | float) -> str:
        """Write a fraction as a percentage."""
        return self.percent.format(n=f"{round(100 * part)}")

    def minutes(self, seconds: float) -> str:
        """Write a duration in minutes and hours, rounded down.

        >>> [texts_in("en").figures.minutes(length) for length in (30, 60, 299, 3600, 5400)]
        ['under a minute', '1 min', '4 min', '1 h', '1 h 30 min']
        """
        # Rounded down: nobody is promised more time than there is.
        hours, rest = divmod(int(seconds // 60), 60)
        parts = (f"{hours} h" * bool(hours), f"{rest} min" * bool(rest))
        return " ".join(part for part in parts if part) or self.under_a_minute

    def _dollars(self, text: str) -> str:
        return self.dollars.format(n=self._written(text))

    def _written(self, text: str) -> str:
        return text.translate(_SWAPPED) if self.has_decimal_comma else text


TABLES = tomllib.loads(
    resources.files("missioncontrol.notify").joinpath("german_sentences.toml").read_text("utf-8")
)
DONE: Mapping[str, tuple[str, str]] = TABLES["done"]
PLACEHOLDERS = {
    "@done": "|".join(DONE),
    "@times": r"once|\d+ times",
    "@has": r"It|The project(?: today)?|The tree of .{1,300}|Agent .{1,300}",
}
SENTENCES: tuple[tuple[str, str], ...] = tuple(
    (re.sub("@(?:done|times|has)", lambda found: PLACEHOLDERS[found[0]], pattern), says)
    for pattern, says in TABLES["sentence"].items()
)


def sentence(text: str) -> str:
    """Translate a sentence of the guard into German.

    >>> sentence("It ran the same test 4 times and got the same error.")
    'Er führte denselben Test 4-mal aus und bekam denselben Fehler.'
    """
    for pattern, says in _PATTERNS:
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            does, rest = DONE.get(parts.get("done", ""), ("", ""))
            written = {name: _WRITERS.get(name, str)(part) for name, part in parts.items()}
            return says.format_map({**written, "does": does, "rest": rest})
    return text


_OWNERS = tuple((re.compile(one, re.DOTALL), german) for one, german in TABLES["has"].items())


def _from_table(table: str) -> Callable[[str], str]:
    return lambda english: TABLES[table].get(english, english)


def _owner(english: str) -> str:
    found = ((pattern.fullmatch(english), german) for pattern, german in _OWNERS)
    return next(match.expand(german) for match, german in found if match)


def _act(english: str) -> str:
    kind, on, place = english.partition(" on ")
    return f"{TABLES['act'].get(kind, kind)}{on and ': '}{place.replace(' files', ' Dateien')}"


def _comma(english: str) -> str:
    return english.replace(".", ",")


def _dollars(english: str) -> str:
    return f"{_comma(english)}\u00a0$"


_WRITERS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "times": lambda english: (
            "einmal" if english == "once" else f"{english.removesuffix(' times')}-mal"
        ),
        "got": _from_table("got"),
        "few": _comma,
        "used": _comma,
        "most": _comma,
        "unit": _from_table("unit"),
        "usd_spent": _dollars,
        "usd_of": _dollars,
        "has": _owner,
        "who": lambda english: english.replace("one without a name", "ein Agent ohne Namen"),
        "act": _act,
        "met": _from_table("met"),
        "sort": _from_table("sort"),
    }
)
# Anchored, and with the first of two gaps bounded: otherwise some take quadratic time.
_PATTERNS = tuple((re.compile(rf"\A{pattern}", re.DOTALL), says) for pattern, says in SENTENCES)


class ReportTexts(TextTable):
    """Texts of the report on a day's cost."""

    reasons: dict[str, str]
    groups: dict[str, str]
    columns: list[str]
    counted: dict[str, list[str]]

    def count(self, n: int, word: str) -> str:
        """Write a number with its noun."""
        one, many = self.counted[word]
        return f"{n} {one if n == 1 else many}"


class Texts(TextTable):
    """Texts of cards and announcements, and of a notification's buttons."""

    figures: Figures
    report: ReportTexts
    shared: dict[str, str]
    held_at: dict[str, str]
    units: dict[str, list[str]]
    will: dict[str, str]
    by_person: dict[str, str]
    by_itself: dict[str, str]

    @classmethod
    def of(cls, table: str, language: str) -> Self:
        """Return a table's texts, with the report's and the figures of its language."""
        made = super().of(table, language)
        made.figures = Figures(**tables_of(language)["figures"])
        made.report = ReportTexts.of("report", language)
        return made

    def sentence(self, english: str) -> str:
        """Translate a sentence of the guard; an unknown one stays as it is."""
        return sentence(english) if self.language == "de" else english

    def amount(self, text: str, unit: str) -> str:
        """Write an amount of a budget with its unit.

        >>> texts_in("en").amount("4.00", "usd"), texts_in("en").amount("120000", "tokens")
        ('$4.00', '120,000 tokens')
        """
        value = Decimal(text)
        if unit == "usd":
            return self.figures.money(value)
        one, many = self.units.get(unit, (unit, unit))
        return f"{self.figures.whole(value)} {one if value == 1 else many}"


CATALOGUES: Mapping[str, Texts] = {language: Texts.of("notice", language) for language in LANGUAGES}


def texts_in(tag: str) -> Texts:
    """Return the texts of a language; English if we have no such language."""
    return CATALOGUES[language_of(tag)]
