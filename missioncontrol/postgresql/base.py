"""PostgreSQL with several statements in one round trip.

A verdict is a dozen short statements. Sent one by one, each waits for the answer to the one
before, and two processes take turns for it: that takes longer than the statements do. So BEGIN
is sent with the first statement, writes that return nothing wait for the next statement and are
sent with it, the last of them with COMMIT, and what is read together is sent together (libpq's
pipeline mode). PostgreSQL executes them in this order, one after the other; a write that fails
raises where it is sent: at the latest at the end of its transaction or savepoint.
"""

from __future__ import annotations

import re
import select
from collections.abc import Sequence
from functools import cache, cached_property, partial
from itertools import count
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import InternalError
from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper, debug_transaction
from django.db.utils import DatabaseErrorWrapper
from psycopg import Connection, abc, errors, generators
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

# A statement, and its parameters for each execution.
Statement = tuple[str, Sequence[Sequence[Any]]]
Rows = list[tuple[Any, ...]]
Parameters = Sequence[abc.Buffer | None]

# The most statements that a connection keeps prepared; then it drops them all.
MAX_PREPARED = 300


class Pipeline:
    """What one psycopg connection has prepared; no reference keeps the connection alive."""

    def __init__(self, *, prepares: bool) -> None:
        self._prepares = prepares
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        # No name is used twice: after a failure it is unknown whether PostgreSQL prepared it.
        self._numbers = count()
        self._prepared = 0

    def execute(self, connection: Connection[Any], statements: Sequence[Statement]) -> list[Rows]:
        """Execute the statements in order, and return the rows of those that return rows.

        Raises:
            psycopg.Error: one failed; those after it were not executed.
        """
        pgconn = connection.pgconn
        if self._prepared > MAX_PREPARED:
            self._names.clear()
            self._prepared = 0
            statements = [("DEALLOCATE ALL", [()]), *statements]
        # Before anything is sent: a value that cannot be converted then has no effect.
        values = Transformer(connection)
        bound = [_bind_row(sql, row, values) for sql, rows in statements for row in rows]
        pgconn.enter_pipeline_mode()
        try:
            sent = [self._send(pgconn, *one) for one in bound]
            pgconn.pipeline_sync()
            results = connection.wait(_fetch_results(pgconn, sum(sent)))
            pgconn.exit_pipeline_mode()
        except BaseException:
            # Results that are still to come would be taken for those of the next statements.
            connection.close()
            raise
        found: list[Rows] = []
        for result in results:
            if result.status == ExecStatus.FATAL_ERROR:
                # The statements after it were not prepared, and the one that failed may be a plan
                # from before a table changed.
                self._names.clear()
                raise errors.error_from_result(result)
            if result.status == ExecStatus.TUPLES_OK:
                loading = Transformer(connection)
                loading.set_pgresult(result)
                found.append(loading.load_rows(0, result.ntuples, tuple))
        return found

    def _send(
        self,
        pgconn: Any,
        sql: str,
        parameters: Parameters,
        types: tuple[int, ...],
        formats: Sequence[Any] | None,
    ) -> int:
        """Send one statement without waiting; return how many results it will have."""
        if not (parameters and self._prepares):
            pgconn.send_query_params(_number_parameters(sql), parameters, types, formats)
            return 1
        if is_new := (sql, types) not in self._names:
            self._names[sql, types] = b"mc_%d" % next(self._numbers)
            self._prepared += 1
            pgconn.send_prepare(self._names[sql, types], _number_parameters(sql), param_types=types)
        pgconn.send_query_prepared(self._names[sql, types], parameters, param_formats=formats)
        return 1 + is_new


def _bind_row(
    sql: str, row: Sequence[Any], values: abc.Transformer
) -> tuple[str, Parameters, tuple[int, ...], Sequence[Any] | None]:
    """Return a statement with its parameters as they are sent, their types and formats."""
    parameters = values.dump_sequence(row, [PyFormat.AUTO] * len(row))
    return sql, parameters, tuple(values.types or ()), values.formats


@cache
def _number_parameters(sql: str) -> bytes:
    """Return a statement with its parameters numbered as in PostgreSQL (`$1`)."""
    numbers = count(1)
    # In one pass: `%%s` means a literal `%s`, not a parameter.
    written = re.sub("%[s%]", lambda mark: "%" if mark[0] == "%%" else f"${next(numbers)}", sql)
    return written.encode()


def _fetch_results(pgconn: Any, number: int) -> abc.PQGen[list[PGresult]]:
    """Send what is left, and fetch `number` results and that of the pipeline's end."""
    yield from generators.send(pgconn)
    found: list[PGresult] = []
    for _ in range(number + 1):
        found += yield from generators.fetch_many(pgconn)
    return found


# A statement, and its parameters.
Query = tuple[str, Sequence[Any]]
# Each lives as long as its connection, which a pool lends to one thread after the other.
_pipelines: WeakKeyDictionary[Any, Pipeline] = WeakKeyDictionary()


class DatabaseWrapper(base.DatabaseWrapper):
    """One connection, and what waits to be sent through it."""

    health_check_done: bool

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        """Return what converts the driver's errors to Django's."""
        return ErrorWrapper(self)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._clear_pending()

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once for each row: before the next statement, or with the commit."""
        self.validate_no_broken_transaction()  # as Django does before each statement
        self._pending_writes.append(self._through_wrappers(sql, rows, many=True))
        if not self.in_atomic_block:
            self._connect()
            self._send()

    def read(self, *queries: Query) -> list[Rows]:
        """Return the rows of each statement, which sees what was committed when it ran."""
        self._connect()
        return self._send(*(self._through_wrappers(*one, many=False) for one in queries))

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a Django cursor, after what waits was sent."""
        self.flush()
        if name is None:
            return super().create_cursor()
        # Django would ask psycopg whether a transaction is open, which does not know of ours.
        withhold = not self.in_atomic_block
        return base.ServerSideCursor(  # type: ignore[call-arg]  # the stubs lack psycopg's
            self.connection, name=name, scrollable=False, withhold=withhold
        )

    def make_cursor(self, cursor: Any) -> CursorWrapper:
        """Return a Django cursor that keeps the order of writes."""
        return Cursor(cursor, self)

    def make_debug_cursor(self, cursor: Any) -> Any:
        """Return a cursor that logs its queries, too."""
        return DebugCursor(cursor, self)

    def flush(self) -> None:
        """Send what waits for the next statement."""
        self._send()

    def close_if_health_check_failed(self) -> None:
        """Close a connection that PostgreSQL has ended; one that received nothing is alive."""
        # Django asks `SELECT 1`: a round trip for each verdict. When idle, only an end is received.
        if (
            self.connection
            and not self.health_check_done
            and not has_incoming_data(self.connection)
        ):
            self.health_check_done = True
        super().close_if_health_check_failed()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect, or take a connection of the pool that PostgreSQL has not ended."""
        connection = super().get_new_connection(conn_params)
        while self.pool and has_incoming_data(connection):
            try:
                self.pool.check_connection(connection)
            except psycopg.OperationalError:
                self.pool.putconn(connection)  # the pool makes a new one instead
                connection = self.pool.getconn()
            else:
                break
        return connection

    # If a backend has this, Django calls it instead of switching off the driver's autocommit,
    # after which the driver would begin each transaction by a round trip.
    def _start_transaction_under_autocommit(self) -> None:
        self._is_beginning = True

    def _set_autocommit(self, autocommit: bool) -> None:
        # Django sets it after each transaction, though it was never changed.
        if self.connection.autocommit != autocommit:
            super()._set_autocommit(autocommit)  # type: ignore[misc]  # the stubs lack it

    def _savepoint_rollback(self, sid: str) -> None:
        # All that waits came after the savepoint. If it were sent only to be rolled back, a write
        # that fails would abort the whole transaction.
        self._pending_writes.clear()
        super()._savepoint_rollback(sid)  # type: ignore[misc]  # the stubs lack it

    def _commit(self) -> None:
        if self._is_in(TransactionStatus.INERROR):
            # PostgreSQL would turn a COMMIT into a ROLLBACK then, without an error.
            raise InternalError("A statement failed: nothing of its transaction can be committed.")
        if self._pending_writes:
            self._send(commits=True)
        else:
            super()._commit()  # type: ignore[misc]  # the stubs lack it
        self._clear_pending()

    def _rollback(self) -> None:
        self._clear_pending()
        super()._rollback()  # type: ignore[misc]  # the stubs lack it

    def _close(self) -> None:
        self._clear_pending()
        super()._close()  # type: ignore[misc]  # the stubs lack it

    def _clear_pending(self) -> None:
        self._is_beginning = False
        self._pending_writes: list[Statement] = []

    def _through_wrappers(self, sql: str, params: Any, *, many: bool) -> tuple[str, Any]:
        """Return a statement as Django's wrappers of each one (`execute_wrapper`) pass it on."""

        def pass_through(sql: str, params: Any, *_: Any) -> tuple[str, Any]:
            return sql, params

        execute: Any = pass_through
        for wrapper in reversed(self.execute_wrappers):
            execute = partial(wrapper, execute)
        passed: tuple[str, Any] = execute(sql, params, many, {"connection": self})
        return passed

    def _connect(self) -> None:
        self.close_if_health_check_failed()
        self.ensure_connection()

    def _send(self, *queries: Query, commits: bool = False) -> list[Rows]:
        """Send what waits, then `queries`; return the rows of `queries`."""
        statements = [*self._pending_writes, *((sql, [params]) for sql, params in queries)]
        if self._is_beginning or (
            # When psycopg would begin a transaction: without autocommit, and not in one.
            statements and not self.connection.autocommit and self._is_in(TransactionStatus.IDLE)
        ):
            statements.insert(0, ("BEGIN", [()]))
        if commits:
            statements.append(("COMMIT", [()]))
        self._clear_pending()
        if not statements:
            return []
        self.validate_thread_sharing()
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            if self.connection not in _pipelines:
                prepares = self.settings_dict["OPTIONS"].get("prepare_threshold", 0) is not None
                _pipelines[self.connection] = Pipeline(prepares=prepares)
            found = _pipelines[self.connection].execute(self.connection, statements)
        for sql, _ in statements if self.queries_logged else ():
            with debug_transaction(self, sql):
                pass
        return found

    def _is_in(self, status: TransactionStatus) -> bool:
        return bool(self.connection and self.connection.info.transaction_status == status)


class ErrorWrapper(DatabaseErrorWrapper):
    """Closes a read-only connection: after a failover it still leads to the former server.

    It passes every health check, so it would be kept, or lent again by its pool.
    """

    wrapper: DatabaseWrapper

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            self.wrapper.connection.close()
        super().__exit__(kind, error, traceback)


class Cursor(CursorWrapper):
    """A cursor that first sends what was written, or begun, since it was made."""

    db: DatabaseWrapper

    def _execute(self, sql: Any, params: Any, *context: Any) -> Any:
        self.db.flush()
        return super()._execute(sql, params, *context)  # type: ignore[misc]  # the stubs lack it

    def _executemany(self, sql: Any, rows: Any, *context: Any) -> Any:
        self.db.flush()
        return super()._executemany(sql, rows, *context)  # type: ignore[misc]


class DebugCursor(Cursor, base.CursorDebugWrapper):
    """The same cursor, for when queries are logged."""


def has_incoming_data(connection: Any) -> bool:
    """Tell whether PostgreSQL has sent an idle connection anything, usually that it has ended."""
    if connection.closed:
        return True
    poll = select.poll()  # `select` accepts no descriptor above 1,023
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
