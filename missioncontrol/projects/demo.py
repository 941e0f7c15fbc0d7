"""The demo's projects: made for whoever starts it, put away when it is removed."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from guard.wire import Mode
from missioncontrol import extras
from missioncontrol.accounts import people, services
from missioncontrol.accounts.models import AgentKey, Project, Reach, Role
from missioncontrol.decisions import interventions
from missioncontrol.decisions.acts import Tap
from missioncontrol.errors import Forbidden, StaleRun
from missioncontrol.projects import rules
from missioncontrol.runs.lifecycle import ON_HOLD
from missioncontrol.runs.models import Run

MODES = {"npm-minded": Mode.AUTO, "ping-pong": Mode.PAUSE, "healthy": Mode.PAUSE}
KEY_NAME = "demo agents"


def start_demo(owner: User, *, at: datetime) -> None:
    """Have the demo's agents report to projects of this person, made or brought back.

    Raises:
        Forbidden: somebody else's demo runs.
    """
    _check_whose(owner)
    keys: dict[str, str] = {}
    with transaction.atomic():
        for name, mode in MODES.items():
            project = _known(owner, name)
            if project is None:
                project = rules.make_project(name=f"demo-{name}", owner=owner, at=at, mode=mode)
            else:
                by = people.name_of(owner)
                rules.change_project(project.id, {"archived": False}, by=by, at=at)
            # Agents of an earlier start, which may still run, must not go on beside the new ones.
            _revoke_keys(project, at)
            made = services.mint_agent_key(
                project=project, name=KEY_NAME, at=at, reach=Reach.PROJECT
            )
            keys[name] = made.secret
    # After the commit: its agents come with these keys at once.
    asked = extras.DemoAsked(owner=owner.get_username(), keys=keys)
    extras.ask_for_demo(settings.DATA_DIR, asked)


def remove_demo(owner: User, *, at: datetime) -> None:
    """End the demo's agents, end what waits for an answer, and put their projects away.

    Raises:
        Forbidden: somebody else started it.
    """
    _check_whose(owner)
    extras.ask_for_demo(settings.DATA_DIR, None)
    by = people.name_of(owner)
    for name in MODES:
        if project := _known(owner, name):
            _revoke_keys(project, at)
            # What waits ends first: an archive holds no agent that waits for a person.
            while run := Run.objects.filter(project=project, status__in=ON_HOLD).first():
                ends = Tap(
                    # By version: a second removal of the same state is the same tap.
                    key=f"demo-{run.id}-{run.version}",
                    action="terminate",
                    version=run.version,
                )
                with suppress(StaleRun):  # it moved meanwhile: look again
                    interventions.intervene(run.id, ends, projects=[project.id], by=by, at=at)
            rules.change_project(project.id, {"archived": True}, by=by, at=at)


def _check_whose(owner: User) -> None:
    running = extras.demo_asked(settings.DATA_DIR)
    if running and running.owner != owner.get_username():
        raise Forbidden(f"{running.owner} started the demo; only they change it.")


def _known(owner: User, name: str) -> Project | None:
    theirs = Project.objects.filter(membership__user=owner, membership__role=Role.OWNER)
    return theirs.filter(name=f"demo-{name}").order_by("created_at", "id").first()


def _revoke_keys(project: Project, at: datetime) -> None:
    AgentKey.objects.filter(project=project, name=KEY_NAME, revoked_at=None).update(revoked_at=at)
