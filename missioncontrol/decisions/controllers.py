"""Tell a run's controller, another run or a webhook, what became of it.

What is to be told is a row (`ControllerNote`), written where it happened; here it is
told afterwards. A run is told once, by a message in its next directive. A webhook is
told at least once: repeats carry the same delivery id.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.conf import settings

from missioncontrol import outbound
from missioncontrol.decisions import messages
from missioncontrol.decisions.models import ControllerNote
from missioncontrol.notify import signing
from missioncontrol.notify.retries import LEASE, MOST_TRIES, next_try
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run
from missioncontrol.wire.events import NoticeFailed, NoticeSent

CHANNEL = "controller"


def tell_runs(*, at: datetime, of: Collection[UUID] | None = None) -> None:
    """Queue what is due for controllers that are runs."""
    due = ControllerNote.objects.filter(due_at__lte=at, run__controller__isnull=False)
    if of is not None:
        due = due.filter(run_id__in=of)
    for note in due.order_by("id").select_related("run"):
        _tell_run(note, at=at)


def claim_webhooks(*, at: datetime, of: Collection[UUID] | None = None) -> list[UUID]:
    """Take the notes that are due for a webhook; no other worker gets them now."""
    due = ControllerNote.objects.filter(due_at__lte=at).exclude(run__controller_url="")
    if of is not None:
        due = due.filter(run_id__in=of)
    return [note for note in due.order_by("id").values_list("id", flat=True) if _lease(note, at=at)]


def call_webhook(note_id: UUID, *, at: datetime) -> None:
    """Post a note that was claimed, outside every lock, and write down what came of it."""
    note = ControllerNote.objects.select_related("run").get(pk=note_id)
    if note.due_at is None or note.due_at <= at:
        return  # settled, or it waited so long here that it is anybody's again
    if note.tries >= MOST_TRIES:
        _settle(note, "nothing came of its last try", at=at)
    elif _count_try(note):
        _settle(note, _failure_of(note, at=at), at=at)


def _tell_run(note: ControllerNote, *, at: datetime) -> None:
    controller = note.run.controller_id
    if controller is None:
        return
    with journal.writing([controller], at=at) as tx:
        mine = ControllerNote.objects.filter(pk=note.pk, due_at__isnull=False)
        if not mine.update(due_at=None):
            return  # told meanwhile
        told = tx.run(controller)
        tx.bump(told)
        messages.say(tx, told, note.text, by="guard")


def _lease(note_id: UUID, *, at: datetime) -> bool:
    mine = ControllerNote.objects.filter(pk=note_id, due_at__lte=at)
    return bool(mine.update(due_at=at + LEASE))


def _count_try(note: ControllerNote) -> bool:
    """Count a try before it is made: one that nobody comes back from was one too."""
    mine = ControllerNote.objects.filter(pk=note.pk, tries=note.tries, due_at=note.due_at)
    note.tries += 1
    return bool(mine.update(tries=note.tries))


def _failure_of(note: ControllerNote, *, at: datetime) -> str | None:
    """Post a note; say why it was not taken, None: it was."""
    try:
        reply = _post(note, at=at)
    except outbound.Unsendable as refused:
        return str(refused)
    return None if reply.is_good else f"it answered {reply.status}"


def _post(note: ControllerNote, *, at: datetime) -> outbound.Reply:
    body = json.dumps({**note.payload, "text": note.text}, ensure_ascii=False).encode()
    headers = signing.headers(
        body, project=note.run.project_id, event=note.event, delivery=note.id, at=at
    )
    return outbound.post(
        note.run.controller_url, body, headers, private_hosts=settings.CONTROLLER_HOSTS
    )


def _settle(note: ControllerNote, failure: str | None, *, at: datetime) -> None:
    again = failure is not None and note.tries < MOST_TRIES
    with journal.writing([note.run_id], at=at) as tx:
        mine = ControllerNote.objects.filter(pk=note.pk, tries=note.tries, due_at__isnull=False)
        if not mine.update(due_at=next_try(note.tries, at) if again else None) or again:
            return
        _tell_outcome(tx, tx.run(note.run_id), note, failure)


def _tell_outcome(tx: RunTransaction, run: Run, note: ControllerNote, failure: str | None) -> None:
    if failure is None:
        tx.record(run, NoticeSent, by="guard", channel=CHANNEL, decision=note.decision)
    else:
        tx.record(
            run, NoticeFailed, by="guard", channel=CHANNEL, decision=note.decision, reason=failure
        )
