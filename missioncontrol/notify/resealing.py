"""Seal anew, with today's secret, what a former one sealed."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Model

from missioncontrol.notify.models import Channel, Device
from missioncontrol.sealing import Unreadable, fingerprint, seal, unseal


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """How many rows were sealed anew, and how many no known secret reads."""

    rows: int
    unreadable: int


def reseal() -> Resealed:
    """Seal every address with today's secret, inside the caller's transaction."""
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
    return Resealed(rows=len(sealed) - unreadable, unreadable=unreadable)
