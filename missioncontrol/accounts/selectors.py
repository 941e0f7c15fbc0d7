"""Who belongs where. Read-only."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from missioncontrol.accounts.models import AgentKey, Membership, PersonalToken, Project
from missioncontrol.accounts.tokens import digest


def memberships_of(user: User) -> QuerySet[Membership]:
    """Return a person's memberships with their projects, oldest project first."""
    return (
        Membership.objects.filter(user=user)
        .select_related("project")
        .order_by("project__created_at", "project__id")
    )


def find_project_owned_by(user: User, *, name: str) -> Project | None:
    """Return the oldest project of that name this person belongs to."""
    mine = Project.objects.filter(membership__user=user, name=name)
    return mine.order_by("created_at", "id").first()


def find_agent_key(secret: str) -> AgentKey | None:
    """Return the live agent key behind this text."""
    live = AgentKey.objects.filter(digest=digest(secret), revoked_at=None)
    return live.select_related("project").first()


def find_personal_token(secret: str, *, at: datetime) -> PersonalToken | None:
    """Return the live personal token behind this text; its person is active."""
    live = PersonalToken.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=at),
        digest=digest(secret),
        revoked_at=None,
        user__is_active=True,
    )
    return live.select_related("user").first()


def agent_keys(*, projects: Collection[UUID]) -> QuerySet[AgentKey]:
    """Find the agent keys of projects, newest first, revoked ones too."""
    return AgentKey.objects.filter(project_id__in=projects).order_by("-id")


def personal_tokens(user: User) -> QuerySet[PersonalToken]:
    """Find a person's tokens, newest first, revoked ones too."""
    return PersonalToken.objects.filter(user=user).order_by("-id")
