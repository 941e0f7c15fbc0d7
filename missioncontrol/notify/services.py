"""Store what people are to be told; `outbox` sends it afterwards.

Called inside the transaction in which it happened, under the run's lock if there is a run.
Only rows are written; they are queued for a worker after the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from missioncontrol.accounts import credentials
from missioncontrol.accounts.models import Project, Role
from missioncontrol.celery import enqueue
from missioncontrol.ids import new_id
from missioncontrol.notify import content, quiet_hours
from missioncontrol.notify.models import Channel, Delivery, Device, Notice
from missioncontrol.notify.texts import Texts
from missioncontrol.runs import rows
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import DecisionRow

# By name, because the task's module imports this one.
DELIVER_TASK = "missioncontrol.notify.tasks.deliver"
# How long a card's notice waits for the judge, who may dismiss the card or add a fix.
VERDICT_WAIT = timedelta(seconds=10)
# Viewers cannot answer: a card would only wake them.
ANSWERERS = (Role.OWNER, Role.OPERATOR)
# The person who asked for a test waits for it; the others only remove, and wake nobody.
IGNORES_QUIET_HOURS = frozenset({"test", "withdrawal", "sign_out"})
TOPIC_OF = {
    "decision": "hears_decisions",
    "warning": "hears_decisions",
    "budget": "hears_budgets",
    "report": "hears_reports",
}


def announce_card(row: DecisionRow, run: Run, *, at: datetime) -> None:
    """Tell people of a card that opened, once its judge has ruled or is late."""
    send_notice(
        run.project_id,
        "decision",
        # A budget's card is both: channels of either kind are told.
        extra_topic="budget" if row.kind == "budget" else None,
        subject=str(row.id),
        message=content.card_of(row, run, at=at),
        at=at,
        run=run,
        decision=row.id,
        # A push that is withdrawn at once has woken somebody for nothing.
        delay=VERDICT_WAIT if row.status == "judging" else timedelta(0),
    )


def add_verdict(row: DecisionRow, run: Run, *, at: datetime) -> None:
    """Add the judge's verdict to a card's notice, and send what waited for it."""
    updated = content.dump(content.card_of(row, run, at=at))
    if not Notice.objects.filter(decision=row.id, settled_at=None).update(content=updated):
        return
    # Only those that wait for the verdict: later steps and quiet hours have their own times.
    waiting = Delivery.objects.filter(
        notice__decision=row.id,
        status="waiting",
        step_minutes=0,
        due_at__gt=at,
        tries=0,
        due_at__lte=row.opened_at + VERDICT_WAIT,
    ).select_related("project", "device", "channel")
    due: list[Delivery] = []
    for delivery in waiting:
        delivery.due_at = due_time(delivery, at=at)
        Delivery.objects.filter(pk=delivery.pk, status="waiting").update(due_at=delivery.due_at)
        # The sweeper finds what is due later.
        if delivery.due_at == at:
            due.append(delivery)
    enqueue_on_commit(due)


def withdraw_card(decision: UUID, *, outcome: str, by: str, at: datetime) -> None:
    """Withdraw an answered card: people who were not told of it yet are not told.

    Devices that show it are told to remove it.
    """
    mine = Notice.objects.filter(decision=decision, settled_at=None)
    # Of two answers at once, one settles it, and withdrawals are sent once.
    if not mine.update(settled_at=at, outcome=outcome, settled_by=by):
        return
    deliveries = Delivery.objects.filter(notice__decision=decision).exclude(what="withdrawal")
    deliveries.filter(status="waiting").update(status="withdrawn", due_at=None)
    shown = deliveries.filter(status="sent", device__isnull=False)
    send_withdrawals(shown.select_related("notice"), at=at)


def withdraw_from_person(user: int, project: UUID, *, at: datetime) -> None:
    """Withdraw a project's waiting deliveries to a person's devices, and remove its open cards."""
    # Withdrawn, not deleted: the page still shows their outcome.
    theirs = Delivery.objects.filter(device__user=user, project=project)
    waiting = theirs.filter(status="waiting").exclude(what__in=IGNORES_QUIET_HOURS)
    waiting.update(status="withdrawn", due_at=None)
    shown = theirs.filter(status="sent", what="decision", notice__settled_at=None)
    send_withdrawals(shown.select_related("notice"), at=at)


def send_withdrawals(shown: Iterable[Delivery], *, at: datetime) -> None:
    """Tell devices, once, to remove what they show."""
    # Only pushes: a chat message or a letter cannot be taken back.
    rows = [
        Delivery(
            notice=one.notice,
            project_id=one.project_id,
            what="withdrawal",
            kind=one.kind,
            target=one.target,
            device_id=one.device_id,
            created_at=at,
            due_at=at,
        )
        for one in shown
    ]
    # If two answers come at once, a constraint rejects the second withdrawal.
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    enqueue_on_commit(rows)


def notify_warning(run: Run, *, kind: str, summary: str, at: datetime) -> None:
    """Tell people of a trip that asks nothing, for each kind once an hour.

    Either the run's mode only warns, or the run had ended before its turns were reported.
    """
    path, is_over = f"/runs/{run.id}", run.status in ENDED
    announcement = content.in_every_language(
        lambda t: content.warning_announcement(
            t, summary, name=run.name, kind=kind, path=path, cost=_run_cost(run, t), is_over=is_over
        )
    )
    # The hour is part of the subject, and a subject is told once.
    hour = at.astimezone(UTC).strftime("%Y-%m-%dT%H")
    send_notice(
        run.project_id,
        "warning",
        subject=f"{run.id}:{kind}:{hour}",
        message=announcement,
        at=at,
        run=run,
    )


def notify_ended(run: Run, *, summary: str, at: datetime) -> None:
    """Tell people that the policy ended a run at once, without asking anybody."""
    path = f"/runs/{run.id}"
    announcement = content.in_every_language(
        lambda t: content.ended_announcement(
            t, summary, name=run.name, path=path, cost=_run_cost(run, t)
        )
    )
    send_notice(
        run.project_id, "warning", subject=f"{run.id}:ended", message=announcement, at=at, run=run
    )


def _run_cost(run: Run, t: Texts) -> str:
    return content.cost_sentence(
        run.meters.cost_usd + run.meters.judge_cost_usd, run.meters.unpriced_calls, t
    )


def notify_near_ceiling(run: Run, ceiling: Mapping[str, Any], *, at: datetime) -> None:
    """Tell people that a ceiling is nearly reached; of a shared one only once for all runs."""
    scope = ceiling["scope"]
    burn = rows.meters_row(run, new_points=0, at=at).burn_usd_per_hour
    # Shared ceilings are on the page of costs, whichever run came near.
    path = f"/runs/{run.id}" if scope in {"run", "tree"} else "/costs"
    announcement = content.in_every_language(
        lambda t: content.near_ceiling_announcement(
            t, run.name, ceiling, burn_usd_per_hour=burn, path=path
        )
    )
    # With the ceiling in the subject: once raised, it may be nearly reached again.
    owner = run.id if scope == "run" else ceiling["whose"]
    subject = f"{scope}:{owner}:{ceiling['unit']}:{ceiling['ceiling']}"
    send_notice(run.project_id, "budget", subject=subject, message=announcement, at=at, run=run)


def send_notice(
    project: UUID,
    what: str,
    *,
    subject: str,
    message: content.Card | content.Announcement,
    at: datetime,
    extra_topic: str | None = None,
    run: Run | None = None,
    decision: UUID | None = None,
    delay: timedelta = timedelta(0),
) -> Notice | None:
    """Tell people of a `decision`, `warning`, `budget` or `report`, once for each subject.

    `extra_topic`: a second topic whose channels are told. Returns None if it was told before.
    """
    # A constraint decides which of several processes was first.
    notice, is_new = Notice.objects.get_or_create(
        project_id=project,
        what=what,
        subject=subject,
        defaults={"run": run, "decision": decision, "content": content.dump(message), "at": at},
    )
    if not is_new:
        return None
    is_subscribed = Q(**{TOPIC_OF[what]: True}) | Q(**{TOPIC_OF[extra_topic or what]: True})
    channels = list(Channel.objects.filter(is_subscribed, project_id=project, enabled=True))
    # Members who may not come in, because they lack a required second factor, are not told.
    people = credentials.open_memberships().filter(project_id=project, role__in=ANSWERERS)
    subscribed = Device.objects.filter(
        user__in=people.values("user"), user__is_active=True, enabled=True, left_at=None
    )
    devices = list(subscribed.filter(hears_reports=True) if what == "report" else subscribed)
    deliveries = [new_delivery(device, notice, at=at, due_at=at + delay) for device in devices]
    for channel in channels:
        step = timedelta(minutes=channel.step_minutes)
        # Not the sum: the judge's wait ends long before a later step.
        deliveries.append(new_delivery(channel, notice, at=at, due_at=at + max(step, delay)))
    for delivery in deliveries:
        if delivery.due_at is not None:
            delivery.due_at = due_time(delivery, at=delivery.due_at)
    save_deliveries(deliveries)
    return notice


@transaction.atomic
def send_test(target: Device | Channel, *, project: UUID, by: str, at: datetime) -> Delivery:
    """Send a test to a channel or a device, even in quiet hours."""
    name = Project.objects.values_list("name", flat=True).get(pk=project)
    names = {"by": content.one_line(by, 100), "project": content.one_line(name, 100)}
    announcement = content.in_every_language(
        lambda t: content.Announcement(
            title=t.test_title, body=t.test_body.format(**names), path="/settings/channels"
        )
    )
    notice = Notice.objects.create(
        project_id=project,
        what="test",
        subject=str(new_id()),
        content=content.dump(announcement),
        at=at,
    )
    return save_deliveries([new_delivery(target, notice, at=at, due_at=at)])[0]


def due_time(delivery: Delivery, *, at: datetime) -> datetime:
    """Return when a delivery may reach its target: at the given time, or after quiet hours."""
    target = delivery.recipient
    if target is None or delivery.what in IGNORES_QUIET_HOURS:
        return at
    # Whoever holds a device may be elsewhere than the project.
    zone = target.time_zone if isinstance(target, Device) else delivery.project.time_zone
    end = quiet_hours.quiet_hours_end(at, start=target.quiet_from, end=target.quiet_to, zone=zone)
    return end or at


def new_delivery(
    target: Device | Channel, notice: Notice, *, at: datetime, due_at: datetime
) -> Delivery:
    """Return an unsaved delivery of a notice to a target."""
    channel = target if isinstance(target, Channel) else None
    return Delivery(
        notice=notice,
        project_id=notice.project_id,
        what=notice.what,
        kind=channel.kind if channel else "push",
        target=target.name,
        device=target if isinstance(target, Device) else None,
        channel=channel,
        step_minutes=channel.step_minutes if channel else 0,
        created_at=at,
        due_at=due_at,
    )


def save_deliveries(deliveries: list[Delivery]) -> list[Delivery]:
    """Save new deliveries, and enqueue those that are due at once."""
    Delivery.objects.bulk_create(deliveries)
    enqueue_on_commit([one for one in deliveries if one.due_at == one.created_at])
    return deliveries


def enqueue_on_commit(due: list[Delivery]) -> None:
    """Enqueue these deliveries once the transaction is committed."""
    if ids := [str(delivery.id) for delivery in due]:
        transaction.on_commit(partial(enqueue, DELIVER_TASK, ids))
