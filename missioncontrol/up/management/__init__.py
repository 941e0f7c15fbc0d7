"""The base of our own management commands."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from missioncontrol.errors import MissionControlError


class ErrorReportingCommand(BaseCommand):
    """A command that reports its failure in a sentence, without a traceback."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except MissionControlError as refused:
            raise CommandError(str(refused)) from None
