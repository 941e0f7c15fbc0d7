"""Make the first person, the first project and its key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User

from missioncontrol.accounts import selectors, services
from missioncontrol.accounts.models import AgentKey, Reach
from missioncontrol.up.data_dir import DataDir, write_private

FIRST_PROJECT = "My project"
KEY_FILE = "agent.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    """The local person and the project agents report to by default."""

    owner: User
    project: UUID
    agent_key: str


def ensure_tenancy(data: DataDir, *, at: datetime) -> Tenancy:
    """Return the first project and its key, making what is missing."""
    owner = services.ensure_local_owner()
    key, secret = _ensure_key(data, owner=owner, at=at)
    return Tenancy(owner=owner, project=key.project_id, agent_key=secret)


def _ensure_key(data: DataDir, *, owner: User, at: datetime) -> tuple[AgentKey, str]:
    """Return the key in DIR/agent.key; one that is over is replaced by a new one."""
    kept = data.read_secret(KEY_FILE)
    if kept and (known := selectors.find_agent_key(kept, at=at)):
        return known, kept
    # The first project may have been renamed: then any of theirs will do.
    if found := selectors.find_project_owned_by(owner, name=FIRST_PROJECT):
        project = found
    elif mine := selectors.memberships_of(owner).first():
        project = mine.project
    else:
        project = services.create_project(name=FIRST_PROJECT, owner=owner, at=at)
    if kept:
        adopted = services.adopt_agent_key(project=project, name=KEY_FILE, secret=kept, at=at)
        if selectors.live_keys(at=at).filter(pk=adopted.pk).exists():
            return adopted, kept
    minted = services.mint_agent_key(project=project, name=KEY_FILE, at=at, reach=Reach.PROJECT)
    write_private(data.path / KEY_FILE, minted.secret)
    return minted.row, minted.secret
