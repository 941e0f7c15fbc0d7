"""Change the server's secret: what it sealed is sealed anew, and the audit log says so.

The former key is trusted for what it signed before the change, and for nothing after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Model

from missioncontrol.accounts import ways
from missioncontrol.accounts.models import Project
from missioncontrol.audit import signing
from missioncontrol.audit.signing import amend
from missioncontrol.notify.models import Channel, Device
from missioncontrol.sealing import Unreadable, fingerprint, seal, unseal


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
        resealed, unreadable = _reseal_addresses()
        factors_sealed, factors_unreadable = ways.reseal_factors()
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
        resealed=resealed + factors_sealed,
        unreadable=unreadable + factors_unreadable,
    )


def _reseal_addresses() -> tuple[int, int]:
    """Seal every address with today's secret; return how many were, and how many none reads."""
    # Locked: what somebody enters meanwhile must not be overwritten by what was read before.
    sealed: list[tuple[Model, tuple[str, ...]]] = [
        *((row, ("address",)) for row in Channel.objects.select_for_update().order_by("pk")),
        *(
            (row, ("endpoint", "p256dh", "auth"))
            for row in Device.objects.select_for_update().order_by("pk")
        ),
    ]
    unreadable = 0
    for row, columns in sealed:
        try:
            plain = {name: unseal(getattr(row, name)) for name in columns}
        except Unreadable:  # its owner is asked for it again, as before
            unreadable += 1
            continue
        for name, text in plain.items():
            setattr(row, name, seal(text))
        # The digest is made with the secret too: by the former one's a browser would not be found.
        if isinstance(row, Device):
            row.endpoint_digest = fingerprint(plain["endpoint"])
        row.save()
    return len(sealed) - unreadable, unreadable
