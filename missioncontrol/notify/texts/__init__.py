"""What people are told, in their language: English from `english`, German from two files.

`german.toml` has our own texts, `german_sentences.toml` the sentences of the guard. Sentences
missing there stay English. The screens use the same (`frontend/src/messages/de/record.ts`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from types import MappingProxyType

from missioncontrol.notify.texts.english import Figures, ReportTexts, Texts
from missioncontrol.translation import in_german, table_of


class German(Texts):
    figures = Figures(**table_of("figures"))
    report = in_german(ReportTexts(), "report")

    def sentence(self, english: str) -> str:
        return sentence(english)


TABLES = tomllib.loads(
    resources.files("missioncontrol.notify.texts")
    .joinpath("german_sentences.toml")
    .read_text("utf-8")
)
DEEDS: Mapping[str, tuple[str, str]] = TABLES["deed"]
PLACEHOLDERS = {
    "@deed": "|".join(DEEDS),
    "@times": r"once|\d+ times",
    "@has": r"It|The project(?: today)?|The tree of .{1,300}|Agent .{1,300}",
}
SENTENCES: tuple[tuple[str, str], ...] = tuple(
    (re.sub("@(?:deed|times|has)", lambda found: PLACEHOLDERS[found[0]], pattern), says)
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
            does, rest = DEEDS.get(parts.get("deed", ""), ("", ""))
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


CATALOGUES: Mapping[str, Texts] = {"en": Texts(), "de": in_german(German(), "notice")}
SOURCE = "en"

__all__ = ["CATALOGUES", "SOURCE", "Texts", "language_of", "texts_in"]


def language_of(tag: str) -> str:
    """Return our language for a requested one; English if we have no such language.

    >>> [language_of(tag) for tag in ("de-AT", "DE", "fr", "")]
    ['de', 'de', 'en', 'en']
    """
    # Only the first part counts: browsers send `de-AT`, and some systems `de_DE`.
    asked = tag.strip().lower().replace("_", "-").partition("-")[0]
    return asked if asked in CATALOGUES else SOURCE


def texts_in(tag: str) -> Texts:
    """Return the texts of a language; English if we have no such language."""
    return CATALOGUES[language_of(tag)]
