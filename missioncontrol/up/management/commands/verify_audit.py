"""`manage.py verify_audit`: say whether the audit log holds, and name what does not."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from missioncontrol.accounts.people import projects_named
from missioncontrol.audit import anchors, checking, erasing, signing
from missioncontrol.clock import now
from missioncontrol.up.management import ErrorReportingCommand


class Command(ErrorReportingCommand):
    help = "Verify the audit log; exits with 1 where it does not hold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", help="its id or name; all of them")
        parser.add_argument("--public-key", action="store_true", help="print the key and end")
        parser.add_argument(
            "--accept-restored",
            action="store_true",
            help="an older copy of the database was put back on purpose: say so in the log",
        )
        parser.add_argument("--by", default="", help="who accepts it")
        parser.add_argument("--reason", default="", help="why")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["public_key"]:
            self.stdout.write(signing.public_key())
            return
        projects = projects_named(options["project"])
        if options["accept_restored"]:
            for project in projects:
                by, reason = options["by"], options["reason"]
                aside = erasing.accept_restored_copy(project.id, by=by, reason=reason, at=now())
                self.stdout.write(f"The file of heads was put aside as {aside}.")
        is_whole = True
        for project in projects:
            found = checking.verify(projects=[project.id])
            # Every project is checked, whatever the first one shows.
            is_whole &= found.ok
            for fault in found.faults:
                self.stdout.write(fault.words)
            compared = (
                f"heads on file since {found.compared_since}"
                if found.compared_since
                else "no file of heads to compare with: an older copy would not be noticed"
            )
            verdict = "holds" if found.ok else f"does not hold: {len(found.faults)} faults"
            last = found.anchored_at or "never"
            self.stdout.write(
                f"{project.name}: {found.rows} rows, {verdict}; last checkpoint {last}; {compared}"
            )
        # A project that was deleted without the log has left only its file to check.
        known = {project.id for project in projects}
        filed = [] if options["project"] else anchors.filed_projects()
        gone = [project_id for project_id in filed if project_id not in known]
        for project_id in gone:
            self.stdout.write(
                f"project {project_id}: the file of heads knows it, the database does not"
            )
        if gone or not is_whole:
            # For scripts; the faults were printed above.
            sys.exit(1)
