"""Bring the database to this code's schema, or say why that is impossible.

The tables of an empty database are created at once, from the models as they are now.
Running the migrations creates the same tables in ten times the processor time, nearly all
of it Django's rendering of historical models; `tests/missioncontrol/test_new_database.py`
compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from missioncontrol import clock
from missioncontrol.history import index
from missioncontrol.runs.models import RunMeters
from missioncontrol.up import backups
from missioncontrol.up.errors import (
    DatabaseNewer,
    DatabaseUnreachable,
    MigrationFailed,
    NotInstalled,
    first_line,
)

# A lock number that no other program is likely to use in the same database.
MIGRATION_LOCK_ID = 0x6D69_6772_6174_6531


def ensure_migrated(report: Callable[[str], None]) -> None:
    """Migrate if there is anything to migrate; existing data is backed up before.

    Raises:
        DatabaseUnreachable: It does not answer, or is no database.
        DatabaseNewer: It was migrated by code newer than this.
        NotBackedUp: It could not be backed up before.
        MigrationFailed: A step of the migration failed.
    """
    try:
        connection.ensure_connection()
        executor = MigrationExecutor(connection)
    except DatabaseError as error:
        raise DatabaseUnreachable(first_line(str(error), type(error).__name__)) from None
    # Older code could write rows that the newer code does not expect.
    if unknown := newest_unknown_migration(executor.loader):
        raise DatabaseNewer(unknown)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        kept = backups.back_up_before_migrating(at=clock.now(), max_kept=settings.KEEP_BACKUPS)
        if kept is not None:
            report(f"backed up to {kept}")
        report("preparing the database")
        try:
            call_command("migrate", verbosity=0, interactive=False)
        except DatabaseError as error:
            raise MigrationFailed(first_line(str(error), type(error).__name__)) from error


def needs_migration() -> bool:
    """Say whether this code has an unapplied migration; False if the database does not answer."""
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError:
        return False
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def check_installed() -> None:
    """Refuse a database on which nothing was ever started.

    Raises:
        NotInstalled: It has no table, or does not exist.
        DatabaseUnreachable: It does not answer.
    """
    name = str(connection.settings_dict["NAME"])
    # Checked first, because connecting would create the file.
    if connection.vendor == "sqlite" and not Path(name).exists():
        raise NotInstalled(name)
    try:
        has_nothing = is_empty(connection)
    except DatabaseError as error:
        raise DatabaseUnreachable(first_line(str(error), type(error).__name__)) from None
    if has_nothing:
        raise NotInstalled(name)


def newest_unknown_migration(loader: MigrationLoader) -> str | None:
    """Return the last applied migration of our apps that this code does not have."""
    applied = [key for key in loader.applied_migrations if key[0] in loader.migrated_apps]
    unknown = sorted(key for key in applied if key not in loader.disk_migrations)
    return ".".join(unknown[-1]) if unknown else None


@contextmanager
def migration_lock(connection: Any) -> Iterator[None]:
    """Keep out others that migrate the same PostgreSQL database; a SQLite file has one server."""
    if connection.vendor != "postgresql":
        yield
        return
    # A connection of its own, with a transaction around everything: a session's lock would stay
    # behind where a pooler shares connections.
    lock_connection = connection.copy()
    try:
        lock_connection.set_autocommit(False)
        with lock_connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK_ID])
        yield
    finally:
        lock_connection.close()


def is_empty(connection: Any) -> bool:
    """Return whether it has no table at all."""
    with connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor)


def create_tables(connection: Any) -> None:
    """Create every table as if all migrations had been applied, in one transaction."""
    recorder = MigrationRecorder(connection)
    migrations = MigrationLoader(connection).disk_migrations
    # All or nothing: an interrupted start finds it empty, and creates everything again.
    with connection.schema_editor(atomic=True) as editor:
        models: list[type[Model]] = [*apps.get_models(), recorder.Migration]
        for model in models:
            if model._meta.can_migrate(connection):
                editor.create_model(model)
        # What the migrations state in SQL, because models cannot express it.
        index.run_statements(index.MAKE, editor)
        if connection.vendor == "postgresql":
            meters = connection.ops.quote_name(RunMeters._meta.db_table)
            editor.execute(f"ALTER TABLE {meters} SET (fillfactor = 50)")
        recorder.migration_qs.bulk_create(
            recorder.Migration(app=app, name=name) for app, name in migrations
        )
        # In here too: a start that finds all migrations applied does not migrate, so the content
        # types that Django adds after them would be missing for ever.
        emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias)
