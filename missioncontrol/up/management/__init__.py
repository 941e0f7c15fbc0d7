"""What our own commands share."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from missioncontrol.errors import MissionControlError


class OwnCommand(BaseCommand):
    """A command that says in a sentence, without a traceback, why it did not do what was asked."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except MissionControlError as refused:
            raise CommandError(str(refused)) from None
