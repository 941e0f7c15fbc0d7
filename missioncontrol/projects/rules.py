"""Make a project, change its rules, put it away; its chain says who did what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from guard.wire import Mode
from missioncontrol.accounts import people, services
from missioncontrol.accounts.models import Membership, Project, Role
from missioncontrol.accounts.people import checked_name
from missioncontrol.decisions import budgets
from missioncontrol.detection import policies
from missioncontrol.errors import AgentsWaiting, InvalidRequest
from missioncontrol.runs import journal
from missioncontrol.runs.lifecycle import ON_HOLD
from missioncontrol.runs.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPolicy:
    """A policy as it came, an object or a file's text, and why."""

    policy: object
    note: str = ""
    seen: int | None = None
    """The version it was made from; None: whatever stands is replaced."""


MOST_PROJECTS = 100


@transaction.atomic
def make_project(*, name: str, owner: User, mode: Mode, at: datetime) -> Project:
    """Open a project; who makes it owns it.

    Raises:
        InvalidRequest: its name cannot be read, or they own too many.
    """
    name = checked_name(name)
    if Membership.objects.filter(user=owner, role=Role.OWNER).count() >= MOST_PROJECTS:
        raise InvalidRequest(f"At most {MOST_PROJECTS} projects of one person.")
    project = services.create_project(name=name, owner=owner, mode=mode, at=at)
    by = people.name_of(owner)
    what = f"made the project “{name}”"
    journal.record_access(project.id, what, by=by, at=at)
    return project


def change_project(project_id: UUID, changes: dict[str, Any], *, by: str, at: datetime) -> None:
    """Set the named fields, under the project's row lock; one event a field.

    Where ceilings move, live runs are told, and what the old ones held goes on.

    Raises:
        AgentsWaiting: it is to be archived while somebody there waits for an answer.
    """
    with journal.holding_project(project_id) as project:
        ceilings = _ceilings(project)
        for name, value in changes.items():
            before: Any = getattr(project, name, None)
            after = value
            if name == "archived":
                # Archived twice is archived once, and on record once.
                if value == (project.archived_at is not None):
                    continue
                # Nobody looks into an archived project: its agent would wait for ever.
                waiting = Run.objects.filter(project=project, status__in=ON_HOLD).count()
                if value and waiting:
                    raise AgentsWaiting(waiting)
                project.archived_at = at if value else None
                project.save(update_fields=["archived_at"])
                what = "archived the project" if value else "brought the project back"
                journal.record_access(project_id, what, by=by, at=at)
                continue
            if name == "policy":
                policies.check_seen(project, value.seen)
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
        # A policy may hold budgets by task, so both may move what live runs are told.
        if _ceilings(project) != ceilings:
            # After the project's row, which is held: the order of locks of `budgets`.
            with journal.writing(budgets.live_runs(project_id), at=at) as tx:
                budgets.ceilings_moved(tx, by=by)


def _ceilings(project: Project) -> tuple[Any, ...]:
    policies_by_task = {"": project.policy, **(project.policy.get("task_type") or {})}
    by_task = {name: table.get("budget") for name, table in policies_by_task.items()}
    # The time zone too: it says when a day's ceiling begins anew.
    return project.budget, project.budgets, by_task, project.time_zone
