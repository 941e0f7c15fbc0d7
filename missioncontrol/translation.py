"""German versions of the texts shown to people, which are English in classes; `german.toml`."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeVar

T = TypeVar("T")


def by_language(english: T, table: str) -> Mapping[str, T]:
    """Return texts by language."""
    return {"en": english, "de": in_german(english, table)}


def in_german(english: T, table: str) -> T:
    """Return texts in German from a table of the file; attributes that are no text stay.

    Raises:
        LookupError: the table lacks a text, or has one that English lacks.
    """
    german: dict[str, Any] = _load_tables()[table]
    own = {name for kind in type(english).__mro__[:-1] for name in vars(kind) if name[0] != "_"}
    texts = {name for name in own if isinstance(getattr(english, name), str | tuple | dict)}
    # Checked when the process starts: a forgotten text would be shown in English to somebody.
    if differing := texts ^ german.keys():
        raise LookupError(f"german.toml: [{table}] differs from English in {sorted(differing)}")
    translated = copy.copy(english)
    vars(translated).update({name: _with_tuples(text) for name, text in german.items()})
    return translated


def table_of(name: str) -> dict[str, Any]:
    """Return a table of the file unchanged."""
    found: dict[str, Any] = _load_tables()[name]
    return found


@cache
def _load_tables() -> dict[str, Any]:
    return tomllib.loads(
        resources.files("missioncontrol").joinpath("german.toml").read_text("utf-8")
    )


def _with_tuples(text: Any) -> Any:
    """Return lists as tuples, as they are in English."""
    if isinstance(text, dict):
        return {name: _with_tuples(one) for name, one in text.items()}
    return tuple(text) if isinstance(text, list) else text
