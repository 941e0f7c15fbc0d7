"""Who belongs where. Read-only."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import OuterRef, Q, QuerySet, Subquery

from missioncontrol.accounts.models import AgentKey, Membership, PersonalToken, SecretUse
from missioncontrol.accounts.tokens import digest


def memberships_of(user: User, *, token: object = None) -> QuerySet[Membership]:
    """Return a person's memberships with their projects, oldest project first.

    `token`: what they proved themselves with; a personal token may be for one project.
    """
    found = Membership.objects.filter(user=user).select_related("project")
    if isinstance(token, PersonalToken) and token.project_id is not None:
        found = found.filter(project=token.project_id)
    return found.order_by("project__created_at", "project__id")


def live_keys(*, at: datetime) -> QuerySet[AgentKey]:
    """Find the agent keys that are neither revoked nor expired."""
    return AgentKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=at), revoked_at=None)


def find_agent_key(secret: str, *, at: datetime) -> AgentKey | None:
    """Return the live agent key behind this text."""
    # By its hash, which has an index; keys are never compared sign by sign.
    return live_keys(at=at).select_related("project").filter(digest=digest(secret)).first()


def line_of(key: AgentKey) -> tuple[UUID, ...]:
    """Return the keys that a key was rotated with, itself among them; () if it never was."""
    # Most keys were never rotated: no look for those.
    if key.line is None:
        return ()
    return tuple(AgentKey.objects.filter(line=key.line).values_list("pk", flat=True))


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
    found = AgentKey.objects.filter(project_id__in=projects).order_by("-id")
    return found.annotate(last_used_from=_last_place("key"))


def personal_tokens(user: User) -> QuerySet[PersonalToken]:
    """Find a person's tokens, newest first, revoked ones too."""
    found = PersonalToken.objects.filter(user=user).order_by("-id")
    return found.annotate(last_used_from=_last_place("token"))


def _last_place(secret: str) -> Subquery:
    """Select the address that a key or token was used from last."""
    # By a subquery: a secret may have been used from hundreds of places.
    uses = SecretUse.objects.filter(**{secret: OuterRef("pk")}).order_by("-last_at", "-pk")
    return Subquery(uses.values("address")[:1])
