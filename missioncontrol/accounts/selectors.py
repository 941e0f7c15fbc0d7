"""Who belongs where, and which runs an agent key may speak for. Read-only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Model, OuterRef, Q, QuerySet, Subquery

from missioncontrol.accounts.models import AgentKey, Membership, PersonalToken, Reach, SecretUse
from missioncontrol.accounts.tokens import digest
from missioncontrol.redaction import NO_REDACTION, Redaction

Row = TypeVar("Row", bound=Model)


def memberships_of(user: User, *, token: object = None) -> QuerySet[Membership]:
    """Return a person's memberships with their projects, oldest project first.

    `token`: what authenticated them; a personal token may be limited to one project.
    """
    found = Membership.objects.filter(user=user).select_related("project")
    if isinstance(token, PersonalToken) and token.project_id is not None:
        found = found.filter(project=token.project_id)
    return found.order_by("project__created_at", "project__id")


def live(found: QuerySet[Row], *, at: datetime) -> QuerySet[Row]:
    """Return those of some keys, tokens, links or codes that are not used, revoked or expired."""
    columns = {field.name for field in found.model._meta.fields}
    unended = dict.fromkeys({"used_at", "revoked_at"} & columns)
    return found.filter(Q(expires_at=None) | Q(expires_at__gt=at), **unended)


def live_keys(*, at: datetime) -> QuerySet[AgentKey]:
    """Return the agent keys that are neither revoked nor expired."""
    return live(AgentKey.objects.all(), at=at)


def find_agent_key(secret: str, *, at: datetime) -> AgentKey | None:
    """Return the live agent key with this secret."""
    # By its hash, which has an index; keys are never compared character by character.
    return live_keys(at=at).select_related("project").filter(digest=digest(secret)).first()


def find_personal_token(secret: str, *, at: datetime) -> PersonalToken | None:
    """Return the live personal token with this secret, if its person is active."""
    tokens = PersonalToken.objects.filter(digest=digest(secret), user__is_active=True)
    return live(tokens, at=at).select_related("user").first()


def agent_keys(*, projects: Collection[UUID]) -> QuerySet[AgentKey]:
    """Return the agent keys of projects, newest first, including revoked ones."""
    found = AgentKey.objects.filter(project_id__in=projects).order_by("-id")
    return found.annotate(last_used_from=_last_address("key"))


def personal_tokens(user: User) -> QuerySet[PersonalToken]:
    """Return a person's tokens, newest first, including revoked ones."""
    found = PersonalToken.objects.filter(user=user).order_by("-id")
    return found.annotate(last_used_from=_last_address("token"))


def _last_address(secret: str) -> Subquery:
    """Select the address from which a key or token was last used."""
    # As a subquery: a secret may have been used from hundreds of places.
    uses = SecretUse.objects.filter(**{secret: OuterRef("pk")}).order_by("-last_at", "-pk")
    return Subquery(uses.values("address")[:1])


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder:
    """The holder of an agent key: it has one project, and reaches some of its runs.

    `agent` is the agent whose runs it reaches, if limited to one. `line` are the keys that it
    was rotated with: their runs count as its own. `redaction`: what its project masks.
    """

    key: UUID
    project: UUID
    reach: Reach
    agent: str = ""
    reports_only: bool = False
    line: frozenset[UUID] = frozenset()
    redaction: Redaction = NO_REDACTION

    def reaches(self, *, opened_by: UUID | None, agent: str) -> bool:
        """Tell whether this key may report on, answer and end a run of the project."""
        if self.reach == Reach.PROJECT:
            return True
        # By the name that an agent gives itself: such a key can only open runs of that name.
        if self.reach == Reach.AGENT:
            return agent == self.agent
        # A rotated key keeps access to the runs that its predecessors opened.
        return opened_by == self.key or opened_by in self.line


def holder_of(key: AgentKey) -> KeyHolder:
    """Return what a key reaches."""
    # Most keys were never rotated: then nothing more is read.
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
