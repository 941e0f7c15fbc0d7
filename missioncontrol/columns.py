"""What goes to and comes from the database driver by column, without Django's steps for each value.

What Django does for a column depends on its field alone: it is looked up once, and if it is a
single call (a time, an id, dollars, JSON), that call is made. The values are the same; JSON is
written without spaces, and by a faster encoder.
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

# Columns whose Python values every database driver takes as they are.
PLAIN_TYPES = frozenset(
    {"CharField", "TextField", "IntegerField", "BigIntegerField", "FloatField", "BooleanField"}
)
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TEXT, _LIST = frozenset({str}), frozenset({list})


def column_reader(field: Any, vendor: str) -> Convert | None:
    """Return what converts the driver's value of a column to Python; None: ask Django."""
    target = _target_field(field)
    if isinstance(target, JSONField):
        return _read_json if target.decoder is None else None
    return _SQLITE_READERS.get(target.get_internal_type()) if vendor == "sqlite" else None


def column_writer(field: Any, database: Any) -> Convert | None:
    """Return what converts a column's value for the driver; None: it needs no conversion."""
    target = _target_field(field)
    kind = target.get_internal_type()
    if kind in PLAIN_TYPES:
        return None
    # A field with an encoder of its own is left to Django.
    if isinstance(target, JSONField) and target.encoder is None:
        return _write_json
    if database.vendor == "sqlite":
        if (known := _SQLITE_WRITERS.get(kind)) is not None:
            return known
        if kind == "DecimalField":
            return cast(Convert, target.to_python)
    # PostgreSQL's driver takes these as they are.
    elif kind in {"DateTimeField", "DecimalField", "UUIDField"}:
        return None
    return lambda value: field.get_db_prep_save(value, database)


def new_row(model: type[M], /, **values: Any) -> M:
    """Return a row that is not stored yet, as `model(**values)` does.

    `values` are given by column: foreign keys by their ids.
    """
    plain, made = _column_defaults(model)
    row = model.__new__(model)
    # Without `__init__`, which goes through every field: a batch makes hundreds of rows.
    row.__dict__.update(plain)
    row.__dict__.update((name, make()) for name, make in made if name not in values)
    row.__dict__.update(values, _state=ModelState())
    return row


@cache
def _column_defaults(model: type[Model]) -> tuple[dict[str, Any], tuple[tuple[str, Any], ...]]:
    """Return the defaults that can be shared, and those that are made for each row."""
    fields = model._meta.concrete_fields
    own = [field for field in fields if field.has_default()]
    made = tuple((field.attname, field.default) for field in own if callable(field.default))
    named = {name for name, _ in made}
    plain = {one.attname: one.get_default() for one in fields if one.attname not in named}
    return plain, made


def _target_field(field: Any) -> Any:
    return field.target_field if isinstance(field, ForeignKey) else field


def _read_json(text: Any) -> Any:
    if text is None:
        return None
    try:
        return from_json(text)
    except ValueError:  # a lone surrogate, which an older release let in
        return json.loads(text)


def _write_json(value: Any) -> str:
    try:
        text = to_json(value).decode()
    except ValueError:  # a lone surrogate, or a value that contains itself
        return json.dumps(value)
    # The fast encoder accepts bytes, dates and sets too. Django's own, the slow one, raises for
    # them: call it here, for the same error.
    return text if _is_json(value) else json.dumps(value)


def _is_json(value: Any) -> bool:
    """Tell whether both encoders surely write the same; anything else is left to the slow one."""
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
        # Checked as one list, for the points of a run's tape, which each verdict writes.
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
