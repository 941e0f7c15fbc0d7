"""Browsers that take pushes: subscribed, changed, and let go.

Of one that was signed out from afar what it shows is closed, and then it is forgotten: nobody
may have it in hand, and its app may never be opened again, so one last push takes every
notification of ours away. The subscription goes once that push was taken, or failed for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from django.db import transaction
from django.db.models import OuterRef, Q, Subquery

from missioncontrol import outbound
from missioncontrol.accounts.models import Browser
from missioncontrol.clock import read_zone
from missioncontrol.errors import InvalidRequest
from missioncontrol.notify import content, quiet, services, vapid
from missioncontrol.notify.models import Delivery, Device, Notice
from missioncontrol.notify.texts import language_of
from missioncontrol.notify.web_push import raw
from missioncontrol.sealing import fingerprint, seal

AUTH_BYTES = 16
# What waits with an error is tried again: until then it has failed.
FAILED = Q(status="failed") | Q(status="waiting", last_error__gt="")


@dataclass(frozen=True, slots=True, kw_only=True)
class PushKeys:
    """The browser's public keys, with which pushes to it are encrypted."""

    p256dh: str
    auth: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPush:
    """A browser's push subscription, as `PushSubscription.toJSON()` returns it."""

    endpoint: str
    keys: PushKeys
    vapid_key: str
    """The key it subscribed with: `devices/reach/` says which."""
    time_zone: str = "UTC"
    language: str | None = None
    """Absent: as it was."""
    name: str | None = None
    """What the device calls itself, where it tells."""


@transaction.atomic
def subscribe(browser: Browser, asked: NewPush, *, at: datetime) -> Device:
    """Have a browser take pushes; its older subscription goes.

    Raises:
        InvalidRequest: the address may not be called, or a key cannot be read.
    """
    # Of another key the push service would refuse each push with 403, and nobody would see it.
    if asked.vapid_key != vapid.public_key():
        raise InvalidRequest("vapid_key: not the key of this installation.", field="vapid_key")
    try:
        outbound.check_url(asked.endpoint, private_hosts=settings.NOTIFY_HOSTS)
    except outbound.Unsendable as refused:
        raise InvalidRequest(f"endpoint: {refused}.", field="endpoint") from None
    try:
        # Read now: a key that cannot be would fail at each push, unseen by whoever sent it.
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw(asked.keys.p256dh))
        is_long_enough = len(raw(asked.keys.auth)) == AUTH_BYTES
    except ValueError:
        is_long_enough = False
    if not is_long_enough:
        raise InvalidRequest("keys: not the keys of a push subscription.", field="keys")
    kept: dict[str, Any] = {
        "user": browser.user,
        "browser": browser,
        "name": browser.name,
        "kind": browser.kind,
        "endpoint": seal(asked.endpoint),
        "p256dh": seal(asked.keys.p256dh),
        "auth": seal(asked.keys.auth),
        "vapid_key": asked.vapid_key,
        "seen_at": at,
        "time_zone": read_zone(asked.time_zone, field="time_zone").key,
    }
    if asked.language is not None:
        kept["language"] = language_of(asked.language)
    mark = fingerprint(asked.endpoint)
    same_address = Device.objects.filter(endpoint_digest=mark)
    # A stranger's, or signed out: it goes with what was chosen for it.
    same_address.exclude(user=browser.user, left_at=None).delete()
    # One row a browser, whatever address it has now: its quiet hours and its name stay.
    if known := Device.objects.filter(browser=browser).first():
        same_address.exclude(pk=known.pk).delete()
        _write(known, {**kept, "endpoint_digest": mark})
        return known
    # By its address: two tabs of one browser may subscribe at once.
    return Device.objects.update_or_create(kept, {**kept, "created_at": at}, endpoint_digest=mark)[
        0
    ]


def change(device: Device, changes: dict[str, Any]) -> None:
    """Change what a person chooses for a device.

    Raises:
        InvalidRequest: quiet hours need both ends; a zone must be one.
    """
    if "language" in changes:
        changes["language"] = language_of(changes["language"])
    if "time_zone" in changes:
        changes["time_zone"] = read_zone(changes["time_zone"], field="time_zone").key
    _write(device, {**changes, **quiet.read_hours(device, changes)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came last of pushing to a device."""

    sent_at: datetime | None = None
    failed_at: datetime | None = None
    """Later than `sent_at`, or None: it works again."""
    error: str = ""


def last_tried(devices: list[Device]) -> dict[UUID, Tried]:
    """Return what came of each device's newest pushes."""
    # What was never tried says nothing of the device.
    mine = Delivery.objects.filter(device=OuterRef("pk"), tries__gt=0).order_by("-id")
    newest = Device.objects.filter(pk__in=[device.pk for device in devices]).annotate(
        # The newest by subqueries: a device may have been told thousands of things.
        sent=Subquery(mine.filter(status="sent").values("sent_at")[:1]),
        failed=Subquery(mine.filter(FAILED).values("created_at")[:1]),
        error=Subquery(mine.filter(FAILED).values("last_error")[:1]),
    )
    tried: dict[UUID, Tried] = {}
    for row in newest:
        # An old failure says nothing once a later push arrived.
        works = row.failed is None or (row.sent is not None and row.sent > row.failed)
        failure: dict[str, Any] = {} if works else {"failed_at": row.failed, "error": row.error}
        tried[row.pk] = Tried(sent_at=row.sent, **failure)
    return tried


def let_go(devices: Iterable[Device], *, at: datetime) -> None:
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
        notice = Notice.objects.create(
            project_id=project,
            what="sign_out",
            subject=str(device.id),
            content=content.kept(announcement),
            at=at,
        )
        made.append(services.delivery_to(device, notice, at=at, due_at=at))
    services.keep(made)


def _write(device: Device, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        setattr(device, name, value)
    device.save(update_fields=list(changes))
