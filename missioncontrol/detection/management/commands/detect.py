"""Serve one of the lists of dispatches: a process that judges turns and does nothing else."""

from __future__ import annotations

import argparse
import signal

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from missioncontrol.detection.detector import Detector
from missioncontrol.detection.tasks import warm_up


class Command(BaseCommand):
    help = "Judge the turns of the runs that fall to this number, until it is told to end."
    requires_system_checks = []
    """They import the whole web side, which takes longer than the start."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("number", type=int, help="0 to MISSIONCONTROL_WORKERS - 1")

    def handle(self, *_: object, number: int, **__: object) -> None:
        if not 0 <= number < len(settings.DETECT_QUEUES):
            last = len(settings.DETECT_QUEUES) - 1
            raise CommandError(f"MISSIONCONTROL_WORKERS has numbers 0 to {last}, not {number}.")
        detector = Detector(settings.DETECT_QUEUES[number])
        for ending in (signal.SIGTERM, signal.SIGINT):
            signal.signal(ending, detector.end)
        warm_up()
        detector.serve()
