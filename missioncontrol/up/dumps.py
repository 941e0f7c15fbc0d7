"""Copy a whole database into one file while it is used, and put such a file in its place.

SQLite by its online backup, PostgreSQL by `pg_dump` and `pg_restore` of its own client
programs.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from datetime import datetime
from pathlib import Path

from django.apps import apps
from django.db import DatabaseError, connection

from missioncontrol.accounts.models import Project
from missioncontrol.up.errors import BackupFailed, RestoreRefused, first_line

# What the file is called, by the kind of database.
NAMES = {"sqlite": "database.sqlite3", "postgresql": "database.pgdump"}
# How long a restoration waits for somebody who uses the database.
LOCK_TIMEOUT = "5s"


def dump(to: Path) -> None:
    """Write a consistent copy of the database; who writes meanwhile goes on.

    Raises:
        BackupFailed: it cannot be read or written, or a program is missing.
    """
    if connection.vendor == "postgresql":
        _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={to}")
        return
    # By SQLite itself, page by page: a copy of the file would miss what stands in its log.
    connection.ensure_connection()
    copy = sqlite3.connect(to)
    try:
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # all of it in this one file
    except sqlite3.Error as fault:
        raise BackupFailed(f"The database could not be copied: {fault}.") from None
    finally:
        copy.close()


def load(path: Path, *, at: datetime) -> Path | None:
    """Put a dump in the database's place; return where a replaced SQLite file was moved.

    Nobody may be using the database.

    Raises:
        BackupFailed: a program is missing, or the dump cannot be read.
        RestoreRefused: somebody uses it.
    """
    if connection.vendor == "postgresql":
        _run("pg_restore", "--list", str(path))  # before anything is dropped for it
        _empty()
        # All or nothing, so that a dump that breaks off leaves an empty database and no half one.
        connection.close()
        _run(
            "pg_restore",
            "--no-owner",
            "--no-privileges",
            "--single-transaction",
            "--exit-on-error",
            f"--dbname={connection.settings_dict['NAME']}",
            str(path),
        )
        return None
    check_sqlite(path)
    connection.close()
    # What was there is kept beside: a restore of the wrong file can be undone.
    database = Path(str(connection.settings_dict["NAME"]))
    aside = database.with_name(f"{database.name}.before-restore-{at:%Y%m%dT%H%M%SZ}")
    is_replaced = database.exists()
    for suffix in ("", "-wal", "-shm"):  # a log of the old file would be played into the new one
        if (part := database.with_name(database.name + suffix)).exists():
            part.rename(aside.with_name(aside.name + suffix))
    shutil.move(path, database)
    database.chmod(0o600)
    return aside if is_replaced else None


def has_projects() -> bool:
    """Tell whether somebody's data is in the database; a broken one counts as such."""
    if connection.vendor == "sqlite" and not Path(str(connection.settings_dict["NAME"])).exists():
        return False
    try:
        is_migrated = Project._meta.db_table in connection.introspection.table_names()
        # A database that was never migrated has no table to ask.
        return is_migrated and Project.objects.exists()
    except DatabaseError:
        return True
    finally:
        connection.close()


def check_sqlite(path: Path) -> None:
    """Raise BackupFailed unless SQLite finds nothing wrong with a file."""
    try:
        copy = sqlite3.connect(path)
        try:
            # Unlike integrity_check it does not compare indexes with their tables, which takes
            # longest.
            (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            copy.close()
    except sqlite3.Error as fault:
        verdict = str(fault)
    if verdict != "ok":
        raise BackupFailed(f"The copy of the database is damaged: {verdict}.")


def _empty() -> None:
    """Drop our tables and functions, those of a newer version included: a dump makes its own."""
    # By prefix: the schema may hold tables of somebody else.
    labels = (*(f"{config.label}_" for config in apps.get_app_configs()), "django_")
    with connection.cursor() as cursor:
        # DROP would wait for ever for a process that still reads a table.
        cursor.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        found = connection.introspection.table_names(cursor)
        tables = [connection.ops.quote_name(name) for name in found if name.startswith(labels)]
        cursor.execute(
            "SELECT proname, oid::regprocedure::text FROM pg_proc"
            " WHERE pronamespace = current_schema()::regnamespace"
        )
        functions = [called for name, called in cursor.fetchall() if name.startswith(labels)]
        try:
            if tables:
                cursor.execute(f"DROP TABLE {', '.join(tables)} CASCADE")
            if functions:
                cursor.execute(f"DROP FUNCTION {', '.join(functions)} CASCADE")
        except DatabaseError as fault:
            raise RestoreRefused(
                f"The database is in use ({first_line(str(fault))}): end every process that uses "
                "it first."
            ) from None


def _run(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs on the database of the settings."""
    if shutil.which(program) is None:
        raise BackupFailed(
            f"{program} was not found on PATH: install PostgreSQL's client programs, as new as "
            "the server."
        )
    # What libpq reads: no password stands on a command line, where others see it.
    configured = connection.settings_dict
    names = ("HOST", "PORT", "USER", "PASSWORD", "NAME")
    variables = ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE")
    settings = zip(names, variables, strict=True)
    reached = {variable: str(configured[name]) for name, variable in settings if configured[name]}
    for name, value in configured["OPTIONS"].items():
        if name.startswith("ssl"):
            reached[f"PG{name.upper()}"] = str(value)
    done = subprocess.run(
        [program, *arguments],
        env={**os.environ, **reached},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupFailed(f"{program} failed: {first_line(done.stderr)}")
