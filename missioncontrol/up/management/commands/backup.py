"""`manage.py backup FILE`: the whole installation in one file."""

from __future__ import annotations

import argparse
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from missioncontrol.clock import now
from missioncontrol.up import backups
from missioncontrol.up.errors import BackupError


class Command(BaseCommand):
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
        try:
            backups.make(file, at=now(), with_secrets=not without_secrets)
        except BackupError as fault:
            raise CommandError(str(fault)) from None
        secrets = "without the secrets" if without_secrets else "with the secrets: keep it safe"
        self.stdout.write(f"Backed up to {file}, {secrets}.")
