"""Read channels and deliveries. `projects` is what the reader may see."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery

from missioncontrol.errors import NotFound
from missioncontrol.notify import rows
from missioncontrol.notify.models import Channel, Delivery
from missioncontrol.wire.notices import ChannelRow


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
    return [rows.channel_row(channel, last=last_deliveries.get(channel.last)) for channel in found]


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
    return rows.channel_row(channel, last=last)


def channel(channel_id: UUID, *, projects: Collection[UUID]) -> Channel:
    """Return a channel.

    Raises:
        NotFound: it is in no project of theirs.
    """
    found = Channel.objects.filter(pk=channel_id, project_id__in=projects).first()
    if found is None:
        raise NotFound("The channel")
    return found


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
    found = _with_notice(Delivery.objects.filter(pk=delivery_id, project_id__in=projects)).first()
    if found is None:
        raise NotFound("The delivery")
    return found


def _with_notice(found: QuerySet[Delivery]) -> QuerySet[Delivery]:
    return found.select_related("notice", "notice__run", "device", "channel")
