"""Many rows with one prepared statement, without Django's steps for each; or page by page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import AutoField, Model, QuerySet

from missioncontrol.columns import column_writer

M = TypeVar("M", bound=Model)
PAGE_SIZE = 200


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
