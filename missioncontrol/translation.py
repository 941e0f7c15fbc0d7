"""The texts that people are told, a file for each language: `english.toml` and `german.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Self

SOURCE = "en"
LANGUAGES: Mapping[str, str] = {"en": "english.toml", "de": "german.toml"}


def language_of(tag: str) -> str:
    """Return our language for a requested one; English if we have no such language.

    >>> [language_of(tag) for tag in ("de-AT", "DE", "fr", "")]
    ['de', 'de', 'en', 'en']
    """
    # Only the first part counts: browsers send `de-AT`, and some systems `de_DE`.
    asked = tag.strip().lower().replace("_", "-").partition("-")[0]
    return asked if asked in LANGUAGES else SOURCE


class TextTable:
    """The texts of a table in a language, as attributes; `{…}` in them is filled in.

    A subclass declares those that are lists or tables themselves.
    """

    def __init__(self, texts: Mapping[str, Any]) -> None:
        vars(self).update(texts)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> str: ...

    @classmethod
    def of(cls, table: str, language: str) -> Self:
        """Return a table's texts.

        Raises:
            LookupError: the language lacks a text of it, or has one that English lacks.
        """
        texts, english = (tables_of(one)[table] for one in (language, SOURCE))
        # A forgotten text would be shown in English to somebody.
        if differing := texts.keys() ^ english.keys():
            raise LookupError(f"{LANGUAGES[language]}: [{table}] differs in {sorted(differing)}")
        return cls(texts)


@cache
def tables_of(language: str) -> dict[str, dict[str, Any]]:
    """Return all tables of a language's file."""
    file = resources.files("missioncontrol").joinpath(LANGUAGES[language])
    return tomllib.loads(file.read_text("utf-8"))
