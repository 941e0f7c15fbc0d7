"""Make, change and archive projects, with each change on their chain; start and end the demo."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from guard.wire import Mode
from missioncontrol import extras
from missioncontrol.accounts import people, services
from missioncontrol.accounts.models import AgentKey, Membership, Project, Reach, Role
from missioncontrol.accounts.people import clean_name
from missioncontrol.decisions import budgets, interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.detection import policies
from missioncontrol.errors import AgentsWaiting, Forbidden, InvalidRequest, StaleRun
from missioncontrol.runs import journal
from missioncontrol.runs.lifecycle import ON_HOLD
from missioncontrol.runs.models import Run

DEMO_MODES = {"npm-minded": Mode.AUTO, "ping-pong": Mode.PAUSE, "healthy": Mode.PAUSE}
DEMO_KEY_NAME = "demo agents"
MAX_PROJECTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPolicy:
    """A policy as received, an object or a file's text, and the reason for it."""

    policy: object
    note: str = ""
    seen: int | None = None
    """The version it is based on; None: replace whatever is stored."""


@transaction.atomic
def make_project(*, name: str, owner: User, mode: Mode, at: datetime) -> Project:
    """Open a project; the person who makes it owns it.

    Raises:
        InvalidRequest: its name is invalid, or the person owns too many projects.
    """
    name = clean_name(name)
    if Membership.objects.filter(user=owner, role=Role.OWNER).count() >= MAX_PROJECTS:
        raise InvalidRequest(f"At most {MAX_PROJECTS} projects per person.")
    project = services.create_project(name=name, owner=owner, mode=mode, at=at)
    by = people.name_of(owner)
    what = f"made the project “{name}”"
    journal.record_access(project.id, what, by=by, at=at)
    return project


def change_project(project_id: UUID, changes: dict[str, Any], *, by: str, at: datetime) -> None:
    """Set the named fields, under the project's row lock; one event for each field.

    If ceilings change, live runs get an event, and runs that the old ones held go on.

    Raises:
        AgentsWaiting: the project cannot be archived while an agent in it waits for an answer.
    """
    with journal.lock_project(project_id) as project:
        ceilings = _ceilings(project)
        for name, value in changes.items():
            before: Any = getattr(project, name, None)
            after = value
            if name == "archived":
                # Archiving an archived project changes and records nothing.
                if value == (project.archived_at is not None):
                    continue
                # Nobody looks into an archived project: its agent would wait forever.
                waiting = Run.objects.filter(project=project, status__in=ON_HOLD).count()
                if value and waiting:
                    raise AgentsWaiting(waiting)
                project.archived_at = at if value else None
                project.save(update_fields=["archived_at"])
                what = "archived the project" if value else "brought the project back"
                journal.record_access(project_id, what, by=by, at=at)
                continue
            if name == "policy":
                policies.check_current_version(project, value.seen)
                if policies.set_policy(project, value.policy, note=value.note, by=by, at=at):
                    project.save(update_fields=["policy", "policy_version"])
                    more = {"policy_version": project.policy_version}
                    journal.record_change(
                        project_id, name, before, project.policy, by=by, at=at, **more
                    )
                continue
            if name == "budgets":  # scopes that are not named stay as they are
                after = {scope: kept for scope, kept in {**before, **value}.items() if kept}
            if before != after:
                setattr(project, name, after)
                project.save(update_fields=[name])
                journal.record_change(project_id, name, before, after, by=by, at=at)
        # A policy may hold budgets by task, so both can change the ceilings of live runs.
        if _ceilings(project) != ceilings:
            # After the project's row, which is locked: the lock order of `budgets`.
            with journal.lock_runs(budgets.live_run_ids(project_id), at=at) as tx:
                budgets.apply_new_ceilings(tx, by=by)


def _ceilings(project: Project) -> tuple[Any, ...]:
    policies_by_task = {"": project.policy, **(project.policy.get("task_type") or {})}
    by_task = {name: table.get("budget") for name, table in policies_by_task.items()}
    # The time zone too: it decides when a day's ceiling starts again.
    return project.budget, project.budgets, by_task, project.time_zone


def start_demo(owner: User, *, at: datetime) -> None:
    """Make or bring back this person's demo projects, and ask for agents that report to them.

    Raises:
        Forbidden: somebody else's demo is running.
    """
    _check_demo_owner(owner)
    keys: dict[str, str] = {}
    with transaction.atomic():
        for name, mode in DEMO_MODES.items():
            project = _find_demo_project(owner, name)
            if project is None:
                project = make_project(name=f"demo-{name}", owner=owner, at=at, mode=mode)
            else:
                by = people.name_of(owner)
                change_project(project.id, {"archived": False}, by=by, at=at)
            # Agents of an earlier start may still run; they must not continue beside the new ones.
            _revoke_demo_keys(project, at)
            made = services.mint_agent_key(
                project=project, name=DEMO_KEY_NAME, at=at, reach=Reach.PROJECT
            )
            keys[name] = made.secret
    # After the commit: the agents use these keys at once.
    asked = extras.DemoRequest(owner=owner.get_username(), keys=keys)
    extras.request_demo(settings.DATA_DIR, asked)


def remove_demo(owner: User, *, at: datetime) -> None:
    """End the demo's agents and the runs that wait for an answer, and archive their projects.

    Raises:
        Forbidden: somebody else started the demo.
    """
    _check_demo_owner(owner)
    extras.request_demo(settings.DATA_DIR, None)
    by = people.name_of(owner)
    for name in DEMO_MODES:
        if project := _find_demo_project(owner, name):
            _revoke_demo_keys(project, at)
            # First end the runs on hold: a project with waiting agents cannot be archived.
            while run := Run.objects.filter(project=project, status__in=ON_HOLD).first():
                ends = Tap(
                    # With the version: a second removal of the same state is the same tap.
                    key=f"demo-{run.id}-{run.version}",
                    action="terminate",
                    version=run.version,
                )
                with suppress(StaleRun):  # it changed meanwhile: look again
                    interventions.intervene(run.id, ends, projects=[project.id], by=by, at=at)
            change_project(project.id, {"archived": True}, by=by, at=at)


def _check_demo_owner(owner: User) -> None:
    running = extras.requested_demo(settings.DATA_DIR)
    if running and running.owner != owner.get_username():
        raise Forbidden(f"{running.owner} started the demo; only they can change it.")


def _find_demo_project(owner: User, name: str) -> Project | None:
    theirs = Project.objects.filter(membership__user=owner, membership__role=Role.OWNER)
    return theirs.filter(name=f"demo-{name}").order_by("created_at", "id").first()


def _revoke_demo_keys(project: Project, at: datetime) -> None:
    keys = AgentKey.objects.filter(project=project, name=DEMO_KEY_NAME, revoked_at=None)
    keys.update(revoked_at=at)
