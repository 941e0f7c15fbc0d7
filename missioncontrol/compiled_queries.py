"""Querysets whose SQL is compiled once: compiling a wide one costs more than running it.

Django compiles a queryset at each use: 0.5 to 1 ms for the columns of a run. The queries of
every turn are compiled at their first use for a given number of values; after that only
the values are filled in. They return whole rows, as the queryset does, whose values are converted
without Django's steps for each: what a column needs depends on its field alone, and if it is a
single call (a time, an id, JSON), that call is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Generic, TypeVar
from uuid import UUID, uuid4

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import ForeignKey, JSONField, Model, QuerySet
from django.db.models.base import ModelState
from pydantic_core import from_json

M = TypeVar("M", bound=Model)
Convert = Callable[[Any], Any]

ValueLists = Sequence[Collection[UUID] | Collection[str]]
# The longest list whose statement is kept for SQLite; longer ones go through Django.
MAX_LIST_LENGTH = 1024


@dataclass(frozen=True, slots=True)
class _RelatedRow:
    """A related row that is selected with each row, and how it is attached to it."""

    model: Any
    columns: tuple[str, ...]
    first: int
    """The position of its first column."""
    attach: Callable[[Any, Any], None]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A compiled queryset for lists of given types and lengths."""

    sql: str
    params: tuple[Any, ...]
    placeholders: tuple[tuple[int, int, int], ...]
    """For each value: its index in `params`, its list, and its index in the list."""
    model: Any
    columns: tuple[str, ...]
    """The model's own columns, which come first."""
    related: tuple[_RelatedRow, ...]
    annotated: tuple[tuple[str, int], ...]
    """The name of each annotation, and the position of its column."""
    readers: tuple[tuple[int, Callable[[Any], Any]], ...]
    converters: tuple[tuple[int, Sequence[Callable[..., Any]], Any], ...]
    """What converts a column's values to Python: our readers, and Django's for the rest."""


class CompiledQuery(Generic[M]):
    """A queryset of rows of one model, annotated or not, as a function of lists of ids or texts.

    `build` gets lists of placeholder values, and may only pass them to `__in` lookups.
    Duplicate values are harmless; their order has no meaning. A row that `select_related`
    joins must exist. It has no reference back: two rows that keep each other alive would wait
    for the garbage collector.
    """

    def __init__(self, build: Callable[..., QuerySet[M]], *, postgresql_from: str = "") -> None:
        """`postgresql_from`: PostgreSQL's form of the same query, from FROM on."""
        self._build = build
        self._postgresql_from = postgresql_from
        self._statements: dict[tuple[Any, ...], _Statement] = {}

    def fetch(self, *lists: Collection[UUID] | Collection[str]) -> list[M]:
        """Return the rows; none if a list is empty."""
        if not all(lists):
            return []
        database: Any = connections[DEFAULT_DB_ALIAS]  # each use of `connection` looks it up
        if database.vendor == "postgresql":
            return read_together((self, lists))[0]
        # A statement with thousands of parameters would be kept for a list that comes once.
        if any(len(values) > MAX_LIST_LENGTH for values in lists):
            return list(self._build(*lists))
        # Repeat the last value up to a power of two: few statements serve all lengths.
        given: list[list[Any]] = []
        for values in lists:
            known = list(values)
            given.append(known + known[-1:] * ((1 << (len(known) - 1).bit_length()) - len(known)))
        statement = self.statement_for(*((type(values[0]), len(values)) for values in given))
        params = list(statement.params)
        for place, which, number in statement.placeholders:
            params[place] = _sqlite_parameter(given[which][number])
        with database.cursor() as cursor:
            cursor.execute(statement.sql, params)
            found = cursor.fetchall()
        return [_read_row(statement, list(values), database) for values in found]

    def bind(self, lists: ValueLists) -> tuple[_Statement, list[Any]]:
        """Return PostgreSQL's statement and its parameters: each list is one, however long."""
        given = [list(values) for values in lists]
        statement = self.statement_for(*((type(values[0]), 1) for values in given))
        params = list(statement.params)
        for place, which, _ in statement.placeholders:
            params[place] = given[which]
        return statement, params

    def statement_for(self, *shape: tuple[type, int]) -> _Statement:
        """Return the statement for lists of these types and lengths; 1 stands for an array too."""
        # By type too: ids and texts become different parameters.
        # Threads may compile the same one at once: either result will do.
        if shape not in self._statements:
            self._statements[shape] = self._compile(shape)
        return self._statements[shape]

    def _compile(self, shape: tuple[tuple[type, int], ...]) -> _Statement:
        # Unused ids, by which the compiled statement shows where each value belongs.
        markers = [
            [(uuid4() if kind is UUID else uuid4().hex) for _ in range(length)]
            for kind, length in shape
        ]
        # Django's own compiler, once: the statement is not written by hand.
        compiler = self._build(*markers).query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        has_arrays = connection.vendor == "postgresql"
        placeholders = {
            marker if has_arrays else _sqlite_parameter(marker): (which, number)
            for which, values in enumerate(markers)
            for number, marker in enumerate(values)
        }
        if has_arrays and self._postgresql_from:
            table = connection.ops.quote_name(compiler.klass_info["model"]._meta.db_table)
            sql = sql[: sql.index(f" FROM {table} ")]
            params = (*params[: sql.count("%s")], *(values[0] for values in markers))
            sql = f"{sql} {self._postgresql_from}"
        elif has_arrays:
            sql = _with_arrays(
                sql, [place for place, one in enumerate(params) if one in placeholders]
            )
        selected = [column for column, _, _ in compiler.select]
        wanted = compiler.get_converters(selected)
        annotated = compiler.annotation_col_map
        readers = {
            place: read
            for place in wanted.keys() - set(annotated.values())
            if (read := column_reader(selected[place].target, connection.vendor)) is not None
        }
        return _Statement(
            sql=sql,
            params=tuple(params),
            placeholders=tuple(
                (place, *placeholders[param])
                for place, param in enumerate(params)
                if param in placeholders
            ),
            model=compiler.klass_info["model"],
            columns=_column_names(compiler.klass_info, selected),
            related=tuple(
                _RelatedRow(
                    one["model"],
                    _column_names(one, selected),
                    first=one["select_fields"][0],
                    attach=one["local_setter"],
                )
                for one in compiler.klass_info.get("related_klass_infos", ())
            ),
            annotated=tuple(annotated.items()),
            readers=tuple(readers.items()),
            converters=tuple(
                (place, *how) for place, how in wanted.items() if place not in readers
            ),
        )


def read_together(*queries: tuple[CompiledQuery[Any], ValueLists]) -> list[list[Any]]:
    """Return the rows of several queries, one after the other; on PostgreSQL in one round trip.

    Each sees what was committed when it ran: after a query that waited for a lock, this includes
    what the lock's holder wrote.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.vendor != "postgresql":
        return [query.fetch(*lists) for query, lists in queries]
    bound = [query.bind(lists) if all(lists) else None for query, lists in queries]
    answers = iter(database.read(*((one.sql, params) for one, params in filter(None, bound))))
    return [
        [_read_row(one[0], list(values), database) for values in next(answers)] if one else []
        for one in bound
    ]


def _read_row(statement: _Statement, read: list[Any], database: Any) -> Any:
    """Return an instance as `from_db` does, without its calls for each column."""
    for place, reads in statement.readers:
        read[place] = reads(read[place])
    for place, converters, column in statement.converters:
        for convert in converters:
            read[place] = convert(read[place], column, database)
    # Zipped with its own columns only: those of related rows come after them.
    row = _build_row(statement.model, statement.columns, read)
    for one in statement.related:
        own = read[one.first : one.first + len(one.columns)]
        one.attach(row, _build_row(one.model, one.columns, own))
    for name, place in statement.annotated:
        row.__dict__[name] = read[place]
    return row


def _build_row(model: Any, columns: Sequence[str], values: Sequence[Any]) -> Any:
    row = model.__new__(model)
    state = ModelState()
    # As Django marks a row that it read: `save` then updates and does not insert.
    state.db, state.adding = DEFAULT_DB_ALIAS, False
    row.__dict__.update(zip(columns, values, strict=False), _state=state)
    return row


def _column_names(info: dict[str, Any], selected: Sequence[Any]) -> tuple[str, ...]:
    return tuple(selected[place].target.attname for place in info["select_fields"])


def _sqlite_parameter(value: Any) -> Any:
    """Return a value as SQLite's driver takes it, which accepts ids as texts only."""
    return value.hex if isinstance(value, UUID) else value


def _with_arrays(sql: str, places: Collection[int]) -> str:
    """Return SQL whose parameters at these places, each alone in an `IN`, are arrays."""
    parts = sql.split("%s")
    for place in places:
        parts[place] = parts[place].removesuffix("IN (") + "= ANY("
    return "%s".join(parts)


def column_reader(field: Any, vendor: str) -> Convert | None:
    """Return what converts the driver's value of a column to Python; None: ask Django."""
    target = target_field(field)
    if isinstance(target, JSONField):
        return _read_json if target.decoder is None else None
    return _SQLITE_READERS.get(target.get_internal_type()) if vendor == "sqlite" else None


def target_field(field: Any) -> Any:
    """Return the field whose form a column has: for a foreign key that of its target."""
    return field.target_field if isinstance(field, ForeignKey) else field


def _read_json(text: Any) -> Any:
    if text is None:
        return None
    try:
        return from_json(text)
    except ValueError:  # a lone surrogate, which an older release let in
        return json.loads(text)


_SQLITE_READERS: dict[str, Convert] = {
    "DateTimeField": lambda moment: None if moment is None else moment.replace(tzinfo=UTC),
    "UUIDField": lambda text: None if text is None else UUID(hex=text),
}
