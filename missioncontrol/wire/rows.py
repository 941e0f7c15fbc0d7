"""Convert stored rows to wire rows, and types that read incoming fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Strict

T = TypeVar("T")


def row_of(kind: type[T], source: object, /, **more: Any) -> T:
    """Return a stored row as a wire row: its attributes of the same names, and `more`.

    Attributes that the wire row does not name are left out; a related row becomes its id.
    """
    columns = _columns(kind, type(source))
    same = {name: getattr(source, column) for name, column in columns.items() if name not in more}
    return kind(**same, **more)


def _find_columns(kind: Any, source: Any) -> Mapping[str, str]:
    """Return, for each field of a wire row, the name of the source's attribute."""
    names = [field.name for field in fields(kind)]
    # Only the id of a related row, because reading the row itself would take a query.
    return {name: f"{name}_id" if hasattr(source, f"{name}_id") else name for name in names}


# Cached per pair of classes, because whole boards are converted with it.
_columns: Callable[[Any, Any], Mapping[str, str]] = cache(_find_columns)


StrictInt = Annotated[int, Strict()]
"""A whole number; refuses `true`, which Python treats as 1."""


Moment = Annotated[
    datetime, AfterValidator(lambda moment: moment if moment.tzinfo else moment.replace(tzinfo=UTC))
]
"""A time; one without a zone is read as UTC, as in a query string."""
