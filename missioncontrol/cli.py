"""The `missioncontrol` command: `up`, and every Django command."""

from __future__ import annotations

import os
import sys

from missioncontrol.errors import SettingInvalid


def main() -> None:
    """Run one command.

    `up` is taken here, before Django reads its settings: it decides some of them.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
    try:
        if sys.argv[1:2] == ["up"]:
            from missioncontrol.up.command import main as up

            sys.exit(up(sys.argv[2:]))
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except SettingInvalid as error:
        sys.exit(f"mission control: {error}")
