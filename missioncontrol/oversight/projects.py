"""Change a project's rules; its chain says who changed what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from missioncontrol.accounts.models import Project
from missioncontrol.oversight import budgets, policies
from missioncontrol.runs import journal
from missioncontrol.wire.events import PolicyChanged


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPolicy:
    """A policy as it came, an object or a file's text, and why."""

    policy: object
    note: str = ""
    seen: int | None = None
    """The version it was made from; None: whatever stands is replaced."""


def change_project(project_id: UUID, changes: dict[str, Any], *, by: str, at: datetime) -> None:
    """Set the named fields, under the project's row lock; one event a field.

    Where ceilings move, live runs are told, and what the old ones held goes on.
    """
    with journal.holding_project(project_id) as project:
        before = _ceilings(project)
        for name, value in changes.items():
            _set(project, name, value, by=by, at=at)
        if _ceilings(project) != before:
            with journal.writing(budgets.live_runs(project_id), at=at) as book:
                budgets.ceilings_moved(book, by=by)


def _set(project: Project, name: str, value: Any, *, by: str, at: datetime) -> None:
    before = getattr(project, name)
    if name == "budgets":  # scopes that are not named stay as they are
        value = {scope: kept for scope, kept in {**before, **value}.items() if kept}
    if name == "policy":
        _set_policy(project, value, by=by, at=at)
        return
    if before == value:
        return
    setattr(project, name, value)
    project.save(update_fields=[name])
    journal.record_for_project(
        project.id, PolicyChanged, by=by, at=at, what=name, before=before, after=value
    )


def _set_policy(project: Project, asked: NewPolicy, *, by: str, at: datetime) -> None:
    before = project.policy
    policies.check_seen(project, asked.seen)
    if not policies.set_policy(project, asked.policy, note=asked.note, by=by, at=at):
        return
    project.save(update_fields=["policy", "policy_version"])
    journal.record_for_project(
        project.id, PolicyChanged, by=by, at=at, what="policy", before=before,
        after=project.policy, policy_version=project.policy_version,
    )  # fmt: skip


def _ceilings(project: Project) -> tuple[Any, ...]:
    told = {"": project.policy, **(project.policy.get("task_type") or {})}
    by_task = {name: table.get("budget") for name, table in told.items()}
    return project.budget, project.budgets, by_task, project.time_zone
