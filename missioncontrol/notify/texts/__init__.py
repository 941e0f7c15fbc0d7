"""What people are told, in their language."""

from __future__ import annotations

from collections.abc import Mapping

from missioncontrol.notify.texts.english import Texts
from missioncontrol.notify.texts.german import German
from missioncontrol.translated import in_german

CATALOGUES: Mapping[str, Texts] = {"en": Texts(), "de": in_german(German(), "notice")}
SOURCE = "en"

__all__ = ["CATALOGUES", "SOURCE", "Texts", "language_of", "texts_in"]


def language_of(tag: str) -> str:
    """Return the language we speak to whom asks for one; English where we have none.

    >>> [language_of(tag) for tag in ("de-AT", "DE", "fr", "")]
    ['de', 'de', 'en', 'en']
    """
    # By its first part: browsers send `de-AT`, and some systems `de_DE`.
    asked = tag.strip().lower().replace("_", "-").partition("-")[0]
    return asked if asked in CATALOGUES else SOURCE


def texts_in(tag: str) -> Texts:
    """Return the texts of a language; English where we have none of it."""
    return CATALOGUES[language_of(tag)]
