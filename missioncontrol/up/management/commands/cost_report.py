"""`manage.py cost_report`: show what a day cost, in the terminal or for a spreadsheet."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import date, timedelta
from typing import Any

from django.core.management.base import BaseCommand

from missioncontrol.accounts.people import projects_named
from missioncontrol.clock import now, zone_of
from missioncontrol.notify.texts import CATALOGUES, texts_in
from missioncontrol.reports import daily
from missioncontrol.reports.models import CostReport
from missioncontrol.reports.periods import today
from missioncontrol.reports.texts import csv_of, text_of


class Command(BaseCommand):
    help = "Show what a day cost: the kept report, or the figures so far where there is none."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--day", type=date.fromisoformat, help="2026-11-21; yesterday's")
        parser.add_argument("--project", help="its id or name; all of them")
        parser.add_argument("--language", default="en", choices=sorted(CATALOGUES), help="en or de")
        parser.add_argument("--csv", action="store_true", help="for a spreadsheet")

    def handle(self, *_: Any, **options: Any) -> None:
        for project in projects_named(options["project"]):
            t = texts_in(options["language"])
            at = now()
            # Yesterday in the project's own time zone: the last day that is over there.
            asked = options["day"] or today(zone_of(project.time_zone), at=at) - timedelta(days=1)
            kept = (
                CostReport.objects.filter(project=project, day=asked).order_by("-version").first()
            )
            report = daily.report_of(kept or daily.build_report(project, asked, at=at))
            if kept is None:
                # On standard error, so that the output stays valid CSV.
                self.stderr.write("No report was kept of this day: these are the figures now.")
            self.stdout.write(csv_of(report) if options["csv"] else text_of(report, t) + "\n")
