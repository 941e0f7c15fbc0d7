"""Many rows with one prepared statement, without Django's steps for each; or page by page.

The driver gets the same values as from Django; JSON is written without spaces, and faster.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC
from functools import cache
from itertools import chain
from typing import Any, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import AutoField, JSONField, Model, QuerySet
from django.db.models.base import ModelState
from pydantic_core import to_json

from missioncontrol.compiled_queries import Convert, target_field

M = TypeVar("M", bound=Model)
PAGE_SIZE = 200
# Columns whose Python values every database driver takes as they are.
PLAIN_TYPES = frozenset(
    {"CharField", "TextField", "IntegerField", "BigIntegerField", "FloatField", "BooleanField"}
)
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TEXT, _LIST = frozenset({str}), frozenset({list})


def insert_rows(model: Any, rows: Iterable[Any], *, on_conflict: str = "") -> None:
    """Insert whole rows with one prepared statement; faster than `bulk_create`.

    The database sets an auto-increment key. `on_conflict`: what to do with a row whose unique key
    exists already, in SQL that both databases accept, such as "DO NOTHING".
    """
    _execute_for_each(_insert_statement, (model, on_conflict), rows)


def update_columns(
    model: Any, columns: tuple[str, ...], rows: Iterable[Any], *, unless_null: tuple[str, ...] = ()
) -> None:
    """Write the same columns of many rows with one prepared statement.

    Columns in `unless_null` keep their value where a row has None.
    """
    _execute_for_each(_update_statement, (model, columns, unless_null), rows)


def update_changed(model: Any, changes: Sequence[tuple[Any, Collection[str]]]) -> None:
    """Update locked rows with one statement, which sets every column that changed in any row."""
    changed = {name for _, names in changes for name in names}
    named = tuple(one.attname for one in model._meta.concrete_fields if one.attname in changed)
    update_columns(model, named, [row for row, names in changes if names])


def pages_of(found: QuerySet[M], *, size: int = PAGE_SIZE) -> Iterator[list[M]]:
    """Yield rows that are sorted by a unique column, page by page, with no cursor left open.

    Rows that are added meanwhile shift nothing: each page begins after the last row.
    """
    order = str(found.query.order_by[0])
    column, sign = order.lstrip("-"), "lt" if order.startswith("-") else "gt"
    # No cursor: SQLite's would keep a read transaction open until a client has downloaded all.
    page = list(found[:size])
    while page:
        yield page
        last = getattr(page[-1], column)
        page = list(found.filter(**{f"{column}__{sign}": last})[:size]) if page[size - 1 :] else []


def _execute_for_each(make_statement: Any, arguments: tuple[Any, ...], rows: Iterable[Any]) -> None:
    """Execute a prepared statement for each row, with its values as the driver takes them."""
    rows = list(rows)
    if not rows:
        return
    database: Any = connections[DEFAULT_DB_ALIAS]  # each use of `connection` looks it up
    statement, columns = make_statement(*arguments, database.vendor)
    # Plain columns need no conversion.
    values = [
        [
            value if write is None or value is None else write(value)
            for value, write in ((row.__dict__[name], write) for name, write in columns)
        ]
        for row in rows
    ]
    if database.vendor == "postgresql":
        # As texts, which every column accepts: otherwise each mixture of types and NULLs would be
        # a prepared statement of its own.
        texts = [[one if one is None else str(one) for one in row] for row in values]
        database.write(statement, texts)
        return
    with database.cursor() as cursor:
        cursor.executemany(statement, values)


@cache
def _insert_statement(model: Any, on_conflict: str, _vendor: str) -> tuple[str, Any]:
    fields = model._meta.concrete_fields
    columns = tuple(field for field in fields if not isinstance(field, AutoField))
    quote = connection.ops.quote_name
    names = ", ".join(quote(field.column) for field in columns)
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})"  # noqa: S608
    if on_conflict:
        # Checking first would not help against a row that is inserted meanwhile.
        statement += f" ON CONFLICT {on_conflict}"
    return statement, _column_writers(columns)


@cache
def _update_statement(
    model: Any, columns: tuple[str, ...], unless_null: tuple[str, ...], _vendor: str
) -> tuple[str, Any]:
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    chosen = [by_name[name] for name in (*columns, *unless_null)]
    quote = connection.ops.quote_name
    names = [quote(field.column) for field in chosen]
    values = ["%s"] * len(columns) + [f"COALESCE(%s, {name})" for name in names[len(columns) :]]
    assignments = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
    primary = model._meta.pk
    statement = (
        f"UPDATE {quote(model._meta.db_table)} SET {assignments} "  # noqa: S608 - column names
        f"WHERE {quote(primary.column)} = %s"
    )
    return statement, _column_writers([*chosen, primary])


def _column_writers(fields: Iterable[Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((field.attname, column_writer(field, connection)) for field in fields)


def column_writer(field: Any, database: Any) -> Convert | None:
    """Return what converts a column's value for the driver; None: it needs no conversion."""
    target = target_field(field)
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


_SQLITE_WRITERS: dict[str, Convert] = {
    "DateTimeField": lambda moment: str(moment.astimezone(UTC).replace(tzinfo=None)),
    "UUIDField": lambda one: one.hex,
}
