"""Let devices go that were signed out from afar: what they show is closed, then they are forgotten.

Nobody may have such a device in hand, and its app may never be opened again: one last push
takes every notification of ours away. The subscription goes once that push was taken, or
has failed for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q

from missioncontrol.notify import content, services
from missioncontrol.notify.models import Delivery, Device, Notice


def send_to(devices: Iterable[Device], *, at: datetime) -> None:
    """Have devices close what they were shown, and forget them after it.

    Called in the transaction that forgets their browsers, before it does.
    """
    announcement = content.in_every_language(
        lambda t: content.Announcement(title=t.signed_out_title, body=t.signed_out_body)
    )
    made: list[Delivery] = []
    for device in devices:
        # One that is under way counts: it may arrive after this was written.
        shown = device.deliveries.filter(Q(status="sent") | Q(leased_until__gt=at)).order_by("-id")
        project = shown.values_list("project_id", flat=True).first()
        if project is None:  # it was told nothing, nor is being told now: it shows none of ours
            device.delete()
            continue
        # Before the browser is forgotten, which would take the device along.
        device.browser, device.left_at = None, at
        device.save(update_fields=["browser", "left_at"])
        about = {"project_id": project, "what": "sign_out"}
        notice = Notice.objects.create(
            **about, subject=str(device.id), content=content.kept(announcement), at=at
        )
        delivery = Delivery.objects.create(
            **about,
            notice=notice,
            kind="push",
            target=device.name,
            device=device,
            created_at=at,
            due_at=at,
        )
        made.append(delivery)
    services.enqueue_on_commit(made)
