"""The `missioncontrol` command: `up`, and every Django command."""

from __future__ import annotations

import os
import sys

from missioncontrol import safe_path
from missioncontrol.errors import MissionControlError, SettingInvalid


def main() -> None:
    """Run one command.

    `up` is handled here, before Django reads its settings, because it decides some of them.
    """
    safe_path.exclude_working_directory()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
    try:
        if sys.argv[1:2] == ["up"]:
            from missioncontrol.up.command import main as up

            sys.exit(up(sys.argv[2:]))
        _run_django_command()
    except SettingInvalid as error:
        sys.exit(f"mission control: {error}")


def _run_django_command() -> None:
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
        # An older backup was restored, and nothing was started since. If `migrate` itself fails,
        # its own error says why.
        if sys.argv[1:2] != ["migrate"] and database.needs_migration():
            sys.exit(
                "mission control: The database is one of an older Mission Control:"
                " run `manage.py migrate` first."
            )
        # The database exists and answers, so the command itself is at fault.
        raise


if __name__ == "__main__":
    main()
