"""The `missioncontrol` command: `up`, and every Django command."""

from __future__ import annotations

import os
import sys

from missioncontrol import safe_path
from missioncontrol.errors import MissionControlError, SettingInvalid


def main() -> None:
    """Run one command.

    `up` is taken here, before Django reads its settings: it decides some of them.
    """
    safe_path.keep()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
    try:
        if sys.argv[1:2] == ["up"]:
            from missioncontrol.up.command import main as up

            sys.exit(up(sys.argv[2:]))
        _run_djangos()
    except SettingInvalid as error:
        sys.exit(f"mission control: {error}")


def _run_djangos() -> None:
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    try:
        execute_from_command_line(sys.argv)
    except DatabaseError:
        from missioncontrol.up import database

        try:
            database.check_installed()
        except MissionControlError as reason:
            sys.exit(f"mission control: {reason}")
        # An older backup was restored, and nothing has started since. What `migrate` fails at is
        # told by what it raises.
        if sys.argv[1:2] != ["migrate"] and database.is_behind():
            sys.exit(
                "mission control: The database is one of an older Mission Control:"
                " run `manage.py migrate` first."
            )
        # The database is there and answers: the fault is in what was asked.
        raise
