"""Print a one-time sign-in link for an installation that runs."""

from __future__ import annotations

import argparse
import json

from django.conf import settings
from django.core.management.base import BaseCommand

from missioncontrol import clock
from missioncontrol.accounts import services
from missioncontrol.up.options import PORT


class Command(BaseCommand):
    help = "Print a link that signs you in once, within ten minutes."
    requires_system_checks = []
    """They import the whole web side, which takes longer than the link."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--url", default="", help="where Mission Control serves")

    def handle(self, *_: object, url: str, **__: object) -> None:
        owner = services.ensure_local_owner()
        link = services.mint_login_link(user=owner, at=clock.now())
        base = (url or settings.PUBLIC_URL or _serving_url()).rstrip("/")
        self.stdout.write(f"{base}/login/{link.secret}/")


def _serving_url() -> str:
    """Read where the running `up` serves from its lock file."""
    try:
        said = json.loads((settings.DATA_DIR / "up.lock").read_text())
    except (OSError, ValueError):
        said = {}
    return said.get("url") or f"http://127.0.0.1:{PORT}"
