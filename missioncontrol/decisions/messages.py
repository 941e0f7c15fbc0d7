"""Texts to deliver: to the model, and to the run's controller.

A controller is another run or a webhook. What it is to be told is stored as a row
(`ControllerNote`) in the transaction in which it happened, and sent afterwards. A run is told
once, by a message in its next directive. A webhook is told at least once: repeats have the
same delivery id.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from guard.quoting import quoted
from guard.wire import Escalation
from missioncontrol.decisions.directives import UNDELIVERED_STATUSES, is_claimed, unsent_texts
from missioncontrol.decisions.models import ControllerNote, Intervention, Message
from missioncontrol.errors import ActionUnavailable
from missioncontrol.notify import webhook
from missioncontrol.outbound import LEASE, MAX_ATTEMPTS, Outcome
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run
from missioncontrol.wire.events import MessageQueued, NoticeFailed, NoticeSent


def queue_message(
    tx: RunTransaction,
    run: Run,
    text: str,
    *,
    by: str | None,
    agent: str | None = None,
    intervention: Intervention | None = None,
    escalation: Escalation | None = None,
) -> Message:
    """Queue a text for the model, and record an event for those who follow the run.

    `by` None: the caller records an event of its own.
    """
    # Counted on the run, so that a directive queries texts only if there are some.
    run.meters.queued_messages += 1
    message = Message.objects.create(
        run=run,
        intervention=intervention,
        text=text,
        agent=agent,
        queued_at=tx.at,
        escalation=asdict(escalation) if escalation else None,
    )
    if by is not None:
        tx.record(
            run,
            MessageQueued,
            by=by,
            message=message.id,
            text=text,
            agent=agent,
            intervention=message.intervention_id,
        )
    return message


def withdraw_text(tx: RunTransaction, run: Run, intervention: Intervention) -> None:
    """Take back the text that an answer sent.

    Raises:
        ActionUnavailable: the text is on its way to the model, or has reached it.
    """
    waiting = unsent_texts(run.id).exclude(is_claimed(tx.at)).filter(intervention=intervention)
    # If the answer has left, the model may be reading it, whatever the text's row says.
    is_under_way = intervention.status not in UNDELIVERED_STATUSES
    if is_under_way or not waiting.update(withdrawn_at=tx.at):
        raise ActionUnavailable("The agent has received the text; it cannot be withdrawn.")
    run.meters.queued_messages -= 1


def notify_controller(
    tx: RunTransaction, run: Run, event: str, reason: str, *, decision: UUID | None = None
) -> None:
    """Store a note of what the run's controller, if it has one, is to be told."""
    if run.controller_id is None and not run.controller_url:
        return
    what = "was stopped" if event == "session.terminated" else "has been warned"
    # Stored, not sent: a slow web server must not keep the lock.
    ControllerNote.objects.create(
        run=run,
        event=event,
        decision=decision,
        at=tx.at,
        due_at=tx.at,
        # Quoted: an agent chose the name, and the controller must not read it as our words.
        text=f"The run {quoted(run.name)} ({run.id}), which you control, {what}: {reason}",
        payload={
            "event": event,
            "run": str(run.id),
            "name": run.name,
            "agent": run.agent,
            "project": str(run.project_id),
            "status": run.status,
            "reason": reason,
            "decision": str(decision) if decision else None,
            "at": tx.at.isoformat(),
        },
    )


def notify_controlling_runs(*, at: datetime, of: Collection[UUID] | None = None) -> None:
    """Queue the notes that are due for controllers that are runs."""
    due = ControllerNote.objects.filter(due_at__lte=at, run__controller__isnull=False)
    if of is not None:
        due = due.filter(run_id__in=of)
    for note in due.order_by("id").select_related("run"):
        if note.run.controller_id is None:
            continue
        with journal.lock_runs([note.run.controller_id], at=at) as tx:
            mine = ControllerNote.objects.filter(pk=note.pk, due_at__isnull=False)
            if mine.update(due_at=None):  # else another worker told it
                controller = tx.run(note.run.controller_id)
                # Its next directive is new, which wakes a waiting controller.
                tx.raise_version(controller)
                queue_message(tx, controller, note.text, by="guard")


def claim_controller_webhooks(*, at: datetime, of: Collection[UUID] | None = None) -> list[UUID]:
    """Claim the notes that are due for a webhook, so that no other worker takes them."""
    due = ControllerNote.objects.filter(due_at__lte=at).exclude(run__controller_url="")
    if of is not None:
        due = due.filter(run_id__in=of)
    return [
        note
        for note in due.order_by("id").values_list("id", flat=True)
        # Each by a conditional update: another worker may have read the same list.
        if ControllerNote.objects.filter(pk=note, due_at__lte=at).update(due_at=at + LEASE)
    ]


def call_controller_webhook(note_id: UUID, *, claimed_at: datetime, at: datetime) -> None:
    """Post a claimed note, outside every lock, and store the outcome."""
    leased_until = claimed_at + LEASE
    note = ControllerNote.objects.select_related("run").filter(pk=note_id).first()
    # After a long wait the claim may have expired, or the note was claimed again or settled.
    if note is None or note.due_at != leased_until or leased_until <= at:
        return
    if note.tries >= MAX_ATTEMPTS:
        _store_outcome(note, Outcome(failure="nothing came of its last try"), at=at)
        return
    # Counted before the request: a try whose worker dies counts too.
    mine = ControllerNote.objects.filter(pk=note.pk, tries=note.tries, due_at=note.due_at)
    note.tries += 1
    if not mine.update(tries=note.tries):
        return
    began = time.monotonic()
    outcome = webhook.post(
        note.run.controller_url,
        {**note.payload, "text": note.text},
        project=note.run.project_id,
        delivery=note.id,
        at=at,
        private_hosts=settings.CONTROLLER_HOSTS,
    )
    # `at` is when the request began; the reply came later by the measured time.
    _store_outcome(note, outcome, at=at + timedelta(seconds=time.monotonic() - began))


def _store_outcome(note: ControllerNote, outcome: Outcome, *, at: datetime) -> None:
    again_at = outcome.next_attempt_at(note.tries, at)
    with journal.lock_runs([note.run_id], at=at) as tx:
        # Only the newest try: a slow worker may return after its claim expired.
        mine = ControllerNote.objects.filter(pk=note.pk, tries=note.tries, due_at__isnull=False)
        if not mine.update(due_at=again_at) or again_at:
            return
        run = tx.run(note.run_id)
        payload: dict[str, Any] = {"channel": "controller", "decision": note.decision}
        if outcome.failure is None:
            tx.record(run, NoticeSent, by="guard", **payload)
        else:
            tx.record(run, NoticeFailed, by="guard", reason=outcome.failure, **payload)
