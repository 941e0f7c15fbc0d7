"""Everybody who may call an installation, and one of everything they might call about.

Run as a program with an installation's environment: it fills a project of the first owner's
and prints what a test needs to call as each of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from tests.installations import ROOT, Installation

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from missioncontrol.accounts.models import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """`headers`: what each caller proves itself with, by name; `ids`: one of each thing, by
    parameter.
    """

    headers: dict[str, dict[str, str]]
    ids: dict[str, str]


def callers_of(installation: Installation) -> Callers:
    """Make people, keys and tokens on a running installation, and a project full of things."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack.callers"],
        cwd=ROOT,
        env=installation.own_environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Callers(**json.loads(done.stdout))


def _fill() -> Callers:
    from missioncontrol.accounts import services as accounts
    from missioncontrol.accounts.models import Reach, Role, Scope
    from missioncontrol.clock import now
    from tests.build import a_person, a_project

    at, mark = now(), uuid4().hex[:8]
    project = a_project(f"attacked-{mark}")
    people = {role: a_person(f"{role}-{mark}", project, role) for role in Role.values}
    people["stranger"] = a_person(f"stranger-{mark}", a_project(f"far-{mark}"))

    def token(person: str, scope: Scope = Scope.WRITE) -> str:
        user = people[person]
        return accounts.mint_personal_token(user=user, name="t", at=at, scope=scope).secret

    def key(reach: Reach) -> str:
        agent = "coder" if reach == Reach.AGENT else ""
        made = accounts.mint_agent_key(project=project, name=reach, at=at, reach=reach, agent=agent)
        return made.secret

    secrets = {
        **{person: token(person) for person in people},
        "only-reads": token(Role.OWNER, Scope.READ),
        **{f"key-{reach}": key(reach) for reach in Reach},
        "guesser": "mc_guessed",
    }
    return Callers(
        headers={
            **{name: {"Authorization": f"Bearer {secret}"} for name, secret in secrets.items()},
            **{f"{role}-in-browser": _in_browser(people[role]) for role in Role.values},
            "nobody": {},
        },
        ids=_things(project, people[Role.OWNER]),
    )


def _in_browser(user: User) -> dict[str, str]:
    """What a signed-in page of ours sends: session, CSRF cookie and its token."""
    from django.conf import settings
    from django.test import Client

    client, token = Client(), "c" * 32
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    cookies = f"{name}={client.cookies[name].value}; {settings.CSRF_COOKIE_NAME}={token}"
    return {"Cookie": cookies, "X-CSRFToken": token}


def _things(project: Project, owner: User) -> dict[str, str]:
    """A house whose channel, notices and report are as the product makes them."""
    from missioncontrol.notify.models import Channel, Delivery, Notice
    from missioncontrol.reports import daily
    from missioncontrol.reports.models import CostReport
    from missioncontrol.sealing import seal
    from tests.build import NOON, a_person, a_stuck_run
    from tests.missioncontrol.api.test_every_address import a_house

    ids: dict[str, str] = a_house(project, owner).ids
    Notice.objects.filter(project=project).delete()
    CostReport.objects.filter(project=project).delete()
    Channel.objects.filter(project=project).update(address=seal("http://127.0.0.1:9/told"))
    run = a_stuck_run(project)
    daily.make_report(project, NOON.date(), at=NOON + timedelta(days=1))
    made = {
        "user_id": a_person(f"member-{uuid4().hex[:8]}", project, "viewer"),
        "run_id": run,
        "delivery_id": Delivery.objects.filter(project=project)[0],
        "report_id": CostReport.objects.get(project=project, day=NOON.date()),
    }
    return ids | {name: str(one.pk) for name, one in made.items()}


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(asdict(_fill())))  # noqa: T201 - what the test reads
