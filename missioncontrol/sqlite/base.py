"""SQLite whose transactions, and single statements that write, wait for our own write lock.

A writer without it would hold SQLite's lock while the writer that is next sleeps (20 to 400 ms
before a tap, on a busy machine). It is released with the commit; what is done after the commit
keeps nobody waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from django.db.backends.sqlite3 import base

from missioncontrol.sqlite import write_lock

WRITES = ("INSERT", "UPDATE", "DELETE")


class DatabaseWrapper(base.DatabaseWrapper):
    """One connection, which holds the write lock until its transaction ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._write_lock = ExitStack()
        self.execute_wrappers.append(self._lock_single_write)

    def is_person_waiting(self) -> bool:
        """Tell whether a person waits for the write lock that this transaction holds."""
        name = str(self.settings_dict["NAME"])
        return not self.is_in_memory_db() and write_lock.is_person_waiting(name)

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
        self._write_lock.enter_context(self._wait_for_lock())
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # nor this
        except BaseException:
            self._write_lock.close()
            raise

    def _commit(self) -> None:
        # Released after the commit: the next writer must find SQLite's own lock free.
        super()._commit()  # type: ignore[misc]  # the stubs lack it
        self._write_lock.close()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]  # the stubs lack it
        finally:
            self._write_lock.close()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # the stubs lack it
        finally:
            self._write_lock.close()

    def _lock_single_write(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        """Take the write lock for a statement that writes outside of any transaction."""
        # Django's compiler writes these words first and in capitals; a transaction has the lock.
        if self.in_atomic_block or not sql.startswith(WRITES):
            return execute(sql, params, many, context)
        with self._wait_for_lock():
            return execute(sql, params, many, context)

    def _wait_for_lock(self) -> AbstractContextManager[None]:
        if self.is_in_memory_db():
            return nullcontext()
        return write_lock.exclusive(str(self.settings_dict["NAME"]))
