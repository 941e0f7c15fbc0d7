"""`manage.py migrate`, which makes the tables of a new database from the models."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from missioncontrol.up import new_database


class Command(migrate.Command):
    """Django's own; it finds every migration applied where the tables were just made."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Make what is missing; with an app, a plan or a check asked for, as Django does."""
        asks_for_a_part = options["app_label"] or options["plan"] or options["check_unapplied"]
        connection = connections[options["database"]]
        if not asks_for_a_part and new_database.is_empty(connection):
            new_database.create_tables(connection)
        super().handle(*args, **options)
