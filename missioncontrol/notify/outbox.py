"""Deliver what is due: claimed by conditional update, tried outside every lock, settled once.

A try is counted before it is made, so that a try whose worker dies counts too. Delivery is
at least once: a repeat has the same delivery id.

Old deliveries are deleted (`prune`); the audit log keeps what people were told, and is not
touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from missioncontrol import outbound
from missioncontrol.accounts import credentials
from missioncontrol.notify import chat, services, web_push, webhook
from missioncontrol.notify.addresses import CHAT_SERVICES
from missioncontrol.notify.models import Delivery, Device, Notice
from missioncontrol.outbound import Outcome
from missioncontrol.runs import journal
from missioncontrol.sealing import UnsealFailed
from missioncontrol.wire.events import NoticeFailed, NoticeSent

CLAIM_LIMIT = 64
# How much later a sign-out that waits for another push is tried.
SIGN_OUT_DELAY = timedelta(seconds=2)
SETTLED = ("sent", "failed", "withdrawn", "skipped")
# Deleted in one transaction: nobody waits long for SQLite's lock.
PRUNE_BATCH = 500
# At one beat; the next beat continues.
MAX_PRUNE_BATCHES = 10
# What people were told is recorded; that a notification was removed again is not.
JOURNALLED = frozenset({"decision", "warning", "budget", "report", "test"})


# Sends one delivery (with its notice, device, channel and project loaded), outside every lock and
# within `outbound.LEASE`; returns the outcome. May be called twice for one delivery: after a
# worker's death nobody knows whether it was sent.
Sender = Callable[[Delivery, datetime], Outcome]

# By the kind of a delivery's target.
SENDERS: Mapping[str, Sender] = {
    "push": web_push.send,
    "webhook": webhook.send,
    **dict.fromkeys(CHAT_SERVICES, chat.send),
}


def claim(*, at: datetime, ids: Collection[UUID] | None = None) -> list[UUID]:
    """Claim what is due; no other worker gets it until the lease ends."""
    unleased = Q(leased_until__isnull=True) | Q(leased_until__lte=at)
    free = Delivery.objects.filter(unleased, status="waiting", due_at__lte=at)
    due = free if ids is None else free.filter(pk__in=ids)
    found = list(due.order_by("due_at").values_list("id", flat=True)[:CLAIM_LIMIT])
    # One by one: if several workers found the same delivery, one update takes it.
    leased_until = at + outbound.LEASE
    return [pk for pk in found if free.filter(pk=pk).update(leased_until=leased_until)]


def deliver(delivery_id: UUID, *, at: datetime) -> None:
    """Try a claimed delivery, and store the outcome."""
    delivery = (
        Delivery.objects.select_related("notice", "project", "device", "channel")
        # After its lease the delivery is free for another worker, which may already have it.
        .filter(pk=delivery_id, status="waiting", leased_until__gt=at)
        .first()
    )
    if delivery is None or _skip_or_postpone(delivery, at=at):
        return
    # The last try was counted and never settled: its worker died.
    if delivery.tries >= outbound.MAX_ATTEMPTS:
        gave_up = Outcome(failure="nothing came of its last try", is_final=True)
        store_outcome(delivery, gave_up, at=at)
        return
    # If another worker has claimed it meanwhile, do not try beside it.
    mine = Delivery.objects.filter(
        pk=delivery.pk, status="waiting", tries=delivery.tries, leased_until=delivery.leased_until
    )
    delivery.tries += 1
    if not mine.update(tries=delivery.tries):
        return
    began, sender = time.monotonic(), SENDERS.get(delivery.kind)
    outcome = Outcome(failure=f"nothing here sends to {delivery.kind}", is_final=True)
    try:
        outcome = sender(delivery, at) if sender else outcome
    except UnsealFailed as unreadable:  # SECRET_KEY was changed: every try would fail
        outcome = Outcome(failure=str(unreadable), is_final=True)
    # `at` is when the call began; the answer came later by the measured time.
    store_outcome(delivery, outcome, at=at + timedelta(seconds=time.monotonic() - began))


def store_outcome(delivery: Delivery, outcome: Outcome, *, at: datetime) -> None:
    """Store the outcome of a try: sent, to be tried again, or failed."""
    again_at = outcome.next_attempt_at(delivery.tries, at)
    # After sending: the run's lock is not held while another server takes its time.
    with _transaction_for(delivery, at=at) as record:
        # A card may have been answered meanwhile: this was sent nevertheless.
        mine = Delivery.objects.filter(
            pk=delivery.pk, tries=delivery.tries, status__in=["waiting", "withdrawn"]
        )
        if outcome.failure is None:
            is_mine = mine.update(
                status="sent", sent_at=at, due_at=None, leased_until=None, last_error=""
            )
        elif again_at:
            mine.filter(status="waiting").update(
                due_at=again_at, leased_until=None, last_error=outcome.failure
            )
            # Nothing to record yet: the chain has the outcome, not the number of tries.
            is_mine = 0
        else:
            is_mine = mine.filter(status="waiting").update(
                status="failed", due_at=None, leased_until=None, last_error=outcome.failure
            )
        if not is_mine:
            return
        fields = {"channel": delivery.kind, "decision": delivery.notice.decision}
        if outcome.failure is not None and delivery.what in JOURNALLED:
            record(NoticeFailed, **fields, reason=outcome.failure)
        elif delivery.what in JOURNALLED:
            record(NoticeSent, **fields)
        # A signed-out device is deleted once its last push was accepted, or failed for good.
        is_over = outcome.is_gone or delivery.what == "sign_out"
        if is_over and delivery.device_id is not None:
            Device.objects.filter(pk=delivery.device_id).delete()
        elif outcome.failure is None:
            # If the card was answered while this was on its way, the device need not show it.
            is_shown = delivery.device_id is not None and delivery.what == "decision"
            delivery.notice.refresh_from_db(fields=["settled_at"])
            if is_shown and delivery.notice.settled_at is not None:
                services.send_withdrawals([delivery], at=at)


def retry(delivery: Delivery, *, at: datetime) -> bool:
    """Try a failed delivery again, with a new count of tries; False: it has not failed."""
    mine = Delivery.objects.filter(pk=delivery.pk, status="failed")
    # Back to the shortest pause: the person who asks has presumably fixed the cause.
    if not mine.update(status="waiting", tries=0, due_at=at, leased_until=None):
        return False
    services.enqueue_on_commit([delivery])
    return True


def prune(*, at: datetime, keep: timedelta) -> int:
    """Delete settled deliveries older than `keep`, oldest first; return how many.

    Those of a card that is still open stay: a device that shows it must be told when it is
    answered. A notice is deleted with its last delivery.
    """
    before, is_open = at - keep, Q(decision__isnull=False, settled_at=None)
    is_shown = Exists(Notice.objects.filter(is_open, pk=OuterRef("notice")))
    settled = Delivery.objects.filter(~is_shown, status__in=SETTLED, created_at__lt=before)
    gone = _delete_in_batches(settled)
    is_kept = Exists(Delivery.objects.filter(notice=OuterRef("pk")))
    empty = Notice.objects.filter(~is_kept, at__lt=before).exclude(is_open)
    # A ceiling's notice stays: it ensures that people are told once, and not again after a month.
    _delete_in_batches(empty.exclude(what="budget"))
    return gone


def _delete_in_batches(old: QuerySet[Delivery] | QuerySet[Notice]) -> int:
    """Delete rows in batches, one transaction each; the filter is applied again when deleting."""
    gone = 0
    for _ in range(MAX_PRUNE_BATCHES):
        found: list[UUID] = list(old.order_by("id").values_list("id", flat=True)[:PRUNE_BATCH])
        gone += old.filter(pk__in=found).delete()[0]
        if len(found) < PRUNE_BATCH:
            break
    return gone


def _skip_or_postpone(delivery: Delivery, *, at: datetime) -> bool:
    """Skip a delivery whose target is switched off or gone, postpone one in quiet hours."""
    mine = Delivery.objects.filter(pk=delivery.pk, status="waiting")
    if why := _skip_reason(delivery):
        mine.update(status="skipped", due_at=None, leased_until=None, last_error=why)
        return True
    due_at = services.due_time(delivery, at=at)
    if delivery.what == "sign_out":
        # A push that is still on its way to the signed-out device would arrive after this one and
        # stay on its lock screen.
        others = Delivery.objects.filter(device=delivery.device_id, leased_until__gt=at)
        due_at = at + SIGN_OUT_DELAY if others.exclude(pk=delivery.pk).exists() else due_at
    if due_at > at:
        mine.update(due_at=due_at, leased_until=None)
    return due_at > at


def _skip_reason(delivery: Delivery) -> str | None:
    """Return why a delivery's target must not hear of it any more; None: it may."""
    device, what, why = delivery.device, delivery.what, None
    target = delivery.recipient
    if target is None:
        why = "its target was removed"
    elif device is not None and device.left_at is not None and what != "sign_out":
        why = "its device was signed out"
    elif what in {"sign_out", "withdrawal"}:
        pass  # also for a person who was removed, or switched pushes off: the card must go
    elif not target.enabled and what != "test":
        why = "its target is switched off"
    elif delivery.project.archived_at is not None:
        why = "its project is archived"
    elif device is not None:
        mine = credentials.open_memberships().filter(
            user_id=device.user_id, project_id=delivery.project_id
        )
        if what != "test":  # a test is for every member
            mine = mine.filter(role__in=services.ANSWERERS)
        why = None if mine.exists() else "its person no longer answers in the project"
    return why


@contextmanager
def _transaction_for(delivery: Delivery, *, at: datetime) -> Iterator[Callable[..., object]]:
    """Hold the lock for storing an outcome: the run's, so that an answer waits.

    Yields the function that appends an event to the run's chain, or to its project's.
    """
    run_id = delivery.notice.run_id
    # Reports and tests belong to no run: they are on the project's own chain.
    if run_id is None:
        project = delivery.project_id
        with transaction.atomic():
            yield partial(journal.record_for_project, project, by="guard", at=at)
    else:
        with journal.lock_runs([run_id], at=at) as tx:
            yield lambda event, **fields: tx.record(tx.run(run_id), event, by="guard", **fields)
