"""`manage.py users`: list people, let them out and in again, erase one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max

from missioncontrol.accounts import people
from missioncontrol.accounts.selectors import memberships_of
from missioncontrol.audit.erasing import erase_person
from missioncontrol.clock import now
from missioncontrol.projects import access
from missioncontrol.up.management import ErrorReportingCommand
from missioncontrol.up.management.commands.project import TERMINAL


class Command(ErrorReportingCommand):
    help = "List people, deactivate, activate and erase them. `login_link --person` lets one in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser(
            "list", help="everybody, their projects and roles, when they were last here"
        )
        for action, what in (
            ("deactivate", "end their sessions, tokens and links"),
            ("activate", ""),
        ):
            actions.add_parser(action, help=what).add_argument("person", help="a name")
        erase = actions.add_parser(
            "erase", help="their account and what the audit log says of them"
        )
        erase.add_argument("person", help="a name")
        # Required: the terminal does not know who uses it, and an erasure names who is responsible.
        erase.add_argument("--by", required=True, help="who allows it")
        erase.add_argument("--reason", required=True, help="why; it stands in the audit log")

    def handle(self, *_: Any, action: str, person: str = "", **options: Any) -> None:
        if action == "list":
            self._list()
        elif action == "erase":
            found = people.person_named(person)
            erase_person(found, by=options["by"], reason=options["reason"], at=now())
            self.stdout.write(f"{person} was erased.")
        else:
            found = people.person_named(person)
            access.set_active(found, action == "activate", by=TERMINAL, at=now())

    def _list(self) -> None:
        for user in User.objects.annotate(seen=Max("browsers__seen_at")).order_by("pk"):
            roles = [f"{one.project.name}: {one.role}" for one in memberships_of(user)]
            seen = f"{user.seen:%Y-%m-%d %H:%M} UTC" if user.seen else "never here"
            inactive = "" if user.is_active else ", deactivated"
            listed = ", ".join(roles) or "no project"
            self.stdout.write(f"{people.name_of(user)} ({listed}; {seen}{inactive})")
