"""Make the first person, the first project and its key; the demo's likewise."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User

from guard.wire import Mode
from missioncontrol.accounts import selectors, services
from missioncontrol.accounts.models import AgentKey, Project, Reach
from missioncontrol.up.data_dir import DataDir, write_private

FIRST_PROJECT = "My project"
DEMO_MODES = {"npm-minded": Mode.AUTO, "ping-pong": Mode.PAUSE, "healthy": Mode.PAUSE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    """The local person and the project agents report to by default."""

    owner: User
    project: UUID
    agent_key: str


def ensure_tenancy(data: DataDir, *, at: datetime) -> Tenancy:
    """Return the first project and its key, making what is missing."""
    owner = services.ensure_local_owner()
    key, secret = _ensure_key(data, "agent.key", owner=owner, name=FIRST_PROJECT, at=at)
    return Tenancy(owner=owner, project=key.project_id, agent_key=secret)


def ensure_demo(data: DataDir, *, owner: User, at: datetime) -> dict[str, str]:
    """Return the agent key of each demo project, making what is missing."""
    return {
        name: _ensure_key(
            data, f"demo/{name}.key", owner=owner, name=f"demo-{name}", at=at, mode=mode
        )[1]
        for name, mode in DEMO_MODES.items()
    }


def _ensure_key(
    data: DataDir,
    file: str,
    *,
    owner: User,
    name: str,
    at: datetime,
    mode: Mode = Mode.PAUSE,
) -> tuple[AgentKey, str]:
    """Return the key in a file of DIR; one that is over is replaced by a new one."""
    kept = data.read_secret(file)
    if kept and (known := selectors.find_agent_key(kept, at=at)):
        return known, kept
    project = _ensure_project(owner, name, mode, at)
    if kept:
        adopted = services.adopt_agent_key(project=project, name=file, secret=kept, at=at)
        if selectors.live_keys(at=at).filter(pk=adopted.pk).exists():
            return adopted, kept
    minted = services.mint_agent_key(project=project, name=file, at=at, reach=Reach.PROJECT)
    write_private(data.path / file, minted.secret)
    return minted.row, minted.secret


def _ensure_project(owner: User, name: str, mode: Mode, at: datetime) -> Project:
    """Return the person's project of that name; the first of all may be renamed."""
    if found := selectors.find_project_owned_by(owner, name=name):
        return found
    if name == FIRST_PROJECT and (mine := selectors.memberships_of(owner).first()):
        return mine.project
    return services.create_project(name=name, owner=owner, at=at, mode=mode)
