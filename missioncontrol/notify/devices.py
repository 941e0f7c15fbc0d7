"""Browsers that take pushes: subscribed, changed, and signed out.

A device that was signed out remotely may be in nobody's hands, and its app may never be opened
again. So one last push closes what it shows and removes all our notifications. Its subscription
is deleted once that push was accepted, or failed for good.
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
from missioncontrol.notify import content, quiet_hours, services, vapid
from missioncontrol.notify.models import Delivery, Device, Notice
from missioncontrol.notify.web_push import decode_base64url
from missioncontrol.sealing import fingerprint, seal
from missioncontrol.translation import language_of

AUTH_BYTES = 16
# A waiting delivery with an error is tried again; until then it counts as failed.
HAS_FAILED = Q(status="failed") | Q(status="waiting", last_error__gt="")


@dataclass(frozen=True, slots=True, kw_only=True)
class PushKeys:
    """The browser's public keys, which encrypt pushes to it."""

    p256dh: str
    auth: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPush:
    """A browser's push subscription, as `PushSubscription.toJSON()` returns it."""

    endpoint: str
    keys: PushKeys
    vapid_key: str
    """The key it subscribed with, as `devices/reach/` gave it."""
    time_zone: str = "UTC"
    language: str | None = None
    """Absent: unchanged."""
    name: str | None = None
    """The device's own name, if it gives one."""


@transaction.atomic
def subscribe(browser: Browser, asked: NewPush, *, at: datetime) -> Device:
    """Subscribe a browser to pushes, replacing its older subscription.

    Raises:
        InvalidRequest: the address may not be called, or a key is invalid.
    """
    # With another key the push service would refuse each push with 403, and nobody would notice.
    if asked.vapid_key != vapid.public_key():
        raise InvalidRequest("vapid_key: not the key of this installation.", field="vapid_key")
    with outbound.as_invalid_request("endpoint"):
        outbound.check_url(asked.endpoint, private_hosts=settings.NOTIFY_HOSTS)
    try:
        # Checked now: an invalid key would fail at each push, unseen by the sender.
        ec.EllipticCurvePublicKey.from_encoded_point(
            ec.SECP256R1(), decode_base64url(asked.keys.p256dh)
        )
        is_long_enough = len(decode_base64url(asked.keys.auth)) == AUTH_BYTES
    except ValueError:
        is_long_enough = False
    if not is_long_enough:
        raise InvalidRequest("keys: not the keys of a push subscription.", field="keys")
    fields: dict[str, Any] = {
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
        fields["language"] = language_of(asked.language)
    endpoint_digest = fingerprint(asked.endpoint)
    same_address = Device.objects.filter(endpoint_digest=endpoint_digest)
    # Another person's device, or a signed-out one, is deleted with its settings.
    same_address.exclude(user=browser.user, left_at=None).delete()
    # One row for each browser, whatever its address now: its quiet hours and its name stay.
    if device := Device.objects.filter(browser=browser).first():
        same_address.exclude(pk=device.pk).delete()
        _update_device(device, {**fields, "endpoint_digest": endpoint_digest})
        return device
    # By its address: two tabs of one browser may subscribe at once.
    return Device.objects.update_or_create(
        fields, {**fields, "created_at": at}, endpoint_digest=endpoint_digest
    )[0]


def change_device(device: Device, changes: dict[str, Any]) -> None:
    """Change a person's settings of a device.

    Raises:
        InvalidRequest: quiet hours lack an end, or the time zone does not exist.
    """
    if "language" in changes:
        changes["language"] = language_of(changes["language"])
    if "time_zone" in changes:
        changes["time_zone"] = read_zone(changes["time_zone"], field="time_zone").key
    _update_device(device, {**changes, **quiet_hours.parse_quiet_hours(device, changes)})


@dataclass(frozen=True, slots=True, kw_only=True)
class PushResults:
    """The latest results of pushes to a device."""

    sent_at: datetime | None = None
    failed_at: datetime | None = None
    """Later than `sent_at`; None: pushes work."""
    error: str = ""


def last_push_results(devices: list[Device]) -> dict[UUID, PushResults]:
    """Return the results of each device's newest pushes."""
    # A delivery that was never tried says nothing about the device.
    mine = Delivery.objects.filter(device=OuterRef("pk"), tries__gt=0).order_by("-id")
    newest = Device.objects.filter(pk__in=[device.pk for device in devices]).annotate(
        # The newest by subqueries: a device may have thousands of deliveries.
        sent=Subquery(mine.filter(status="sent").values("sent_at")[:1]),
        failed=Subquery(mine.filter(HAS_FAILED).values("created_at")[:1]),
        error=Subquery(mine.filter(HAS_FAILED).values("last_error")[:1]),
    )
    results: dict[UUID, PushResults] = {}
    for row in newest:
        # An old failure no longer matters once a later push arrived.
        works = row.failed is None or (row.sent is not None and row.sent > row.failed)
        failure: dict[str, Any] = {} if works else {"failed_at": row.failed, "error": row.error}
        results[row.pk] = PushResults(sent_at=row.sent, **failure)
    return results


def sign_out_devices(devices: Iterable[Device], *, at: datetime) -> None:
    """Make devices close what they show, and delete them afterwards.

    Called in the transaction that deletes their browsers, before it does.
    """
    announcement = content.in_every_language(
        lambda t: content.Announcement(title=t.signed_out_title, body=t.signed_out_body)
    )
    deliveries: list[Delivery] = []
    for device in devices:
        # Includes a push that is on its way: it may arrive after this transaction.
        shown = device.deliveries.filter(Q(status="sent") | Q(leased_until__gt=at)).order_by("-id")
        project = shown.values_list("project_id", flat=True).first()
        if project is None:  # nothing was or is being sent to it, so it shows nothing
            device.delete()
            continue
        # Before the browser is deleted, which would delete the device with it.
        device.browser, device.left_at = None, at
        device.save(update_fields=["browser", "left_at"])
        notice = Notice.objects.create(
            project_id=project,
            what="sign_out",
            subject=str(device.id),
            content=content.dump(announcement),
            at=at,
        )
        deliveries.append(services.new_delivery(device, notice, at=at, due_at=at))
    services.save_deliveries(deliveries)


def _update_device(device: Device, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        setattr(device, name, value)
    device.save(update_fields=list(changes))
