"""What a push tells the service worker, and how long it may wait for the device. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from missioncontrol.notify import wording
from missioncontrol.notify.content import Announcement, Card
from missioncontrol.notify.texts import Texts
from missioncontrol.wire.decisions import PERMISSION

LONGEST_TTL_S = 24 * 3600
# A card that holds nobody is old news after a while.
UNHELD_TTL_S = 4 * 3600
# As long as push services keep one: a lost phone may be switched on weeks later.
SIGNED_OUT_TTL_S = 28 * 24 * 3600
CENT = Decimal("0.01")
# `action` and `title`; `message`: what is injected; `amount`: what is allowed on top; `sure`: it
# cannot be taken back and is asked again, under this title.
Button = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A message for one device, and what the push service is told of it."""

    payload: dict[str, Any]
    ttl_s: int
    urgency: str
    topic: str
    """At most 32 signs: a newer push of the same topic takes the place of one that waits."""


def of_card(
    card: Card, t: Texts, *, step_minutes: int, open_cards: int, details: bool, at: datetime
) -> Push:
    """Ask for an answer: names the run, says why, what it costs, and what can be tapped."""
    words = wording.words_of(card, t, step_minutes=step_minutes, at=at)
    payload = {
        "type": "card",
        "language": t.language,
        "tag": str(card.decision),
        "title": words.title,
        # Without details: whoever looks at a lock screen reads the run's name at most.
        "body": words.body if details else "",
        "path": words.path,
        "run": str(card.run),
        "run_name": card.run_name,
        "decision": str(card.decision),
        "version": card.version,
        "actions": buttons_of(card, t) if details else [],
        "open": open_cards,
        "at": card.opened_at.isoformat(),
    }
    ttl_s = UNHELD_TTL_S
    if card.expires_at is not None:  # until it answers itself; no service keeps it longer than that
        left_s = int((card.expires_at - at).total_seconds())
        # A minute at least: a TTL of 0 is dropped where the phone sleeps.
        ttl_s = min(LONGEST_TTL_S, max(60, left_s))
    # High: else a phone that sleeps is told when it next wakes, and an agent waits meanwhile.
    return Push(payload=payload, ttl_s=ttl_s, urgency="high", topic=card.decision.hex)


def of_withdrawal(card: Card, t: Texts, *, outcome: str, by: str, open_cards: int) -> Push:
    """Say that a card was answered: its notification goes."""
    text = (
        t.by_person[outcome].format(by=by)
        if outcome in t.by_person
        else t.by_itself.get(outcome, "")
    )
    payload = {
        "type": "withdrawn",
        "language": t.language,
        "tag": str(card.decision),
        "title": wording.titled(t.answered, card.run_name),
        "body": text,
        "path": f"/runs/{card.run}",
        "open": open_cards,
    }
    # The card's own topic: a push of it that still waits for the device is replaced unseen.
    return Push(payload=payload, ttl_s=3600, urgency="normal", topic=card.decision.hex)


def of_sign_out(announcement: Announcement, t: Texts, *, topic: str) -> Push:
    """Say that this device was signed out: whatever it shows of ours goes."""
    payload = {
        "type": "withdrawn",
        "everything": True,
        "language": t.language,
        "tag": topic,
        "title": announcement.title,
        "body": announcement.body,
        "path": announcement.path,
        "open": 0,
    }
    return Push(payload=payload, ttl_s=SIGNED_OUT_TTL_S, urgency="high", topic=topic)


def of_announcement(
    announcement: Announcement, t: Texts, *, topic: str, open_cards: int, details: bool
) -> Push:
    """Tell something that asks nothing."""
    payload = {
        "type": "told",
        "language": t.language,
        "tag": topic,
        "title": announcement.title,
        "body": announcement.body if details else "",
        "path": announcement.path,
        "open": open_cards,
    }
    return Push(payload=payload, ttl_s=LONGEST_TTL_S, urgency="normal", topic=topic)


def buttons_of(card: Card, t: Texts) -> list[Button]:
    """Return at most two answers. A fix is injected only from where it stands in full."""
    # Asked of the very text that is shown: it is left out where there is no room.
    fix = wording.fix_in(card, t)
    stands = fix and fix in wording.words_of(card, t, at=card.opened_at).body
    if "inject" in card.actions and card.fix and stands:
        first: Button = {"action": "inject", "title": t.inject_fix, "message": card.fix}
    elif "inject" in card.actions and (card.fix or card.long_fix):
        first = {"action": "open", "title": t.read_fix}
    elif card.kind == PERMISSION:  # a call is allowed only from where it stands in full
        read: Button = {"action": "open", "title": t.read_call}
        allow = _offered(card, ("allow_once", t.allow_once)) if card.asks_whole else [read]
        return [*allow, *_offered(card, ("deny", t.deny))]
    elif card.kind == "budget":
        # What the card itself offers first and last: half its ceiling more, and the end.
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
        return _offered(card, ("pause", t.hold), ("continue", t.proceed))
    else:
        # Ending a run cannot be taken back: it is asked on the card, or by a second tap.
        terminate: Button = {"action": "open", "title": t.terminate_there}
        return [*_offered(card, ("continue", t.proceed)), terminate]
    return [first, *_offered(card, ("continue", t.proceed))]


def budget_step(ceiling: Decimal, unit: str) -> Decimal:
    """Return how much more is offered at a reached ceiling, as the card reckons it.

    >>> [str(budget_step(Decimal(text), "usd")) for text in ("5", "1.50", "0.01")]
    ['3', '0.75', '0.01']
    """
    half = ceiling / 2
    # In whole dollars a small ceiling would be offered its double, or nothing.
    if unit == "usd" and half < 1:
        return max(CENT, half.quantize(CENT, ROUND_HALF_UP))
    return max(Decimal(1), half.quantize(Decimal(1), ROUND_HALF_UP))


def _offered(card: Card, *wanted: tuple[str, str]) -> list[Button]:
    return [
        {"action": action, "title": title} for action, title in wanted if action in card.actions
    ]
