"""Prepared statements that are sent together, and waited for once (libpq's pipeline mode).

psycopg has this mode too, but sends each statement by itself and waits for the socket before: of
eight short ones that is four fifths of our time, and a third of PostgreSQL's, which wakes for each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any

from psycopg import Connection, abc, errors, generators
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

# A statement, and the parameters of each time it is executed.
Statement = tuple[str, Sequence[Sequence[Any]]]
Rows = list[tuple[Any, ...]]
Parameters = Sequence[abc.Buffer | None]

# So many statements a connection keeps prepared; then it begins anew.
MOST_PREPARED = 300


class Pipeline:
    """What one connection of psycopg's has prepared; it is not held: it may be let go of."""

    def __init__(self, *, prepares: bool) -> None:
        self._prepares = prepares
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        # No name is used twice: whether PostgreSQL has prepared one that failed is not asked.
        self._numbers = count()
        self._prepared = 0

    def execute(self, connection: Connection[Any], statements: Sequence[Statement]) -> list[Rows]:
        """Execute the statements in their order, and return the rows of those that have some.

        Raises:
            psycopg.Error: one failed; those after it were not executed.
        """
        pgconn = connection.pgconn
        if self._prepared > MOST_PREPARED:
            self._names.clear()
            self._prepared = 0
            statements = [("DEALLOCATE ALL", [()]), *statements]
        # Before anything is sent: a value that PostgreSQL has no form for leaves all as it is.
        values = Transformer(connection)
        bound = [_bound(sql, row, values) for sql, rows in statements for row in rows]
        pgconn.enter_pipeline_mode()
        try:
            sent = [self._send(pgconn, *one) for one in bound]
            pgconn.pipeline_sync()
            results = connection.wait(_fetch(pgconn, sum(sent)))
            pgconn.exit_pipeline_mode()
        except BaseException:
            # What still comes would be taken for the answer to what is sent next.
            connection.close()
            raise
        for result in results:
            if result.status == ExecStatus.FATAL_ERROR:
                # What was to be prepared after it was not, and what fails may be a plan that a
                # change of tables left behind.
                self._names.clear()
                raise errors.error_from_result(result)
        return [_rows(one, connection) for one in results if one.status == ExecStatus.TUPLES_OK]

    def _send(
        self,
        pgconn: Any,
        sql: str,
        parameters: Parameters,
        types: tuple[int, ...],
        formats: Sequence[Any] | None,
    ) -> int:
        """Send one statement, which waits for nothing; return how many results it has."""
        if not (parameters and self._prepares):
            pgconn.send_query_params(_numbered(sql), parameters, types, formats)
            return 1
        if is_new := (sql, types) not in self._names:
            self._names[sql, types] = b"mc_%d" % next(self._numbers)
            self._prepared += 1
            pgconn.send_prepare(self._names[sql, types], _numbered(sql), param_types=types)
        pgconn.send_query_prepared(self._names[sql, types], parameters, param_formats=formats)
        return 1 + is_new


def _bound(
    sql: str, row: Sequence[Any], values: abc.Transformer
) -> tuple[str, Parameters, tuple[int, ...], Sequence[Any] | None]:
    """Return a statement with its parameters as they are sent, their types and formats."""
    parameters = values.dump_sequence(row, [PyFormat.AUTO] * len(row))
    return sql, parameters, tuple(values.types or ()), values.formats


def _rows(result: PGresult, connection: Connection[Any]) -> Rows:
    loading = Transformer(connection)
    loading.set_pgresult(result)
    return loading.load_rows(0, result.ntuples, tuple)


@cache
def _numbered(sql: str) -> bytes:
    """Write a statement's parameters as PostgreSQL names them."""
    numbers = count(1)
    # In one go: what `%%s` says is `%s`, and no parameter.
    written = re.sub("%[s%]", lambda mark: "%" if mark[0] == "%%" else f"${next(numbers)}", sql)
    return written.encode()


def _fetch(pgconn: Any, number: int) -> abc.PQGen[list[PGresult]]:
    """Send what is left, and fetch so many results, and that of the end."""
    yield from generators.send(pgconn)
    found: list[PGresult] = []
    for _ in range(number + 1):
        found += yield from generators.fetch_many(pgconn)
    return found
