"""Rows to and from a database driver, without Django's steps for each value.

What Django does for a column depends on its field alone: it is looked up once, and where
it comes to one call (a time, an id, dollars, JSON), that call is made. The values are the same;
JSON is written without blanks, and by a faster writer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from functools import cache
from itertools import chain
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db.models import ForeignKey, JSONField, Model
from django.db.models.base import ModelState
from pydantic_core import from_json, to_json

M = TypeVar("M", bound=Model)
Convert = Callable[[Any], Any]

# Columns whose Python value is what every database driver takes.
PLAIN_TYPES = frozenset(
    {"CharField", "TextField", "IntegerField", "BigIntegerField", "FloatField", "BooleanField"}
)
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TEXT, _LIST = frozenset({str}), frozenset({list})


def reader(field: Any, vendor: str) -> Convert | None:
    """Return what makes a Python value of what this column's driver gives; None: ask Django."""
    target = _target(field)
    if isinstance(target, JSONField):
        return _read_json if target.decoder is None else None
    return _SQLITE_READERS.get(target.get_internal_type()) if vendor == "sqlite" else None


def writer(field: Any, database: Any) -> Convert | None:
    """Return what makes a driver's value of this column's; None: it is one already."""
    target = _target(field)
    kind = target.get_internal_type()
    if kind in PLAIN_TYPES:
        return None
    # With an encoder of its own, Django knows how to write it.
    if isinstance(target, JSONField) and target.encoder is None:
        return _write_json
    if database.vendor == "sqlite":
        if (known := _SQLITE_WRITERS.get(kind)) is not None:
            return known
        if kind == "DecimalField":
            return cast(Convert, target.to_python)
    # PostgreSQL's driver takes both as they are.
    elif kind in {"DateTimeField", "UUIDField"}:
        return None
    return lambda value: field.get_db_prep_save(value, database)


def new_row(model: type[M], /, **values: Any) -> M:
    """Make a row that is not stored yet, as `model(**values)` does, of whole columns.

    Foreign keys are given by their ids.
    """
    plain, made = _defaults(model)
    row = model.__new__(model)
    # Past `__init__`, which goes through every field: a batch makes hundreds of rows.
    row.__dict__.update(plain)
    row.__dict__.update((name, make()) for name, make in made if name not in values)
    row.__dict__.update(values, _state=ModelState())
    return row


@cache
def _defaults(model: type[Model]) -> tuple[dict[str, Any], tuple[tuple[str, Any], ...]]:
    """Return the defaults that can be shared, and those that are made for each row."""
    fields = model._meta.concrete_fields
    own = [field for field in fields if field.has_default()]
    made = tuple((field.attname, field.default) for field in own if callable(field.default))
    named = {name for name, _ in made}
    plain = {one.attname: one.get_default() for one in fields if one.attname not in named}
    return plain, made


def _target(field: Any) -> Any:
    return field.target_field if isinstance(field, ForeignKey) else field


def _read_json(text: Any) -> Any:
    if text is None:
        return None
    try:
        return from_json(text)
    except ValueError:  # half of a character, which an older release let in
        return json.loads(text)


def _write_json(value: Any) -> str:
    try:
        text = to_json(value).decode()
    except ValueError:  # half of a character, or what holds itself
        return json.dumps(value)
    # The fast writer turns bytes, dates and sets into JSON too. On PostgreSQL, where Django writes
    # with the slow one, they raise: so they do here, in the same words.
    return text if _is_json(value) else json.dumps(value)


def _is_json(value: Any) -> bool:
    """Tell whether both writers surely write the same; of anything else the slow one tells."""
    kind = type(value)
    if kind is dict:
        if not _TEXT.issuperset(map(type, value)):
            return False
        value = value.values()
    elif kind is not list and kind is not tuple:
        return kind in _SCALARS
    if _SCALARS.issuperset(map(type, value)):
        return True
    if _LIST.issuperset(map(type, value)):
        # As one list: the points of a run's tape, which is written with each verdict.
        return _is_json(list(chain.from_iterable(value)))
    return all(map(_is_json, value))


_SQLITE_READERS: dict[str, Convert] = {
    "DateTimeField": lambda moment: None if moment is None else moment.replace(tzinfo=UTC),
    "UUIDField": lambda text: None if text is None else UUID(hex=text),
}
_SQLITE_WRITERS: dict[str, Convert] = {
    "DateTimeField": lambda moment: str(moment.astimezone(UTC).replace(tzinfo=None)),
    "UUIDField": lambda one: one.hex,
}
