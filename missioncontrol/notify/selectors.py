"""Read channels and deliveries, as wire rows. `projects` is what the reader may see."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery

from missioncontrol.errors import existing
from missioncontrol.notify import addresses, content
from missioncontrol.notify.models import Channel, Delivery
from missioncontrol.notify.quiet import write_clock
from missioncontrol.notify.texts import texts_in
from missioncontrol.notify.wording import words_of
from missioncontrol.outbound import MOST_TRIES
from missioncontrol.sealing import Unreadable, unseal
from missioncontrol.wire.notices import ChannelHears, ChannelRow, DeliveryRow
from missioncontrol.wire.rows import row_of

# In the order in which the page offers them.
HEARD: tuple[ChannelHears, ...] = ("decisions", "budgets", "reports")


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How well people are reached, over every project."""

    deliveries: dict[str, int]
    disabled_channels: int
    oldest_due_s: float
    """How long the delivery that waits longest has been due; 0: none waits."""


# What says something of a channel: somebody was told, or it was tried.
TOLD = Q(status__in=["sent", "failed"]) | Q(status="waiting", tries__gt=0)


def channels(*, projects: Collection[UUID]) -> list[ChannelRow]:
    """Return the channels of projects in the order of their steps, with what was told last."""
    tried = Delivery.objects.filter(TOLD, channel=OuterRef("pk"))
    newest = tried.order_by("-id").values("id")[:1]
    found = list(
        # The newest of each by a subquery: a channel may have been told thousands of things.
        Channel.objects.filter(project_id__in=projects)
        .annotate(last=Subquery(newest))
        .order_by("step_minutes", "id")
    )
    last_deliveries = {
        row.id: row
        for row in _with_notice(
            Delivery.objects.filter(pk__in=[channel.last for channel in found if channel.last])
        )
    }
    return [channel_row(channel, last=last_deliveries.get(channel.last)) for channel in found]


def health(*, at: datetime) -> Health:
    """Count what became of deliveries, and tell how long the outbox is behind."""
    # Settled ones have no `due_at`: nothing else needs to be left out.
    oldest = Delivery.objects.filter(due_at__lte=at).aggregate(due=Min("due_at"))["due"]
    by_status = Delivery.objects.values_list("status").annotate(Count("id"))
    return Health(
        deliveries=dict(by_status),
        disabled_channels=Channel.objects.filter(enabled=False).count(),
        oldest_due_s=(at - oldest).total_seconds() if oldest else 0.0,
    )


def show_channel(channel: Channel) -> ChannelRow:
    """Show one channel with what it was told last."""
    last = _with_notice(channel.deliveries.filter(TOLD).order_by("-id")).first()
    return channel_row(channel, last=last)


def channel(channel_id: UUID, *, projects: Collection[UUID]) -> Channel:
    """Return a channel.

    Raises:
        NotFound: it is in no project of theirs.
    """
    found = Channel.objects.filter(pk=channel_id, project_id__in=projects)
    return existing(found.first(), "The channel")


def deliveries(
    *,
    projects: Collection[UUID],
    statuses: Sequence[str] = (),
    kinds: Sequence[str] = (),
    channel: UUID | None = None,
    decision: UUID | None = None,
    run: UUID | None = None,
) -> QuerySet[Delivery]:
    """Find deliveries, newest first."""
    found = Delivery.objects.filter(project_id__in=projects)
    if statuses:
        found = found.filter(status__in=statuses)
    if kinds:
        found = found.filter(kind__in=kinds)
    if channel is not None:
        found = found.filter(channel_id=channel)
    if decision is not None:
        found = found.filter(notice__decision=decision)
    if run is not None:
        found = found.filter(notice__run_id=run)
    return _with_notice(found.order_by("-id"))


def delivery(delivery_id: UUID, *, projects: Collection[UUID]) -> Delivery:
    """Return a delivery.

    Raises:
        NotFound: it is in no project of theirs.
    """
    found = Delivery.objects.filter(pk=delivery_id, project_id__in=projects)
    return existing(_with_notice(found).first(), "The delivery")


def _with_notice(found: QuerySet[Delivery]) -> QuerySet[Delivery]:
    return found.select_related("notice", "notice__run", "device", "channel")


def channel_row(channel: Channel, *, last: Delivery | None) -> ChannelRow:
    """Show a channel; its address stays here."""
    try:
        shown = addresses.shown(channel.kind, unseal(channel.address))
    # SECRET_KEY was changed: the page asks for the address again.
    except Unreadable:
        shown = None
    return row_of(
        ChannelRow,
        channel,
        shown=shown,
        quiet_from=write_clock(channel.quiet_from),
        quiet_to=write_clock(channel.quiet_to),
        hears=tuple(topic for topic in HEARD if getattr(channel, f"hears_{topic}")),
        last=delivery_row(last, language=channel.language) if last else None,
    )


def delivery_row(delivery: Delivery, *, language: str) -> DeliveryRow:
    """Show a delivery with its notice, and the notice's run, to who reads that language."""
    notice = delivery.notice
    message = content.read(notice.content, language=language)
    t = texts_in(language)
    # As it read when it was sent, or will: a later step tells how long nobody answered.
    at = delivery.sent_at or delivery.due_at or delivery.created_at
    return row_of(
        DeliveryRow,
        delivery,
        run=notice.run_id,
        run_name=notice.run.name if notice.run else None,
        decision=notice.decision,
        title=words_of(message, t, step_minutes=delivery.step_minutes, at=at).title,
        most_tries=MOST_TRIES,
        error=delivery.last_error or None,
        can_retry=may_retry(delivery),
    )


def may_retry(delivery: Delivery) -> bool:
    """Tell whether another try can still reach somebody whom it concerns."""
    has_target = delivery.channel_id is not None or delivery.device_id is not None
    return delivery.status == "failed" and has_target and delivery.notice.settled_at is None
