"""List `up` among Django's commands; the work is in missioncontrol.up.command."""

from __future__ import annotations

import argparse
import os
import sys

from django.core.management.base import BaseCommand

from missioncontrol.up import processes
from missioncontrol.up.options import add_arguments


class Command(BaseCommand):
    help = "Start Mission Control: embedded services, web, worker and beat."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_arguments(parser)

    def run_from_argv(self, argv: list[str]) -> None:
        """Start again outside Django, because `up` decides Django's settings."""
        os.environ["PYTHONPATH"] = processes.import_path(os.environ.get("PYTHONPATH", ""))
        os.execv(sys.executable, [*processes.SAFE_PYTHON, "missioncontrol.cli", *argv[1:]])  # noqa: S606

    def handle(self, *_: object, **__: object) -> None:
        raise NotImplementedError("Run `manage.py up` as a process of its own.")
