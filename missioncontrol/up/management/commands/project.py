"""`manage.py project`: list, make, rename, archive and bring back projects."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.db.models import Count

from guard.wire import Mode
from missioncontrol.accounts import people
from missioncontrol.accounts.models import Project
from missioncontrol.accounts.people import clean_name, project_named
from missioncontrol.clock import now
from missioncontrol.projects import rules
from missioncontrol.up.management import ErrorReportingCommand

# The name in the audit log for whoever may run commands here.
TERMINAL = "terminal"


class Command(ErrorReportingCommand):
    help = "List, make, rename, archive and bring back projects."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="every project, its id, its members")
        make = actions.add_parser("make", help="a new project; prints its id")
        make.add_argument("name")
        make.add_argument("--owner", default="", help="a person's name; default: whoever runs `up`")
        rename = actions.add_parser("rename")
        rename.add_argument("project", help="its id or name")
        rename.add_argument("name", help="its new one")
        for action in ("archive", "restore"):
            actions.add_parser(action).add_argument("project", help="its id or name")

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        match action:
            case "list":
                self._list()
            case "make":
                owner, name = people.person_named(options["owner"]), options["name"]
                made = rules.make_project(name=name, owner=owner, mode=Mode.PAUSE, at=now())
                # Only the id, so that a script can read it.
                self.stdout.write(str(made.id))
            case "rename":
                self._change(options, name=clean_name(options["name"]))
            case _:
                self._change(options, archived=action == "archive")

    def _list(self) -> None:
        # By age, so that the order stays the same when projects are renamed.
        found = Project.objects.annotate(members=Count("membership")).order_by("created_at", "id")
        for project in found:
            archived = ", archived" if project.archived_at else ""
            members = "1 member" if project.members == 1 else f"{project.members} members"
            self.stdout.write(f"{project.id}  {project.name} ({members}{archived})")

    def _change(self, options: dict[str, Any], **fields: Any) -> None:
        project = project_named(options["project"])
        rules.change_project(project.id, fields, by=TERMINAL, at=now())
