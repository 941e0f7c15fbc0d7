"""Querysets whose SQL is compiled once: compiling a wide one costs more than running it.

Django compiles a queryset at each use: 0.5 to 1 ms for the columns of a run. The queries of
every turn are compiled at their first use for a given number of values; after that only
the values are filled in. They return whole rows, as the queryset does.

Rows go to and from the driver without Django's steps for each value. What Django does for a column
depends on its field alone: it is looked up once, and if it is a single call (a time, an id,
dollars, JSON), that call is made. The values are the same; JSON is written without spaces, and by
a faster encoder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cache
from itertools import chain
from typing import Any, Generic, TypeVar, cast
from uuid import UUID, uuid4

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import ForeignKey, JSONField, Model, QuerySet
from django.db.models.base import ModelState
from pydantic_core import from_json, to_json

M = TypeVar("M", bound=Model)

Lists = Sequence[Collection[UUID] | Collection[str]]
# The longest list whose statement is kept for SQLite; longer ones go through Django.
LONGEST = 1024
Convert = Callable[[Any], Any]

# Columns whose Python values every database driver takes as they are.
PLAIN_TYPES = frozenset(
    {"CharField", "TextField", "IntegerField", "BigIntegerField", "FloatField", "BooleanField"}
)
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TEXT, _LIST = frozenset({str}), frozenset({list})


@dataclass(frozen=True, slots=True)
class _Related:
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
    places: tuple[tuple[int, int, int], ...]
    """For each value: its index in `params`, its list, and its index in the list."""
    model: Any
    columns: tuple[str, ...]
    """The model's own columns, which come first."""
    related: tuple[_Related, ...]
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

    def rows(self, *lists: Collection[UUID] | Collection[str]) -> list[M]:
        """Return the rows; none if a list is empty."""
        if not all(lists):
            return []
        database: Any = connections[DEFAULT_DB_ALIAS]  # each use of `connection` looks it up
        if database.vendor == "postgresql":
            return read_together((self, lists))[0]
        # A statement with thousands of parameters would be kept for a list that comes once.
        if any(len(values) > LONGEST for values in lists):
            return list(self._build(*lists))
        # Repeat the last value up to a power of two: few statements serve all lengths.
        given: list[list[Any]] = []
        for values in lists:
            known = list(values)
            given.append(known + known[-1:] * ((1 << (len(known) - 1).bit_length()) - len(known)))
        statement = self.statement(*((type(values[0]), len(values)) for values in given))
        params = list(statement.params)
        for place, which, number in statement.places:
            params[place] = _parameter(given[which][number])
        with database.cursor() as cursor:
            cursor.execute(statement.sql, params)
            found = cursor.fetchall()
        return [_row(statement, list(values), database) for values in found]

    def bind(self, lists: Lists) -> tuple[_Statement, list[Any]]:
        """Return PostgreSQL's statement and its parameters: each list is one, however long."""
        given = [list(values) for values in lists]
        statement = self.statement(*((type(values[0]), 1) for values in given))
        params = list(statement.params)
        for place, which, _ in statement.places:
            params[place] = given[which]
        return statement, params

    def statement(self, *shape: tuple[type, int]) -> _Statement:
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
        places = {
            marker if has_arrays else _parameter(marker): (which, number)
            for which, values in enumerate(markers)
            for number, marker in enumerate(values)
        }
        if has_arrays and self._postgresql_from:
            table = connection.ops.quote_name(compiler.klass_info["model"]._meta.db_table)
            sql = sql[: sql.index(f" FROM {table} ")]
            params = (*params[: sql.count("%s")], *(values[0] for values in markers))
            sql = f"{sql} {self._postgresql_from}"
        elif has_arrays:
            sql = _with_arrays(sql, [place for place, one in enumerate(params) if one in places])
        selected = [column for column, _, _ in compiler.select]
        wanted = compiler.get_converters(selected)
        annotated = compiler.annotation_col_map
        readers = {
            place: read
            for place in wanted.keys() - set(annotated.values())
            if (read := reader(selected[place].target, connection.vendor)) is not None
        }
        return _Statement(
            sql=sql,
            params=tuple(params),
            places=tuple(
                (place, *places[param]) for place, param in enumerate(params) if param in places
            ),
            model=compiler.klass_info["model"],
            columns=_names(compiler.klass_info, selected),
            related=tuple(
                _Related(
                    one["model"],
                    _names(one, selected),
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


def read_together(*asked: tuple[CompiledQuery[Any], Lists]) -> list[list[Any]]:
    """Return the rows of several queries, one after the other; on PostgreSQL in one round trip.

    Each sees what was committed when it ran: after a query that waited for a lock, this includes
    what the lock's holder wrote.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.vendor != "postgresql":
        return [query.rows(*lists) for query, lists in asked]
    bound = [query.bind(lists) if all(lists) else None for query, lists in asked]
    answers = iter(database.read(*((one.sql, params) for one, params in filter(None, bound))))
    return [
        [_row(one[0], list(values), database) for values in next(answers)] if one else []
        for one in bound
    ]


def _row(statement: _Statement, read: list[Any], database: Any) -> Any:
    """Return an instance as `from_db` does, without its calls for each column."""
    for place, reads in statement.readers:
        read[place] = reads(read[place])
    for place, converters, column in statement.converters:
        for convert in converters:
            read[place] = convert(read[place], column, database)
    # Zipped with its own columns only: those of related rows come after them.
    made = _made(statement.model, statement.columns, read)
    for one in statement.related:
        own = read[one.first : one.first + len(one.columns)]
        one.attach(made, _made(one.model, one.columns, own))
    for name, place in statement.annotated:
        made.__dict__[name] = read[place]
    return made


def _made(model: Any, columns: Sequence[str], values: Sequence[Any]) -> Any:
    row = model.__new__(model)
    state = ModelState()
    # As Django marks a row that it read: `save` then updates and does not insert.
    state.db, state.adding = DEFAULT_DB_ALIAS, False
    row.__dict__.update(zip(columns, values, strict=False), _state=state)
    return row


def _names(info: dict[str, Any], selected: Sequence[Any]) -> tuple[str, ...]:
    return tuple(selected[place].target.attname for place in info["select_fields"])


def _parameter(value: Any) -> Any:
    """Return a value as SQLite's driver takes it, which accepts ids as texts only."""
    return value.hex if isinstance(value, UUID) else value


def _with_arrays(sql: str, places: Collection[int]) -> str:
    """Return SQL whose parameters at these places, each alone in an `IN`, are arrays."""
    parts = sql.split("%s")
    for place in places:
        parts[place] = parts[place].removesuffix("IN (") + "= ANY("
    return "%s".join(parts)


def reader(field: Any, vendor: str) -> Convert | None:
    """Return what converts the driver's value of a column to Python; None: ask Django."""
    target = _target(field)
    if isinstance(target, JSONField):
        return _read_json if target.decoder is None else None
    return _SQLITE_READERS.get(target.get_internal_type()) if vendor == "sqlite" else None


def writer(field: Any, database: Any) -> Convert | None:
    """Return what converts a column's value for the driver; None: it needs no conversion."""
    target = _target(field)
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
    plain, made = _defaults(model)
    row = model.__new__(model)
    # Without `__init__`, which goes through every field: a batch makes hundreds of rows.
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
