"""`manage.py export_project`: everything of one project as JSON Lines."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from missioncontrol.accounts.people import project_named
from missioncontrol.audit.project_file import export_lines
from missioncontrol.clock import now


class Command(BaseCommand):
    help = "Write everything of one project as JSON Lines; import_project reads it elsewhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="its id or name")
        parser.add_argument("file", type=Path, help="is made, for you alone to read")

    def handle(self, *_: Any, project: str, file: Path, **__: Any) -> None:
        chosen = project_named(project)
        try:
            file.touch(0o600, exist_ok=False)
            with file.open("wb") as out:
                out.writelines(export_lines(chosen.id, at=now()))
        except OSError as fault:
            raise CommandError(f"{file} cannot be written: {fault.strerror or fault}.") from None
        self.stdout.write(f"The project {chosen.name} was exported to {file}.")
