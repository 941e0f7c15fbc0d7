"""Build whom a test tells; say only what matters."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from missioncontrol.accounts.models import Project
from missioncontrol.notify import outbox
from missioncontrol.notify.models import Channel, Delivery, Device
from missioncontrol.sealing import fingerprint, seal
from tests.build import NOON


def a_channel(
    project: Project, url: str = "https://hooks.example.com/told", **fields: Any
) -> Channel:
    fields.setdefault("name", "ops")
    fields.setdefault("kind", "webhook")
    return Channel.objects.create(
        project=project,
        address=seal(url),
        created_by="ana",
        created_at=NOON,
        **fields,
    )


def a_device(user: User, endpoint: str = "https://push.example.com/ana", **fields: Any) -> Device:
    fields.setdefault("name", "Ana's Pixel")
    return Device.objects.create(
        user=user,
        endpoint=seal(endpoint),
        endpoint_digest=fingerprint(endpoint),
        p256dh=seal("p256dh"),
        auth=seal("auth"),
        vapid_key="key-1",
        created_at=NOON,
        seen_at=NOON,
        **fields,
    )


def deliver_due(*, at: datetime = NOON) -> int:
    """Do what a worker does that sweeps at a moment; return how many it took."""
    claimed = outbox.claim(at=at)
    for delivery in claimed:
        outbox.deliver(delivery, at=at)
    return len(claimed)


def statuses(**wanted: Any) -> list[str]:
    found = Delivery.objects.filter(**wanted).order_by("id")
    return list(found.values_list("status", flat=True))
