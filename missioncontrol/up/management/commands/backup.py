"""`manage.py backup FILE`: the whole installation in one file."""

from __future__ import annotations

import argparse
from pathlib import Path

from missioncontrol.clock import now
from missioncontrol.up import backups, database
from missioncontrol.up.management import ErrorReportingCommand


class Command(ErrorReportingCommand):
    help = "Write database, audit heads and secrets into one file; it may be running meanwhile."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--without-secrets",
            action="store_true",
            help="leave out the keys: restored, another signs the audit log, and channels and"
            " browsers have to be entered again",
        )

    def handle(self, *_: object, file: Path, without_secrets: bool, **__: object) -> None:
        is_new_folder = not file.parent.exists()
        database.check_installed()
        backups.write_backup(file, at=now(), with_secrets=not without_secrets)
        secrets = "without the secrets" if without_secrets else "with the secrets: keep it safe"
        # Reported, because a disk that is not mounted looks like a missing folder.
        made = f" The folder {file.parent} was not there and was made." if is_new_folder else ""
        self.stdout.write(f"Backed up to {file}, {secrets}.{made}")
