"""Change the server's secret: what it sealed is sealed anew, and the audit log says so.

The former key is trusted for what it signed before the change, and for nothing after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from missioncontrol.accounts import factors
from missioncontrol.accounts.models import Project
from missioncontrol.audit import signing
from missioncontrol.audit.amendments import amend
from missioncontrol.notify import resealing


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What came of it."""

    projects: int
    resealed: int
    unreadable: int
    """Addresses of channels and devices, and second factors, that neither secret reads."""


def rotate(*, former: str, by: str, reason: str, at: datetime) -> Rotated:
    """Take leave of a former secret; the settings already have the new one, and know the former.

    One transaction. No process may run that still signs with the former one: what it
    signed afterwards would not be trusted.
    """
    with transaction.atomic():
        resealed = resealing.reseal()
        factors_sealed, factors_unreadable = factors.reseal()
        projects = Project.objects.order_by("pk").values_list("pk", flat=True)
        for project_id in projects:
            # Signed with the former secret, which names its
            # successor: whoever trusts the one may trust the other.
            amend(
                project_id,
                "rotated",
                by=by,
                reason=reason,
                at=at,
                secret=former,
                successor=signing.public_key(),
            )
    return Rotated(
        projects=len(projects),
        resealed=resealed.rows + factors_sealed,
        unreadable=resealed.unreadable + factors_unreadable,
    )
