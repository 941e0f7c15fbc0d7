"""`manage.py migrate`, which creates the tables of a new database from the models."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from missioncontrol.up import database


class Command(migrate.Command):
    """Django's command, which finds every migration applied if the tables were just created."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Create what is missing; given an app, `--plan`, `--check` or `--fake`, do as Django."""
        is_djangos = any(options[name] for name in ("app_label", "plan", "check_unapplied", "fake"))
        connection = connections[options["database"]]
        with database.migration_lock(connection):
            if not is_djangos and database.is_empty(connection):
                database.create_tables(connection)
                if options["verbosity"]:
                    self.stdout.write("Made the tables of a new database, all migrations included.")
            super().handle(*args, **options)
