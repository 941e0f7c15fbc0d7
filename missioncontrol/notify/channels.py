"""Add, change and remove the channels of a project; its chain says who did, never the address."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from missioncontrol.accounts.people import checked_name
from missioncontrol.errors import ActionUnavailable, InvalidRequest
from missioncontrol.notify import addresses, outbox, quiet, selectors
from missioncontrol.notify.models import Channel, Delivery
from missioncontrol.runs import journal
from missioncontrol.sealing import seal
from missioncontrol.wire.notices import ChannelHears, ChannelKind, Language

# Each card makes a delivery for every one of them.
MOST_CHANNELS = 50
LONGEST_STEP = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChannel:
    """A way to reach people; `project` where the person has several."""

    kind: ChannelKind
    name: str
    address: str
    """Kept sealed, and never shown again."""
    project: UUID | None = None
    enabled: bool = True
    step_minutes: int = 0
    """0: told at once; else only if nobody answered so long."""
    quiet_from: str | None = None
    """"22:00", in the project's time zone."""
    quiet_to: str | None = None
    hears: tuple[ChannelHears, ...] = ("decisions", "budgets")
    language: Language = "en"
    """What it is told in."""


def add_channel(project: UUID, asked: NewChannel, *, by: str, at: datetime) -> Channel:
    """Add a way to reach people.

    Raises:
        InvalidRequest: says which field is wrong and what was expected.
    """
    channel = Channel(
        project_id=project,
        kind=asked.kind,
        name=checked_name(asked.name),
        # Sealed: an address is all that its service asks for before it takes a message.
        address=seal(addresses.read_address(asked.kind, asked.address)),
        created_by=by,
        created_at=at,
    )
    _apply(channel, asdict(asked))
    # Counted without a lock: two at once may make one too many, which harms nobody.
    with transaction.atomic():
        if Channel.objects.filter(project_id=project).count() >= MOST_CHANNELS:
            raise InvalidRequest(f"A project has at most {MOST_CHANNELS} channels.")
        channel.save(force_insert=True)
        _record(channel, before=None, after=_audit_fields(channel), by=by, at=at)
    return channel


def change_channel(channel: Channel, changes: dict[str, Any], *, by: str, at: datetime) -> Channel:
    """Change what is named; the rest stays.

    Raises:
        InvalidRequest: says which field is wrong and what was expected.
    """
    # Before anything is applied: the row itself is changed.
    before = _audit_fields(channel)
    address = changes.pop("address", None)
    if address is not None:
        channel.address = seal(addresses.read_address(channel.kind, address))
    if "name" in changes:
        channel.name = checked_name(changes.pop("name"))
    _apply(channel, changes)
    with transaction.atomic():
        channel.save(update_fields=["address", "name", *RULES])
        # The chain tells that it is another one, never which.
        after = _audit_fields(channel) | ({"address": "another one"} if address is not None else {})
        if after != before:
            _record(channel, before=before, after=after, by=by, at=at)
    return channel


@transaction.atomic
def remove_channel(channel: Channel, *, by: str, at: datetime) -> None:
    """Remove a channel; what it was to be told still is skipped, what it was told stays."""
    _record(channel, before=_audit_fields(channel), after=None, by=by, at=at)
    channel.delete()


@transaction.atomic
def try_again(delivery: Delivery, *, at: datetime) -> None:
    """Try a failed delivery again.

    Raises:
        ActionUnavailable: it has not failed, or there is nobody left to tell.
    """
    # First try, then say why not: what is asked for may have changed since the page was drawn.
    if selectors.may_retry(delivery) and outbox.retry(delivery, at=at):
        return
    if delivery.notice.settled_at is not None:
        raise ActionUnavailable("It was answered meanwhile: there is nothing left to tell.")
    if delivery.status != "failed":
        raise ActionUnavailable(f"It is {delivery.status}: only what failed is tried again.")
    raise ActionUnavailable("Its target was removed: there is nobody left to tell.")


RULES = (
    "enabled",
    "step_minutes",
    "quiet_from",
    "quiet_to",
    "hears_decisions",
    "hears_budgets",
    "hears_reports",
    "language",
)


def _apply(channel: Channel, rules: dict[str, Any]) -> None:
    if "hears" in rules:
        for topic in selectors.HEARD:
            setattr(channel, f"hears_{topic}", topic in rules["hears"])
    minutes = rules.get("step_minutes", 0)
    if not 0 <= minutes <= LONGEST_STEP:
        raise InvalidRequest(
            f"step_minutes: expected 0 to {LONGEST_STEP}, got {minutes}.", field="step_minutes"
        )
    for name, value in {**rules, **quiet.read_hours(channel, rules)}.items():
        if name in RULES:
            setattr(channel, name, value)


def _audit_fields(channel: Channel) -> dict[str, Any]:
    """Return what the chain may say of a channel."""
    return {
        "name": channel.name,
        "kind": channel.kind,
        "enabled": channel.enabled,
        "step_minutes": channel.step_minutes,
        "language": channel.language,
        "quiet_from": str(channel.quiet_from or ""),
        "quiet_to": str(channel.quiet_to or ""),
        "hears": [topic for topic in selectors.HEARD if getattr(channel, f"hears_{topic}")],
    }


def _record(
    channel: Channel,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    by: str,
    at: datetime,
) -> None:
    what = f"the channel {channel.name}"
    journal.record_change(channel.project_id, what, before, after, by=by, at=at)
