"""The guard's sentences in German (`german_sentences.toml`); one not known there stays as it is.

The screens say the same of them (`frontend/src/messages/de/record.ts`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from types import MappingProxyType

# Each deed as what it does, and what follows the count.
DEEDS: Mapping[str, tuple[str, str]] = {
    "made the same edit": ("machte dieselbe Änderung", ""),
    "said the same": ("sagte dasselbe", ""),
    "read the same thing": ("las dasselbe", ""),
    "made the same search": ("suchte dasselbe", ""),
    "ran the same command": ("führte denselben Befehl", " aus"),
    "ran the same test": ("führte denselben Test", " aus"),
    "made the same call": ("machte denselben Aufruf", ""),
}
UNITS: Mapping[str, str] = {
    "turns": "Schritten",
    "tokens": "Tokens",
    "calls": "Aufrufen",
    "seconds": "Sekunden",
}
DEED = "|".join(DEEDS)
TIMES = r"once|\d+ times"
# Whose ceilings they are: the run's own, or those that it shares with others.
HAS = r"It|The project(?: today)?|The tree of .{1,300}|Agent .{1,300}"
TABLE = resources.files("missioncontrol.notify.texts").joinpath("german_sentences.toml")
SENTENCES: tuple[tuple[str, str], ...] = tuple(
    (pattern.replace("@deed", DEED).replace("@times", TIMES).replace("@has", HAS), says)
    for pattern, says in tomllib.loads(TABLE.read_text("utf-8")).items()
)


def sentence(text: str) -> str:
    """Say a sentence of the guard in German.

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


_ANSWERS = {
    "the same error": "denselben Fehler",
    "the same answer": "dieselbe Antwort",
    "nearly the same answer": "fast dieselbe Antwort",
    "nothing it did not know": "nichts, was er nicht wusste",
}
_MET = {
    "met the same error": "derselbe Fehler kam",
    "nothing changed": "nichts änderte sich",
}
_ACTS = {
    "file edit": "Änderung",
    "test run": "Testlauf",
    "shell exec": "Befehl",
    "search": "Suche",
    "read": "Lesezugriff",
    "message": "Nachricht",
    "other": "anderer Aufruf",
}
_SORTS = {
    "column": "die Spalte",
    "table": "die Tabelle",
    "command": "der Befehl",
    "option": "die Option",
    "attribute": "das Attribut",
    "key": "der Schlüssel",
    "name": "der Name",
}
_OWNERS = tuple(
    (re.compile(english, re.DOTALL), german)
    for english, german in (
        (r"It", r"Er hat"),
        (r"The project", r"Das Projekt hat"),
        (r"The project today", r"Das Projekt hat heute"),
        (r"The tree of (.{1,300})", r"Der Laufbaum von \1 hat"),
        (r"Agent (.{1,300}) of this run", r"Agent \1 dieses Laufs hat"),
        (r"Agent (.{1,300})", r"Agent \1 hat"),
    )
)


def _act(english: str) -> str:
    kind, on, place = english.partition(" on ")
    return f"{_ACTS.get(kind, kind)}{on and ': '}{place.replace(' files', ' Dateien')}"


def _comma(english: str) -> str:
    return english.replace(".", ",")


def _dollars(english: str) -> str:
    return f"{_comma(english)}\u00a0$"


_WRITERS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "times": lambda english: (
            "einmal" if english == "once" else f"{english.removesuffix(' times')}-mal"
        ),
        "got": lambda english: _ANSWERS.get(english, english),
        "few": _comma,
        "used": _comma,
        "most": _comma,
        "unit": lambda english: UNITS.get(english, english),
        "usd_spent": _dollars,
        "usd_of": _dollars,
        "has": lambda english: next(
            match.expand(german)
            for pattern, german in _OWNERS
            if (match := pattern.fullmatch(english))
        ),
        "who": lambda english: english.replace("one without a name", "ein Agent ohne Namen"),
        "act": _act,
        "met": _MET.__getitem__,
        "sort": _SORTS.__getitem__,
    }
)
# At a text's start only, and the first of two gaps is bounded: else some take quadratic time.
_PATTERNS = tuple((re.compile(rf"\A{pattern}", re.DOTALL), says) for pattern, says in SENTENCES)
