"""`manage.py erase_run`: erase every word of a run; the audit log says who and why."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from missioncontrol.audit import erasing
from missioncontrol.clock import now
from missioncontrol.up.management import ErrorReportingCommand


class Command(ErrorReportingCommand):
    help = "Erase what an ended run said: turns, payloads, messages. Figures and times stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=UUID, help="its id")
        parser.add_argument("--by", required=True, help="who allows it")
        parser.add_argument("--reason", required=True, help="why; it stands in the audit log")

    def handle(self, *_: Any, **options: Any) -> None:
        erasing.erase_run(options["run"], by=options["by"], reason=options["reason"], at=now())
        self.stdout.write(f"Run {options['run']} was erased.")
