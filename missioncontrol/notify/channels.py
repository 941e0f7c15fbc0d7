"""A project's channels and their deliveries: read as wire rows, and changed on its chain.

The chain records who changed a channel, never its address. `projects` is what the reader may see.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery

from missioncontrol.accounts.people import clean_name
from missioncontrol.errors import ActionUnavailable, InvalidRequest
from missioncontrol.notify import addresses, content, outbox, quiet_hours
from missioncontrol.notify.models import Channel, Delivery
from missioncontrol.notify.quiet_hours import format_time
from missioncontrol.notify.texts import texts_in
from missioncontrol.outbound import MAX_ATTEMPTS
from missioncontrol.runs import journal
from missioncontrol.runs.selectors import non_empty
from missioncontrol.sealing import UnsealFailed, seal, unseal
from missioncontrol.wire.projects import (
    ChannelHears,
    ChannelKind,
    ChannelRow,
    DeliveryRow,
    Language,
)
from missioncontrol.wire.rows import StrictInt, row_of

# Each card makes a delivery for every channel.
MAX_CHANNELS = 50
MAX_STEP_MINUTES = 24 * 60
# In the order in which the page lists them.
TOPICS: tuple[ChannelHears, ...] = ("decisions", "budgets", "reports")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChannel:
    """A notification channel; give `project` if you are in several."""

    kind: ChannelKind
    name: str
    address: str
    """Stored sealed, and never shown again."""
    project: UUID | None = None
    enabled: bool = True
    step_minutes: StrictInt = 0
    """0: notified at once; otherwise only after this long without an answer."""
    quiet_from: str | None = None
    """"22:00", in the project's time zone."""
    quiet_to: str | None = None
    hears: tuple[ChannelHears, ...] = ("decisions", "budgets")
    language: Language = "en"
    """The language of its messages."""


def add_channel(project: UUID, asked: NewChannel, *, by: str, at: datetime) -> Channel:
    """Add a channel.

    Raises:
        InvalidRequest: a field is wrong; the error names it and what was expected.
    """
    channel = Channel(
        project_id=project,
        kind=asked.kind,
        name=clean_name(asked.name),
        # Sealed: whoever has an address can send messages to its service.
        address=seal(addresses.parse_address(asked.kind, asked.address)),
        created_by=by,
        created_at=at,
    )
    _apply_settings(channel, asdict(asked))
    # Counted without a lock: two requests at once may exceed the limit by one, which is harmless.
    with transaction.atomic():
        if Channel.objects.filter(project_id=project).count() >= MAX_CHANNELS:
            raise InvalidRequest(f"A project has at most {MAX_CHANNELS} channels.")
        channel.save(force_insert=True)
        after = _audit_fields(channel)
        journal.record_change(project, _audit_name(channel), None, after, by=by, at=at)
    return channel


def change_channel(channel: Channel, changes: dict[str, Any], *, by: str, at: datetime) -> Channel:
    """Change the named fields of a channel.

    Raises:
        InvalidRequest: a field is wrong; the error names it and what was expected.
    """
    # Read before any change, because the row itself is changed.
    before = _audit_fields(channel)
    address = changes.pop("address", None)
    if address is not None:
        channel.address = seal(addresses.parse_address(channel.kind, address))
    if "name" in changes:
        channel.name = clean_name(changes.pop("name"))
    _apply_settings(channel, changes)
    with transaction.atomic():
        channel.save(update_fields=["address", "name", *SETTINGS])
        # The chain records that the address changed, never what it is.
        after = _audit_fields(channel) | ({"address": "another one"} if address is not None else {})
        if after != before:
            what = _audit_name(channel)
            journal.record_change(channel.project_id, what, before, after, by=by, at=at)
    return channel


@transaction.atomic
def remove_channel(channel: Channel, *, by: str, at: datetime) -> None:
    """Remove a channel; its waiting deliveries are skipped, and past ones stay."""
    what, before = _audit_name(channel), _audit_fields(channel)
    journal.record_change(channel.project_id, what, before, None, by=by, at=at)
    channel.delete()


@transaction.atomic
def retry_delivery(delivery: Delivery, *, at: datetime) -> None:
    """Try a failed delivery again.

    Raises:
        ActionUnavailable: it has not failed, or has no recipient any more.
    """
    # Try first, then say why not: the delivery may have changed since the page was loaded.
    if can_retry(delivery) and outbox.retry(delivery, at=at):
        return
    if delivery.notice.settled_at is not None:
        raise ActionUnavailable("It has been answered: there is nothing left to send.")
    if delivery.status != "failed":
        raise ActionUnavailable(f"It is {delivery.status}: only failed deliveries can be retried.")
    raise ActionUnavailable("Its target was removed: there is nobody to notify.")


SETTINGS = (
    "enabled",
    "step_minutes",
    "quiet_from",
    "quiet_to",
    "hears_decisions",
    "hears_budgets",
    "hears_reports",
    "language",
)


def _apply_settings(channel: Channel, rules: dict[str, Any]) -> None:
    if "hears" in rules:
        for topic in TOPICS:
            setattr(channel, f"hears_{topic}", topic in rules["hears"])
    minutes = rules.get("step_minutes", 0)
    if not 0 <= minutes <= MAX_STEP_MINUTES:
        raise InvalidRequest(
            f"step_minutes: expected 0 to {MAX_STEP_MINUTES}, got {minutes}.", field="step_minutes"
        )
    for name, value in {**rules, **quiet_hours.parse_quiet_hours(channel, rules)}.items():
        if name in SETTINGS:
            setattr(channel, name, value)


def _audit_fields(channel: Channel) -> dict[str, Any]:
    """Return the fields of a channel that may be recorded on the chain."""
    return {
        "name": channel.name,
        "kind": channel.kind,
        "enabled": channel.enabled,
        "step_minutes": channel.step_minutes,
        "language": channel.language,
        "quiet_from": str(channel.quiet_from or ""),
        "quiet_to": str(channel.quiet_to or ""),
        "hears": [topic for topic in TOPICS if getattr(channel, f"hears_{topic}")],
    }


def _audit_name(channel: Channel) -> str:
    return f"the channel {channel.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryHealth:
    """How well people are reached, over all projects."""

    deliveries: dict[str, int]
    disabled_channels: int
    oldest_due_s: float
    """How long the oldest waiting delivery has been due; 0: none waits."""


# Deliveries that say something about a channel: one was sent, or was tried.
WAS_TRIED = Q(status__in=["sent", "failed"]) | Q(status="waiting", tries__gt=0)


def list_channels(*, projects: Collection[UUID]) -> list[ChannelRow]:
    """Return the channels of projects in the order of their steps, each with its last delivery."""
    tried = Delivery.objects.filter(WAS_TRIED, channel=OuterRef("pk"))
    newest = tried.order_by("-id").values("id")[:1]
    found = list(
        # The newest of each by a subquery: a channel may have thousands of deliveries.
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


def delivery_health(*, at: datetime) -> DeliveryHealth:
    """Return the counts of deliveries by status, and how far the outbox is behind."""
    # Settled deliveries have no `due_at`, so no other filter is needed.
    oldest = Delivery.objects.filter(due_at__lte=at).aggregate(due=Min("due_at"))["due"]
    by_status = Delivery.objects.values_list("status").annotate(Count("id"))
    return DeliveryHealth(
        deliveries=dict(by_status),
        disabled_channels=Channel.objects.filter(enabled=False).count(),
        oldest_due_s=(at - oldest).total_seconds() if oldest else 0.0,
    )


def show_channel(channel: Channel) -> ChannelRow:
    """Return a channel's row with its last delivery."""
    last = _with_notice(channel.deliveries.filter(WAS_TRIED).order_by("-id")).first()
    return channel_row(channel, last=last)


def find_deliveries(
    *,
    projects: Collection[UUID],
    statuses: Sequence[str] = (),
    kinds: Sequence[str] = (),
    channel: UUID | None = None,
    decision: UUID | None = None,
    run: UUID | None = None,
) -> QuerySet[Delivery]:
    """Return deliveries, newest first."""
    asked = non_empty(
        status__in=statuses,
        kind__in=kinds,
        channel=channel,
        notice__decision=decision,
        notice__run=run,
    )
    return _with_notice(Delivery.objects.filter(**asked, project__in=projects).order_by("-id"))


def _with_notice(found: QuerySet[Delivery]) -> QuerySet[Delivery]:
    return found.select_related("notice", "notice__run", "device", "channel")


def channel_row(channel: Channel, *, last: Delivery | None) -> ChannelRow:
    """Return a channel's row, without its address."""
    try:
        shown = addresses.shown_part(channel.kind, unseal(channel.address))
    # SECRET_KEY was changed: the page asks for the address again.
    except UnsealFailed:
        shown = None
    return row_of(
        ChannelRow,
        channel,
        shown=shown,
        quiet_from=format_time(channel.quiet_from),
        quiet_to=format_time(channel.quiet_to),
        hears=tuple(topic for topic in TOPICS if getattr(channel, f"hears_{topic}")),
        last=delivery_row(last, language=channel.language) if last else None,
    )


def delivery_row(delivery: Delivery, *, language: str) -> DeliveryRow:
    """Return a delivery's row, with its notice and run, in a language."""
    notice = delivery.notice
    message = content.load(notice.content, language=language)
    t = texts_in(language)
    # As it read when sent, or will read: a later step says how long nobody answered.
    at = delivery.sent_at or delivery.due_at or delivery.created_at
    return row_of(
        DeliveryRow,
        delivery,
        run=notice.run_id,
        run_name=notice.run.name if notice.run else None,
        decision=notice.decision,
        title=content.render_notice(message, t, step_minutes=delivery.step_minutes, at=at).title,
        most_tries=MAX_ATTEMPTS,
        error=delivery.last_error or None,
        can_retry=can_retry(delivery),
    )


def can_retry(delivery: Delivery) -> bool:
    """Tell whether another try can still reach somebody who needs to know."""
    has_target = delivery.channel_id is not None or delivery.device_id is not None
    return delivery.status == "failed" and has_target and delivery.notice.settled_at is None
