"""SQLite whose transactions, and single statements that write, take turns.

A writer without a turn would hold SQLite's lock while the writer whose turn it is sleeps
(20 to 400 ms before a tap, on a busy machine). A turn ends with the commit; what is
done after the commit keeps nobody waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from django.db.backends.sqlite3 import base

from missioncontrol.sqlite import write_lock

WRITES = ("INSERT", "UPDATE", "DELETE")


class DatabaseWrapper(base.DatabaseWrapper):
    """One connection, which keeps the turn of its transaction until that ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turn = ExitStack()
        self.execute_wrappers.append(self._in_turn)

    def is_awaited(self) -> bool:
        """Tell whether a person waits for the turn that this transaction has."""
        return not self.is_in_memory_db() and write_lock.is_awaited(str(self.settings_dict["NAME"]))

    def checkpoint(self) -> None:
        """Copy what was committed from the write-ahead log into the database.

        It keeps no writer waiting. A commit that has to do it holds the write lock while the disk
        works: that was a third of the time that the lock was held.
        """
        # SQLite refuses it within a transaction; what is left is copied the next time.
        if self.in_atomic_block:
            return
        with self.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _start_transaction_under_autocommit(self) -> None:
        # Before SQLite's own lock: a writer that held that
        # while it waits here would keep all others waiting.
        self._turn.enter_context(self._next_turn())
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # nor this
        except BaseException:
            self._turn.close()
            raise

    def _commit(self) -> None:
        # The turn ends after the commit: the next writer must find SQLite's own lock free.
        super()._commit()  # type: ignore[misc]  # the stubs lack it
        self._turn.close()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]  # the stubs lack it
        finally:
            self._turn.close()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # the stubs lack it
        finally:
            self._turn.close()

    def _in_turn(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        """Give a statement that writes outside of any transaction a turn of its own."""
        # Django's compiler writes these words first and in capitals; a transaction has a turn.
        if self.in_atomic_block or not sql.startswith(WRITES):
            return execute(sql, params, many, context)
        with self._next_turn():
            return execute(sql, params, many, context)

    def _next_turn(self) -> AbstractContextManager[None]:
        if self.is_in_memory_db():
            return nullcontext()
        return write_lock.in_turn(str(self.settings_dict["NAME"]))
