"""Write down what people are to hear; `outbox` tells it afterwards.

Called inside the transaction in which it happened, under the run's lock where there is
one: rows only, queued for a worker once they are committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from missioncontrol.accounts import ways
from missioncontrol.accounts.models import Project, Role
from missioncontrol.celery import enqueue
from missioncontrol.ids import new_id
from missioncontrol.notify import content, quiet, wording
from missioncontrol.notify.models import Channel, Delivery, Device, Notice
from missioncontrol.notify.texts import Texts
from missioncontrol.runs import rows
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import DecisionRow

# By its name: the task's module imports us.
DELIVER = "missioncontrol.notify.tasks.deliver"
# How long a card is kept back for the judge, who may dismiss it or bring a fix.
VERDICT_WAIT = timedelta(seconds=10)
# Viewers cannot answer: a card would only wake them.
ANSWERERS = (Role.OWNER, Role.OPERATOR)
# Who asked for a test waits for it; the others take away, and wake nobody.
WHATEVER_THE_HOUR = frozenset({"test", "withdrawal", "sign_out"})
TOPIC_OF = {
    "decision": "hears_decisions",
    "warning": "hears_decisions",
    "budget": "hears_budgets",
    "report": "hears_reports",
}


def announce(row: DecisionRow, run: Run, *, at: datetime) -> None:
    """Tell people of a card that opened; once its judge has ruled, or is late."""
    tell(
        run.project_id,
        "decision",
        # A card at a budget is both: a channel of either is told.
        also="budget" if row.kind == "budget" else None,
        subject=str(row.id),
        message=content.card_of(row, run, at=at),
        at=at,
        run=run,
        decision=row.id,
        # A push that is taken back at once has woken somebody for nothing.
        wait=VERDICT_WAIT if row.status == "judging" else timedelta(0),
    )


def refresh(row: DecisionRow, run: Run, *, at: datetime) -> None:
    """Take in the judge's ruling; who is told at once is told now."""
    updated = content.kept(content.card_of(row, run, at=at))
    if not Notice.objects.filter(decision=row.id, settled_at=None).update(content=updated):
        return
    # Only those that wait for the ruling: later steps and quiet hours have times of their own.
    kept_back = Delivery.objects.filter(
        notice__decision=row.id,
        status="waiting",
        step_minutes=0,
        due_at__gt=at,
        tries=0,
        due_at__lte=row.opened_at + VERDICT_WAIT,
    ).select_related("project", "device", "channel")
    due: list[Delivery] = []
    for delivery in kept_back:
        delivery.due_at = due_for(delivery, at=at)
        Delivery.objects.filter(pk=delivery.pk, status="waiting").update(due_at=delivery.due_at)
        # What is due later the sweeper finds.
        if delivery.due_at == at:
            due.append(delivery)
    enqueue_on_commit(due)


def withdraw(decision: UUID, *, outcome: str, by: str, at: datetime) -> None:
    """Take a card back that was answered, wherever: who was not told is not told.

    A device that shows it is told to take it away.
    """
    mine = Notice.objects.filter(decision=decision, settled_at=None)
    # Of two answers at once one settles it, and one set of withdrawals goes out.
    if not mine.update(settled_at=at, outcome=outcome, settled_by=by):
        return
    deliveries = Delivery.objects.filter(notice__decision=decision).exclude(what="withdrawal")
    deliveries.filter(status="waiting").update(status="withdrawn", due_at=None)
    shown = deliveries.filter(status="sent", device__isnull=False)
    take_away(shown.select_related("notice"), at=at)


def silence(user: int, project: UUID, *, at: datetime) -> None:
    """Have a person's devices hear no more of a project, and take its open cards away."""
    # Withdrawn, not deleted: the page still says what became of it.
    theirs = Delivery.objects.filter(device__user=user, project=project)
    waiting = theirs.filter(status="waiting").exclude(what__in=WHATEVER_THE_HOUR)
    waiting.update(status="withdrawn", due_at=None)
    shown = theirs.filter(status="sent", what="decision", notice__settled_at=None)
    take_away(shown.select_related("notice"), at=at)


def take_away(shown: Iterable[Delivery], *, at: datetime) -> None:
    """Have devices take away what they show; once, whoever asks."""
    # A push only: what stands in a chat or a letter cannot be taken back.
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
    # Two answers at once: a constraint keeps the second withdrawal out.
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    enqueue_on_commit(rows)


def warn(run: Run, *, kind: str, summary: str, at: datetime) -> None:
    """Tell people of a trip that asks nothing: of each kind once an hour.

    The run only warns, or was over before its turns were told.
    """
    path, is_over = f"/runs/{run.id}", run.status in ENDED
    announcement = content.in_every_language(
        lambda t: wording.warned(
            t, summary, name=run.name, kind=kind, path=path, cost=_cost(run, t), is_over=is_over
        )
    )
    # The hour is part of the subject, and a subject is told once.
    hour = at.astimezone(UTC).strftime("%Y-%m-%dT%H")
    tell(
        run.project_id,
        "warning",
        subject=f"{run.id}:{kind}:{hour}",
        message=announcement,
        at=at,
        run=run,
    )


def ended(run: Run, *, summary: str, at: datetime) -> None:
    """Tell people that the policy ended a run at once, which asked nobody."""
    path = f"/runs/{run.id}"
    announcement = content.in_every_language(
        lambda t: wording.ended(t, summary, name=run.name, path=path, cost=_cost(run, t))
    )
    tell(run.project_id, "warning", subject=f"{run.id}:ended", message=announcement, at=at, run=run)


def _cost(run: Run, t: Texts) -> str:
    return wording.cost_in_all(
        run.meters.cost_usd + run.meters.judge_cost_usd, run.meters.unpriced_calls, t
    )


def near_end(run: Run, ceiling: Mapping[str, Any], *, at: datetime) -> None:
    """Tell people that a ceiling nears its end; of a shared one once, whoever comes near."""
    scope = ceiling["scope"]
    burn = rows.meters(run, new_points=0, at=at).burn_usd_per_hour
    # What is shared by runs is read on the page of costs, whichever of them came near.
    path = f"/runs/{run.id}" if scope in {"run", "tree"} else "/costs"
    announcement = content.in_every_language(
        lambda t: wording.nearing(t, run.name, ceiling, burn_usd_per_hour=burn, path=path)
    )
    # The ceiling is part of it: once raised, its end may near again.
    owner = run.id if scope == "run" else ceiling["whose"]
    subject = f"{scope}:{owner}:{ceiling['unit']}:{ceiling['ceiling']}"
    tell(run.project_id, "budget", subject=subject, message=announcement, at=at, run=run)


def tell(
    project: UUID,
    what: str,
    *,
    subject: str,
    message: content.Card | content.Announcement,
    at: datetime,
    also: str | None = None,
    run: Run | None = None,
    decision: UUID | None = None,
    wait: timedelta = timedelta(0),
) -> Notice | None:
    """Tell people something, once a subject: `decision`, `warning`, `budget` or `report`.

    `also`: as what channels hear of it besides. None: it was told before.
    """
    # A constraint decides, whichever of several processes noticed it first.
    notice, is_new = Notice.objects.get_or_create(
        project_id=project,
        what=what,
        subject=subject,
        defaults={"run": run, "decision": decision, "content": content.kept(message), "at": at},
    )
    if not is_new:
        return None
    hears = Q(**{TOPIC_OF[what]: True}) | Q(**{TOPIC_OF[also or what]: True})
    channels = list(Channel.objects.filter(hears, project_id=project, enabled=True))
    # Who may not come in (no second factor where one is asked for) is not told either.
    people = ways.open_memberships().filter(project_id=project, role__in=ANSWERERS)
    mine = Device.objects.filter(
        user__in=people.values("user"), user__is_active=True, enabled=True, left_at=None
    )
    devices = list(mine.filter(hears_reports=True) if what == "report" else mine)
    made = [delivery_to(device, notice, at=at, due_at=at + wait) for device in devices]
    for channel in channels:
        step = timedelta(minutes=channel.step_minutes)
        # Not both waits, one after the other: the judge's is over long before a later step.
        made.append(delivery_to(channel, notice, at=at, due_at=at + max(step, wait)))
    for delivery in made:
        if delivery.due_at is not None:
            delivery.due_at = due_for(delivery, at=delivery.due_at)
    keep(made)
    return notice


@transaction.atomic
def send_test(target: Device | Channel, *, project: UUID, by: str, at: datetime) -> Delivery:
    """Send a channel or a device a test, quiet hours or not."""
    name = Project.objects.values_list("name", flat=True).get(pk=project)
    named = {"by": content.bounded(by, 100), "project": content.bounded(name, 100)}
    announcement = content.in_every_language(
        lambda t: content.Announcement(
            title=t.test_title, body=t.test_body.format(**named), path="/settings/channels"
        )
    )
    notice = Notice.objects.create(
        project_id=project,
        what="test",
        subject=str(new_id()),
        content=content.kept(announcement),
        at=at,
    )
    return keep([delivery_to(target, notice, at=at, due_at=at)])[0]


def due_for(delivery: Delivery, *, at: datetime) -> datetime:
    """Return when a delivery may reach its target, wanted at a moment: not in quiet hours."""
    if delivery.what in WHATEVER_THE_HOUR:
        return at
    if delivery.device is not None:
        return _after_quiet(delivery.device, delivery.device.time_zone, at=at)
    if delivery.channel is not None:
        return _after_quiet(delivery.channel, delivery.project.time_zone, at=at)
    return at


def _after_quiet(target: Device | Channel, zone: str, *, at: datetime) -> datetime:
    end = quiet.end_of_quiet(at, start=target.quiet_from, end=target.quiet_to, zone=zone)
    return end or at


def delivery_to(
    target: Device | Channel, notice: Notice, *, at: datetime, due_at: datetime
) -> Delivery:
    """Return what tells a target of a notice, to be kept."""
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


def keep(made: list[Delivery]) -> list[Delivery]:
    """Keep new deliveries; those that are due at once are enqueued."""
    Delivery.objects.bulk_create(made)
    enqueue_on_commit([delivery for delivery in made if delivery.due_at == delivery.created_at])
    return made


def enqueue_on_commit(due: list[Delivery]) -> None:
    """Have these delivered once the transaction is committed."""
    if ids := [str(delivery.id) for delivery in due]:
        transaction.on_commit(partial(enqueue, DELIVER, ids))
