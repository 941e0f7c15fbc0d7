"""Print a one-time sign-in link for a running installation."""

from __future__ import annotations

import argparse

from django.conf import settings
from django.core.management.base import BaseCommand

from missioncontrol import clock
from missioncontrol.accounts import people, services
from missioncontrol.up.data_dir import DataDir
from missioncontrol.up.options import PORT


class Command(BaseCommand):
    help = "Print a link that signs you, or a person you name, in once, within ten minutes."
    requires_system_checks = []
    """System checks import all the web code, which takes longer than making the link."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--url", default="", help="where Mission Control serves")
        parser.add_argument("--person", default="", help="a member's name; default: you")

    def handle(self, *_: object, url: str, person: str = "", **__: object) -> None:
        link = services.mint_login_link(user=people.person_named(person), at=clock.now())
        base = url or settings.PUBLIC_URL
        if not base:
            # The running `up` writes its address into its lock file.
            running = DataDir(settings.DATA_DIR).read_status()
            base = running.url or f"http://127.0.0.1:{PORT}"
            if running.state != "serving":
                # Not in the output, from which a script may read the link.
                self.stderr.write(
                    f"No `up` says in {settings.DATA_DIR} that it serves: {base} is a guess, and"
                    " --url names another address."
                )
        self.stdout.write(f"{base.rstrip('/')}/login/{link.secret}/")
