"""Let devices go that were signed out from afar: what they show is closed, then they are forgotten.

Nobody may have such a device in hand, and its app may never be opened again: one last push
takes every notification of ours away. The subscription goes once that push was taken, or
has failed for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q

from missioncontrol.ids import new_id
from missioncontrol.notify import content, services
from missioncontrol.notify.models import Delivery, Device, Notice


def send_to(devices: Iterable[Device], *, at: datetime) -> None:
    """Have devices close what they were shown, and forget them after it.

    Called in the transaction that forgets their browsers, before it does.
    """
    services.enqueue_on_commit([told for device in devices if (told := _send_to(device, at=at))])


def _send_to(device: Device, *, at: datetime) -> Delivery | None:
    told = device.deliveries.filter(Q(status="sent") | Q(leased_until__gt=at)).order_by("-id")
    project = told.values_list("project_id", flat=True).first()
    if project is None:  # it was told nothing, and is being told nothing: it shows none of ours
        device.delete()
        return None
    device.browser, device.left_at = None, at
    device.save(update_fields=["browser", "left_at"])
    notice = Notice.objects.create(
        id=new_id(),
        project_id=project,
        what="sign_out",
        subject=str(device.id),
        content=content.kept(
            content.in_every_language(
                lambda t: content.Told(title=t.signed_out_title, body=t.signed_out_body)
            )
        ),
        at=at,
    )
    return Delivery.objects.create(
        id=new_id(),
        notice=notice,
        project_id=project,
        what="sign_out",
        kind="push",
        target=device.name,
        device=device,
        created_at=at,
        due_at=at,
    )
