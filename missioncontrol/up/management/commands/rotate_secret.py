"""`manage.py rotate_secret`: sign and seal with a new secret from now on."""

from __future__ import annotations

import argparse
import secrets

from django.conf import settings
from django.core.management.base import CommandError

from missioncontrol import env
from missioncontrol.audit import signing
from missioncontrol.clock import now
from missioncontrol.up.data_dir import DataDir
from missioncontrol.up.management import ErrorReportingCommand

FORMER_FILE = "secret.key.old"


class Command(ErrorReportingCommand):
    help = "Change the secret that signs the audit log and seals addresses; stop everything first."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--by", required=True, help="who changes it")
        parser.add_argument("--reason", required=True, help="why; it stands in the audit log")

    def handle(self, *_: object, by: str, reason: str, **__: object) -> None:
        # With the secret in the environment, no file of ours is read, and none could change it.
        if env.text("MISSIONCONTROL_SECRET_KEY"):
            self._rotate(former_of_environment(), by, reason)
            return
        data = DataDir(settings.DATA_DIR)
        # Locked, so that nothing runs meanwhile: it would sign and seal with the former one.
        with data.locked():
            former = renew_file(data)
            self._rotate(former, by, reason)
            data.write_secret(FORMER_FILE, former)  # earlier ones are no longer needed

    def _rotate(self, former: str, by: str, reason: str) -> None:
        done = signing.rotate_secret(former=former, by=by, reason=reason, at=now())
        says = "1 project says so" if done.projects == 1 else f"{done.projects} projects say so"
        resealed = "1 address was" if done.resealed == 1 else f"{done.resealed} addresses were"
        self.stdout.write(
            f"The secret was changed: {says}, {resealed} sealed anew."
            f" The former key was {signing.public_key_of(former)}."
        )
        if done.unreadable:
            self.stdout.write(f"Not readable, to be entered again: {done.unreadable}.")


def former_of_environment() -> str:
    """Return the former secret, which the operator sets beside the new one."""
    if not settings.SECRET_KEY_FALLBACKS:
        raise CommandError(
            "MISSIONCONTROL_SECRET_KEY is set: put the new secret there, the former one in"
            " MISSIONCONTROL_SECRET_KEY_FALLBACKS, and run this again."
        )
    # The first is the previous one, and the others are older.
    return str(settings.SECRET_KEY_FALLBACKS[0])


def renew_file(data: DataDir) -> str:
    """Write a new secret and return the former one, kept beside it; its public half is kept for
    good.

    This happens before anything is sealed with it, so that the database can always be read. A
    change that fails half-way leaves the new secret in place, because its commit may have
    succeeded; so every secret before it is kept until one has succeeded.
    """
    former = data.ensure_secret("secret.key")
    # What it signed must still verify when its secret half is long gone.
    signing.trust_keys([signing.public_key_of(former)])
    kept = [former, *data.read_secret(FORMER_FILE).splitlines()]
    data.write_secret(FORMER_FILE, "\n".join(dict.fromkeys(kept)))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = secrets.token_urlsafe(48), kept
    data.write_secret("secret.key", settings.SECRET_KEY)
    return former
