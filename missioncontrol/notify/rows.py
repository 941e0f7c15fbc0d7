"""Channels and deliveries as wire rows. No query, no clock."""

from __future__ import annotations

from datetime import time
from typing import Any, cast

from missioncontrol.notify import addresses, content
from missioncontrol.notify.models import Channel, Delivery
from missioncontrol.notify.texts import texts_in
from missioncontrol.notify.tries import MOST_TRIES
from missioncontrol.notify.wording import words_of
from missioncontrol.sealing import Unreadable, unseal
from missioncontrol.wire.notices import ChannelHears, ChannelRow, DeliveryRow

# In the order in which the page offers them.
HEARD: tuple[ChannelHears, ...] = ("decisions", "budgets", "reports")


def channel_row(channel: Channel, *, last: Delivery | None) -> ChannelRow:
    """Show a channel; its address stays here."""
    try:
        shown = addresses.shown(channel.kind, unseal(channel.address))
    # SECRET_KEY was changed: the page asks for the address again.
    except Unreadable:
        shown = None
    return ChannelRow(
        id=channel.id,
        project=channel.project_id,
        kind=cast(Any, channel.kind),
        name=channel.name,
        shown=shown,
        enabled=channel.enabled,
        step_minutes=channel.step_minutes,
        quiet_from=_clock(channel.quiet_from),
        quiet_to=_clock(channel.quiet_to),
        language=cast(Any, channel.language),
        hears=tuple(topic for topic in HEARD if getattr(channel, f"hears_{topic}")),
        created_by=channel.created_by,
        created_at=channel.created_at,
        last=delivery_row(last, language=channel.language) if last else None,
    )


def delivery_row(delivery: Delivery, *, language: str) -> DeliveryRow:
    """Show a delivery with its notice, and the notice's run, to who reads that language."""
    notice = delivery.notice
    message = content.read(notice.content, language=language)
    t = texts_in(language)
    # As it read when it was sent, or will: a later step tells how long nobody answered.
    at = delivery.sent_at or delivery.due_at or delivery.created_at
    return DeliveryRow(
        id=delivery.id,
        project=delivery.project_id,
        run=notice.run_id,
        run_name=notice.run.name if notice.run else None,
        decision=notice.decision,
        what=cast(Any, delivery.what),
        title=words_of(message, t, step_minutes=delivery.step_minutes, at=at).title,
        kind=cast(Any, delivery.kind),
        target=delivery.target,
        channel=delivery.channel_id,
        step_minutes=delivery.step_minutes,
        status=cast(Any, delivery.status),
        tries=delivery.tries,
        most_tries=MOST_TRIES,
        created_at=delivery.created_at,
        due_at=delivery.due_at,
        sent_at=delivery.sent_at,
        error=delivery.last_error or None,
        can_retry=may_retry(delivery),
    )


def may_retry(delivery: Delivery) -> bool:
    """Tell whether another try can still reach somebody whom it concerns."""
    has_target = delivery.channel_id is not None or delivery.device_id is not None
    return delivery.status == "failed" and has_target and delivery.notice.settled_at is None


def _clock(value: time | None) -> str | None:
    return value.strftime("%H:%M") if value else None
