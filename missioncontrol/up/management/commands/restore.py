"""`manage.py restore FILE`: replace this installation's data with a backup."""

from __future__ import annotations

import argparse
from pathlib import Path

from missioncontrol.clock import now
from missioncontrol.up import backups
from missioncontrol.up.management import ErrorReportingCommand


class Command(ErrorReportingCommand):
    help = "Restore a backup; Mission Control must not be running."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="move aside what is here")

    def handle(self, *_: object, file: Path, replace: bool, **__: object) -> None:
        restored = backups.restore_backup(file, at=now(), replace=replace)
        self.stdout.write(f"Restored the backup of {restored.backup.made_at}.")
        if restored.replaced:
            self.stdout.write(f"What was here is in {restored.replaced}.")
        if restored.has_older_heads:
            self.stdout.write(
                "The files of heads here know of more than the backup: say that it was put back"
                " on purpose with `verify_audit --accept-restored --by NAME --reason WHY`."
            )
        if restored.is_signed_elsewhere:
            self.stdout.write(
                "The secret here is another than the one the audit log was signed with: set"
                " MISSIONCONTROL_SECRET_KEY to that one, or trust what it signed with"
                f" MISSIONCONTROL_AUDIT_KEYS={restored.backup.public_key}."
            )
