"""Web Push: what the service worker is told, and how long a push may wait for the device.

A push is encrypted for one browser (RFC 8291) and signed as ours (RFC 8292).
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings

from missioncontrol import outbound
from missioncontrol.accounts import credentials
from missioncontrol.accounts.models import Role
from missioncontrol.notify import content, vapid
from missioncontrol.notify.content import Announcement, Card
from missioncontrol.notify.models import Delivery, Device, Notice
from missioncontrol.notify.texts import Texts, texts_in
from missioncontrol.outbound import Outcome, outcome_of_reply
from missioncontrol.sealing import unseal
from missioncontrol.wire.decisions import PERMISSION

# RFC 8030, 7.3: a push service's answers once a subscription has ended.
GONE_STATUSES = frozenset({404, 410})
# Answers to a token that a service does not accept; Apple's is 403 (`contact`).
TOKEN_REFUSED = frozenset({400, 401, 403})
NO_CONTACT_HINT = (
    "some push services, Apple's among them, want to know whom to turn to; set VAPID_SUBJECT "
    "to mailto:you@your.domain, or --public-url to an https address out there"
)
MAX_TTL_S = 24 * 3600
# A card that holds no agent is old news after a while.
UNHELD_TTL_S = 4 * 3600
# As long as push services keep a push: a lost phone may be switched on weeks later.
SIGNED_OUT_TTL_S = 28 * 24 * 3600
CENT = Decimal("0.01")
# `action` and `title`; `message`: the text to inject; `amount`: how much more is allowed; `sure`:
# the action cannot be undone and is confirmed first, under this title.
Button = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A message for one device, and what the push service is told of it."""

    payload: dict[str, Any]
    ttl_s: int
    urgency: str
    topic: str
    """At most 32 characters: a newer push of the same topic replaces a waiting one."""


def send(delivery: Delivery, at: datetime) -> Outcome:
    """Push a delivery to its device; `is_gone` in the outcome: the subscription has ended."""
    device: Any = delivery.device
    push = build_push(delivery, at=at)
    endpoint = unseal(device.endpoint)
    try:
        headers = headers_of(push, endpoint, at=at)
        body = encrypt(json.dumps(push.payload).encode(), device)
        reply = outbound.call(endpoint, body, headers, private_hosts=settings.NOTIFY_HOSTS)
    # Final: another try would find no key either.
    except vapid.NoKey as missing:
        return Outcome(failure=str(missing), is_final=True)
    except outbound.RequestFailed as refused:
        return Outcome(failure=f"the push service could not be reached: {refused}")
    outcome = outcome_of_reply(reply)
    # The service does not say why: of the causes that people can fix, no contact is the likeliest.
    if reply.status in TOKEN_REFUSED and vapid.contact().problem:
        return replace(outcome, failure=f"{outcome.failure}: {NO_CONTACT_HINT}")
    return replace(outcome, is_gone=True) if reply.status in GONE_STATUSES else outcome


def build_push(delivery: Delivery, *, at: datetime) -> Push:
    """Return the push for a delivery."""
    device: Any = delivery.device
    notice, t = delivery.notice, texts_in(device.language)
    message = content.load(notice.content, language=device.language)
    if delivery.what == "sign_out" and isinstance(message, Announcement):
        return sign_out_push(message, t, topic=notice.id.hex)
    # Counted when sent: the app's icon shows it without being opened.
    open_cards = count_open_cards(device)
    if isinstance(message, Announcement):
        return announcement_push(
            message, t, topic=notice.id.hex, open_cards=open_cards, details=device.show_details
        )
    if delivery.what == "withdrawal":
        return withdrawal_push(
            message, t, outcome=notice.outcome, by=notice.settled_by, open_cards=open_cards
        )
    # Only owners can raise the organisation's ceiling: others get no button that would be refused.
    owned = credentials.open_memberships().filter(user_id=device.user_id, role=Role.OWNER)
    if message.scope == "organisation" and not owned.exists():
        left = tuple(one for one in message.actions if one != "allow_budget")
        message = replace(message, actions=left)
    return card_push(
        message,
        t,
        step_minutes=delivery.step_minutes,
        open_cards=open_cards,
        details=device.show_details,
        at=at,
    )


def count_open_cards(device: Device) -> int:
    """Count the cards that its person has not answered: the number on the app's icon."""
    live = credentials.open_memberships().filter(user_id=device.user_id, project__archived_at=None)
    mine = live.values("project")
    unanswered = Notice.objects.filter(settled_at=None, project__in=mine)
    return unanswered.exclude(decision=None).count()


def headers_of(push: Push, endpoint: str, *, at: datetime) -> dict[str, str]:
    """Return the HTTP headers of a push."""
    return {
        "Authorization": vapid.authorization(endpoint, at=at),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(push.ttl_s),
        "Urgency": push.urgency,
        "Topic": push.topic,
    }


def encrypt(payload: bytes, device: Device) -> bytes:
    """Encrypt for the one browser that holds the private key."""
    encrypted: bytes = http_ece.encrypt(
        payload,
        # A new salt each time, or equal messages would look the same.
        salt=os.urandom(16),
        # A key for this message only (RFC 8291, 3.1).
        private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=decode_base64url(unseal(device.p256dh)),
        auth_secret=decode_base64url(unseal(device.auth)),
        version="aes128gcm",
    )
    return encrypted


def decode_base64url(text: str) -> bytes:
    """Decode base64url as browsers write it, without padding.

    Raises:
        ValueError: it is not base64url.
    """
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def card_push(
    card: Card, t: Texts, *, step_minutes: int, open_cards: int, details: bool, at: datetime
) -> Push:
    """Ask for an answer: the run's name, the reason, its cost, and what can be tapped."""
    words = content.render_notice(card, t, step_minutes=step_minutes, at=at)
    ttl_s = UNHELD_TTL_S
    if card.expires_at is not None:  # until it expires, at most as long as services keep a push
        left_s = int((card.expires_at - at).total_seconds())
        # At least a minute: a push with a TTL of 0 is dropped if the phone sleeps.
        ttl_s = min(MAX_TTL_S, max(60, left_s))
    return _new_push(
        "card",
        t,
        tag=str(card.decision),
        ttl_s=ttl_s,
        # Otherwise a sleeping phone gets it when it next wakes, and an agent waits meanwhile.
        urgency="high",
        title=words.title,
        # Without details, a lock screen shows no more than the run's name.
        body=words.body if details else "",
        path=words.path,
        run=str(card.run),
        run_name=card.run_name,
        decision=str(card.decision),
        version=card.version,
        actions=buttons_of(card, t) if details else [],
        open=open_cards,
        at=card.opened_at.isoformat(),
    )


def withdrawal_push(card: Card, t: Texts, *, outcome: str, by: str, open_cards: int) -> Push:
    """Say that a card was answered, which removes its notification."""
    text = t.by_person.get(outcome, t.by_itself.get(outcome, "")).format(by=by)
    title, path = content.fill_title(t.answered, card.run_name), f"/runs/{card.run}"
    own = {"title": title, "body": text, "path": path, "open": open_cards}
    # The card's own tag: a push of it that still waits for the device is replaced unseen.
    return _new_push("withdrawn", t, tag=str(card.decision), ttl_s=3600, urgency="normal", **own)


def sign_out_push(announcement: Announcement, t: Texts, *, topic: str) -> Push:
    """Say that this device was signed out, which removes all our notifications."""
    own = {"title": announcement.title, "body": announcement.body, "path": announcement.path}
    more = {"everything": True, "open": 0, **own}
    return _new_push("withdrawn", t, tag=topic, ttl_s=SIGNED_OUT_TTL_S, urgency="high", **more)


def announcement_push(
    announcement: Announcement, t: Texts, *, topic: str, open_cards: int, details: bool
) -> Push:
    """Return the push of an announcement, which asks nothing."""
    body = announcement.body if details else ""
    own: dict[str, Any] = {"title": announcement.title, "body": body, "path": announcement.path}
    return _new_push(
        "announcement", t, tag=topic, ttl_s=MAX_TTL_S, urgency="normal", open=open_cards, **own
    )


def _new_push(kind: str, t: Texts, *, tag: str, ttl_s: int, urgency: str, **own: Any) -> Push:
    payload = {"type": kind, "language": t.language, "tag": tag, **own}
    return Push(payload=payload, ttl_s=ttl_s, urgency=urgency, topic=tag.replace("-", ""))


def buttons_of(card: Card, t: Texts) -> list[Button]:
    """Return at most two buttons. A fix can be injected only where it is shown in full."""
    # Look for it in the text as shown: it is left out if there is no room.
    fix = content.inline_fix(card, t)
    is_shown = fix and fix in content.render_notice(card, t, at=card.opened_at).body
    if "inject" in card.actions and card.fix and is_shown:
        first: Button = {"action": "inject", "title": t.inject_fix, "message": card.fix}
    elif "inject" in card.actions and (card.fix or card.long_fix):
        first = {"action": "open", "title": t.read_fix}
    elif card.kind == PERMISSION:  # a call can be allowed only where it is shown in full
        read: Button = {"action": "open", "title": t.read_call}
        allow = (
            _available_buttons(card, ("allow_once", t.allow_once)) if card.asks_whole else [read]
        )
        return [*allow, *_available_buttons(card, ("deny", t.deny))]
    elif card.kind == "budget":
        # The card's own first and last action: half its ceiling more, and the end.
        buttons: list[Button] = []
        if "allow_budget" in card.actions and card.ceiling and card.unit:
            step = budget_step(Decimal(card.ceiling), card.unit)
            in_dollars = card.unit == "usd"
            more = t.figures.round_money(step) if in_dollars else t.amount(str(step), card.unit)
            title = t.allow_more.format(amount=more)
            # Dollars as text: JSON's numbers are floats.
            amount = {card.unit: f"{step:.2f}" if in_dollars else int(step)}
            buttons.append({"action": "allow_budget", "title": title, "amount": amount})
        if "terminate" in card.actions:
            buttons.append({"action": "terminate", "title": t.stop, "sure": t.stop_now})
        return buttons
    elif not card.holds:
        return _available_buttons(card, ("pause", t.hold), ("continue", t.proceed))
    else:
        # Ending a run cannot be undone: it is confirmed on the card, or by a second tap.
        terminate: Button = {"action": "open", "title": t.terminate_there}
        return [*_available_buttons(card, ("continue", t.proceed)), terminate]
    return [first, *_available_buttons(card, ("continue", t.proceed))]


def budget_step(ceiling: Decimal, unit: str) -> Decimal:
    """Return how much more is offered at a reached ceiling, as the card calculates it.

    >>> [str(budget_step(Decimal(text), "usd")) for text in ("5", "1.50", "0.01")]
    ['3', '0.75', '0.01']
    """
    half = ceiling / 2
    # Whole dollars would at least double a small ceiling.
    if unit == "usd" and half < 1:
        return max(CENT, half.quantize(CENT, ROUND_HALF_UP))
    return max(Decimal(1), half.quantize(Decimal(1), ROUND_HALF_UP))


def _available_buttons(card: Card, *wanted: tuple[str, str]) -> list[Button]:
    return [
        {"action": action, "title": title} for action, title in wanted if action in card.actions
    ]
