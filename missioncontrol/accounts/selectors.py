"""Who belongs where, and which runs an agent key may speak for. Read-only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import OuterRef, Q, QuerySet, Subquery

from missioncontrol.accounts.models import AgentKey, Membership, PersonalToken, Reach, SecretUse
from missioncontrol.accounts.tokens import digest
from missioncontrol.redaction import NOTHING, Redaction


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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder:
    """Whoever sends an agent key: it has one project, and reaches some of its runs.

    `agent` is whose runs it reaches, where it is limited to an agent's. `line` are the keys
    that it was rotated with: their runs are its own. `redaction`: what its project masks.
    """

    key: UUID
    project: UUID
    reach: Reach
    agent: str = ""
    reports_only: bool = False
    line: frozenset[UUID] = frozenset()
    redaction: Redaction = NOTHING

    def reaches(self, *, opened_by: UUID | None, agent: str) -> bool:
        """Tell whether a run of the project is this key's to report on, answer and end."""
        if self.reach == Reach.PROJECT:
            return True
        # By the name that an agent gives itself: whoever has such a key may open runs of it alone.
        if self.reach == Reach.AGENT:
            return agent == self.agent
        # A rotated key goes on with the runs that its predecessor opened.
        return opened_by == self.key or opened_by in self.line


def holder_of(key: AgentKey) -> KeyHolder:
    """Say what a key reaches."""
    # Most keys were never rotated: no look for those.
    rotated = AgentKey.objects.filter(line=key.line).values_list("pk", flat=True)
    return KeyHolder(
        key=key.id,
        project=key.project_id,
        reach=Reach(key.reach),
        agent=key.agent,
        reports_only=key.reports_only,
        line=frozenset(rotated if key.line else ()),
        redaction=key.project.redaction,
    )
