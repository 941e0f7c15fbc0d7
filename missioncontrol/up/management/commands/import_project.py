"""`manage.py import_project`: import a project that was exported elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from missioncontrol.accounts import people
from missioncontrol.audit.project_file import import_project
from missioncontrol.clock import now
from missioncontrol.up.management import ErrorReportingCommand


class Command(ErrorReportingCommand):
    help = "Read an exported project; its audit log is verified before anything stays."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--owner", help="whose it becomes; the local owner's unless you say")
        parser.add_argument("--trust", default="", metavar="KEY", help="the exporter's public key")

    def handle(self, *_: Any, file: Path, owner: str | None, trust: str, **__: Any) -> None:
        try:
            done = import_project(file, owner=people.person_named(owner), trust=trust, at=now())
        except OSError as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(
            f"The project {done.project.name} was imported: {done.rows} rows, and its audit log"
            " holds. Make its agents' keys and channels anew."
        )
