"""How stored rows become what is sent, and fields that come in are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Strict

T = TypeVar("T")


def row_of(kind: type[T], source: object, /, **more: Any) -> T:
    """Show a stored row as a wire row: what it has under the same names, and `more`.

    What the wire row does not name is not shown; another row is shown by its id.
    """
    columns = _columns(kind, type(source))
    same = {name: getattr(source, column) for name, column in columns.items() if name not in more}
    return kind(**same, **more)


def _find_columns(kind: Any, source: Any) -> Mapping[str, str]:
    """Name the attribute of a source for each field of a wire row."""
    names = [field.name for field in fields(kind)]
    # Only the id of a related row, because the row itself would be read from the database.
    return {name: f"{name}_id" if hasattr(source, f"{name}_id") else name for name in names}


# Cached per pair of classes, because whole boards are shown with it.
_columns: Callable[[Any, Any], Mapping[str, str]] = cache(_find_columns)


Whole = Annotated[int, Strict()]
"""A whole number; `true` is none, which Python takes for 1."""


Moment = Annotated[
    datetime, AfterValidator(lambda moment: moment if moment.tzinfo else moment.replace(tzinfo=UTC))
]
"""A time; without a zone it is UTC, as in a query."""
