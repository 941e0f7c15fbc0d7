"""Let somebody into a project by a link: with a role, until a day, once."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from missioncontrol.accounts.models import Invitation, Role
from missioncontrol.accounts.services import Minted
from missioncontrol.accounts.tokens import digest, new_token

LIFE = timedelta(days=7)
LONGEST_LIFE = timedelta(days=30)
# How long one that is over is still listed.
KEPT = timedelta(days=30)


def offer(
    project_id: UUID, *, role: Role, note: str, by: User, expires_at: datetime, at: datetime
) -> Minted[Invitation]:
    """Make a way into a project; those that have long been over go."""
    # As others are made, so that no task is needed for it.
    Invitation.objects.filter(expires_at__lte=at - KEPT).delete()
    token = new_token("")
    row = Invitation.objects.create(
        project_id=project_id,
        digest=token.digest,
        role=role,
        note=note,
        invited_by=by,
        created_at=at,
        expires_at=expires_at,
    )
    return Minted(row=row, secret=token.text)


def usable(at: datetime) -> QuerySet[Invitation]:
    """Return the invitations that still let somebody in."""
    # An archived project can only be read: nobody is let into it.
    return _unspent(Invitation.objects.filter(project__archived_at=None), at)


def find(secret: str, *, at: datetime) -> Invitation | None:
    """Return the invitation behind a link, without using it up; None: it is over or unknown."""
    live = usable(at).select_related("project", "invited_by")
    return live.filter(digest=digest(secret)).first()


def redeem(invitation: Invitation, *, user: User, at: datetime) -> bool:
    """Use an invitation up; False: it is spent.

    One conditional UPDATE decides: of two at once, one wins.
    """
    mine = _unspent(Invitation.objects.filter(pk=invitation.pk), at)
    return bool(mine.update(used_at=at, used_by=user))


def revoke(found: QuerySet[Invitation], *, at: datetime) -> int:
    """Take invitations back that nobody used; return how many that were."""
    return _unspent(found, at).update(revoked_at=at)


def _unspent(found: QuerySet[Invitation], at: datetime) -> QuerySet[Invitation]:
    return found.filter(used_at=None, revoked_at=None, expires_at__gt=at)
