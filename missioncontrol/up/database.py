"""Bring the database to this code's shape, or say why not."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from missioncontrol import clock
from missioncontrol.up import backups
from missioncontrol.up.errors import (
    DatabaseNewer,
    DatabaseUnreachable,
    MigrationFailed,
    first_line,
)


def make_ready(say: Callable[[str], None]) -> None:
    """Migrate if there is anything to migrate; somebody's data is backed up before.

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
    # Older code could write rows that the newer one does not expect.
    if unknown := newest_unknown(executor.loader):
        raise DatabaseNewer(unknown)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        kept = backups.keep_before_migrating(at=clock.now(), most=settings.KEEP_BACKUPS)
        if kept is not None:
            say(f"backed up to {kept}")
        say("preparing the database")
        try:
            call_command("migrate", verbosity=0, interactive=False)
        except DatabaseError as error:
            raise MigrationFailed(first_line(str(error), type(error).__name__)) from error


def newest_unknown(loader: MigrationLoader) -> str | None:
    """Return the last applied migration of our apps that this code does not have."""
    applied = [key for key in loader.applied_migrations if key[0] in loader.migrated_apps]
    unknown = sorted(key for key in applied if key not in loader.disk_migrations)
    return ".".join(unknown[-1]) if unknown else None
