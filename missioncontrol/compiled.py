"""Querysets whose SQL is made once: compiling a wide one costs more than running it.

Django compiles a queryset at each use: 0.5 to 1 ms for the columns of a run. What
every turn asks is compiled at its first use for so many values; after that only the
values are put in. Whole rows come of it, as of the queryset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID, uuid4

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Model, QuerySet
from django.db.models.base import ModelState

from missioncontrol.columns import reader

M = TypeVar("M", bound=Model)

Lists = Sequence[Collection[UUID] | Collection[str]]
# Values of a list up to which SQLite's statement is kept; longer ones are asked for as ever.
LONGEST = 1024


@dataclass(frozen=True, slots=True)
class _Related:
    """A row that is selected with each one, and how the one gets it."""

    model: Any
    columns: tuple[str, ...]
    first: int
    """Where its columns begin."""
    attach: Callable[[Any, Any], None]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A compiled queryset for so many values."""

    sql: str
    params: tuple[Any, ...]
    places: tuple[tuple[int, int, int], ...]
    """Which of `params` takes which value of which list."""
    model: Any
    columns: tuple[str, ...]
    """The model's own, which come first."""
    related: tuple[_Related, ...]
    annotated: tuple[tuple[str, int], ...]
    """What is annotated, and its column."""
    readers: tuple[tuple[int, Callable[[Any], Any]], ...]
    converters: tuple[tuple[int, Sequence[Callable[..., Any]], Any], ...]
    """By column, what makes Python values of the database's: ours, and Django's for the rest."""


class CompiledQuery(Generic[M]):
    """A queryset of rows of one model, annotated or not, as a function of lists of ids or texts.

    `build` gets lists of other values than those asked for, and may only hand them
    to `__in` lookups. Values given twice are harmless; their order says nothing. A row that
    `select_related` joins must be there. It is not told whose it is: two rows that keep each
    other alive would wait for the garbage collector.
    """

    def __init__(self, build: Callable[..., QuerySet[M]], *, postgresql_from: str = "") -> None:
        """`postgresql_from`: how PostgreSQL reads the same of the lists, from FROM on."""
        self._build = build
        self._postgresql_from = postgresql_from
        self._statements: dict[tuple[Any, ...], _Statement] = {}

    def rows(self, *lists: Collection[UUID] | Collection[str]) -> list[M]:
        """Read the rows; none where a list is empty."""
        if not all(lists):
            return []
        database: Any = connections[DEFAULT_DB_ALIAS]  # each look at `connection` asks for it
        if database.vendor == "postgresql":
            return read_together((self, lists))[0]
        # A statement of thousands of places would be kept for a list that comes once.
        if any(len(values) > LONGEST for values in lists):
            return list(self._build(*lists))
        # The last value repeated up to a power of two: few statements serve all lengths.
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
        """Return PostgreSQL's statement, and its parameters: a list is one, however long it is."""
        given = [list(values) for values in lists]
        statement = self.statement(*((type(values[0]), 1) for values in given))
        params = list(statement.params)
        for place, which, _ in statement.places:
            params[place] = given[which]
        return statement, params

    def statement(self, *shape: tuple[type, int]) -> _Statement:
        """Return the statement for lists of such values, so many of each; 1 also for an array."""
        # By type too: ids and texts become different parameters.
        # Threads may compile the same one at once: either result will do.
        if shape not in self._statements:
            self._statements[shape] = self._compile(shape)
        return self._statements[shape]

    def _compile(self, shape: tuple[tuple[type, int], ...]) -> _Statement:
        # Ids that nobody has: by them a value's place is known in the compiled statement.
        markers = [
            [(uuid4() if kind is UUID else uuid4().hex) for _ in range(length)]
            for kind, length in shape
        ]
        # Django's own compiler, once: what the statement says is never written by hand.
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
    """Read the rows of several queries, one after the other; of PostgreSQL in one round trip.

    Each sees what was committed when its turn came: after one that waited for a lock, that is what
    those wrote for whom it waited.
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
    """Make an instance as `from_db` does, without its calls by column."""
    for place, reads in statement.readers:
        read[place] = reads(read[place])
    for place, converters, column in statement.converters:
        for convert in converters:
            read[place] = convert(read[place], column, database)
    # Zipped with its own columns only: what is selected with it comes behind them.
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
    # As Django marks what it read: `save` then updates, and inserts nothing.
    state.db, state.adding = DEFAULT_DB_ALIAS, False
    row.__dict__.update(zip(columns, values, strict=False), _state=state)
    return row


def _names(info: dict[str, Any], selected: Sequence[Any]) -> tuple[str, ...]:
    return tuple(selected[place].target.attname for place in info["select_fields"])


def _parameter(value: Any) -> Any:
    """Return a value as SQLite's driver takes it, which knows ids as texts only."""
    return value.hex if isinstance(value, UUID) else value


def _with_arrays(sql: str, places: Collection[int]) -> str:
    """Have the parameters at these places be lists of values, each the only one of an `IN`."""
    parts = sql.split("%s")
    for place in places:
        parts[place] = parts[place].removesuffix("IN (") + "= ANY("
    return "%s".join(parts)
