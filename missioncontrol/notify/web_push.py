"""Web Push: encrypted for one browser (RFC 8291), signed as ours (RFC 8292)."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from datetime import datetime
from typing import Any

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings

from missioncontrol import outbound
from missioncontrol.accounts import ways
from missioncontrol.accounts.models import Role
from missioncontrol.notify import content, pushed, vapid
from missioncontrol.notify.models import Delivery, Device, Notice
from missioncontrol.notify.texts import texts_in
from missioncontrol.notify.tries import Outcome, of_status
from missioncontrol.sealing import unseal

# RFC 8030, 7.3: what a push service answers once a subscription has ended.
GONE = frozenset({404, 410})
# What services answer to a token that they do not take; Apple's says 403 (`contact`).
UNTRUSTED = frozenset({400, 401, 403})
NO_CONTACT = (
    "some push services, Apple's among them, want to know whom to turn to; set VAPID_SUBJECT "
    "to mailto:you@your.domain, or --public-url to an https address out there"
)


def send(delivery: Delivery, at: datetime) -> Outcome:
    """Push a delivery to its device; a subscription that ended says so."""
    device: Any = delivery.device
    push = push_of(delivery, at=at)
    endpoint = unseal(device.endpoint)
    try:
        headers = headers_of(push, endpoint, at=at)
        body = encrypt(json.dumps(push.payload).encode(), device)
        reply = outbound.post(endpoint, body, headers, private_hosts=settings.NOTIFY_HOSTS)
    # Final: trying again makes no key.
    except vapid.NoKey as missing:
        return Outcome(failure=str(missing), is_final=True)
    except outbound.Unsendable as refused:
        return Outcome(failure=f"the push service could not be reached: {refused}")
    outcome = of_status(reply.status)
    # The service does not say which: a missing contact is the likeliest that people can mend.
    if reply.status in UNTRUSTED and vapid.contact().problem:
        return replace(outcome, failure=f"{outcome.failure}: {NO_CONTACT}")
    return replace(outcome, is_gone=True) if reply.status in GONE else outcome


def push_of(delivery: Delivery, *, at: datetime) -> pushed.Push:
    """Return what a delivery says to its device."""
    device: Any = delivery.device
    notice, t = delivery.notice, texts_in(device.language)
    message = content.read(notice.content, language=device.language)
    if delivery.what == "sign_out" and isinstance(message, content.Announcement):
        return pushed.of_sign_out(message, t, topic=notice.id.hex)
    # Counted as it is sent: the app's icon shows it without being opened.
    open_cards = open_cards_of(device)
    if isinstance(message, content.Announcement):
        return pushed.of_announcement(
            message, t, topic=notice.id.hex, open_cards=open_cards, details=device.show_details
        )
    if delivery.what == "withdrawal":
        return pushed.of_withdrawal(
            message, t, outcome=notice.outcome, by=notice.settled_by, open_cards=open_cards
        )
    # Owners alone raise everybody's ceiling: nobody is offered a button that would be refused.
    owned = ways.open_memberships().filter(user_id=device.user_id, role=Role.OWNER)
    if message.scope == "organisation" and not owned.exists():
        left = tuple(one for one in message.actions if one != "allow_budget")
        message = replace(message, actions=left)
    return pushed.of_card(
        message,
        t,
        step_minutes=delivery.step_minutes,
        open_cards=open_cards,
        details=device.show_details,
        at=at,
    )


def open_cards_of(device: Device) -> int:
    """Count what its person has not answered: the number on the app's icon."""
    live = ways.open_memberships().filter(user_id=device.user_id, project__archived_at=None)
    mine = live.values("project")
    unanswered = Notice.objects.filter(settled_at=None, project__in=mine)
    return unanswered.exclude(decision=None).count()


def headers_of(push: pushed.Push, endpoint: str, *, at: datetime) -> dict[str, str]:
    """Return the headers of a push."""
    return {
        "Authorization": vapid.authorization(endpoint, at=at),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(push.ttl_s),
        "Urgency": push.urgency,
        "Topic": push.topic,
    }


def encrypt(payload: bytes, device: Device) -> bytes:
    """Encrypt for the one browser that holds the other half of the key."""
    encrypted: bytes = http_ece.encrypt(
        payload,
        # Another one each time, or equal messages would look alike.
        salt=os.urandom(16),
        # A key for this message alone (RFC 8291, 3.1).
        private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=raw(unseal(device.p256dh)),
        auth_secret=raw(unseal(device.auth)),
        version="aes128gcm",
    )
    return encrypted


def raw(text: str) -> bytes:
    """Read base64url as browsers write it, without padding.

    Raises:
        ValueError: it is not that.
    """
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
