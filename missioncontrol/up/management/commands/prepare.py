"""`manage.py prepare`: what `up` does before it starts processes, for those who start their own."""

from __future__ import annotations

from django.conf import settings

from missioncontrol import env
from missioncontrol.up import database
from missioncontrol.up.command import ensure_vapid_key
from missioncontrol.up.data_dir import DataDir
from missioncontrol.up.management import ErrorReportingCommand


class Command(ErrorReportingCommand):
    help = "Make missing secrets and tables; back up and migrate what needs it, as `up` does."
    requires_system_checks = []

    def handle(self, *_: object, **__: object) -> None:
        data = DataDir(settings.DATA_DIR)
        # Locked, because an `up` that runs there does the same itself.
        with data.locked():
            if not env.text("MISSIONCONTROL_SECRET_KEY"):
                settings.SECRET_KEY = data.ensure_secret("secret.key")
            ensure_vapid_key(data)
            database.ensure_migrated(self.stdout.write)
