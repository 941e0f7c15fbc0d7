"""Tell a run's controller, another run or a webhook, what became of it.

What is to be told is a row (`ControllerNote`), written where it happened; here it is
told afterwards. A run is told once, by a message in its next directive. A webhook is
told at least once: repeats carry the same delivery id.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from missioncontrol import outbound
from missioncontrol.decisions import messages
from missioncontrol.decisions.models import ControllerNote
from missioncontrol.notify import webhook
from missioncontrol.notify.tries import LEASE, MOST_TRIES, next_try
from missioncontrol.runs import journal
from missioncontrol.wire.events import NoticeFailed, NoticeSent

CHANNEL = "controller"


def tell_runs(*, at: datetime, of: Collection[UUID] | None = None) -> None:
    """Queue what is due for controllers that are runs."""
    due = ControllerNote.objects.filter(due_at__lte=at, run__controller__isnull=False)
    if of is not None:
        due = due.filter(run_id__in=of)
    for note in due.order_by("id").select_related("run"):
        if note.run.controller_id is None:
            continue
        with journal.writing([note.run.controller_id], at=at) as tx:
            mine = ControllerNote.objects.filter(pk=note.pk, due_at__isnull=False)
            if mine.update(due_at=None):  # else it was told meanwhile
                controller = tx.run(note.run.controller_id)
                # Its next directive is new: a controller that waits is woken by it.
                tx.bump(controller)
                messages.say(tx, controller, note.text, by="guard")


def claim_webhooks(*, at: datetime, of: Collection[UUID] | None = None) -> list[UUID]:
    """Take the notes that are due for a webhook; no other worker gets them now."""
    due = ControllerNote.objects.filter(due_at__lte=at).exclude(run__controller_url="")
    if of is not None:
        due = due.filter(run_id__in=of)
    return [
        note
        for note in due.order_by("id").values_list("id", flat=True)
        # Each by a conditional update: another worker may have read the same list.
        if ControllerNote.objects.filter(pk=note, due_at__lte=at).update(due_at=at + LEASE)
    ]


def call_webhook(note_id: UUID, *, at: datetime) -> None:
    """Post a note that was claimed, outside every lock, and write down what came of it."""
    note = ControllerNote.objects.select_related("run").get(pk=note_id)
    if note.due_at is None or note.due_at <= at:
        return  # settled, or it waited so long here that it is anybody's again
    if note.tries >= MOST_TRIES:
        _settle(note, "nothing came of its last try", at=at)
        return
    # Counted before it is made: a try that nobody comes back from was one too.
    mine = ControllerNote.objects.filter(pk=note.pk, tries=note.tries, due_at=note.due_at)
    note.tries += 1
    if not mine.update(tries=note.tries):
        return
    body = json.dumps({**note.payload, "text": note.text}, ensure_ascii=False).encode()
    project, url = note.run.project_id, note.run.controller_url
    headers = webhook.headers_of(body, project=project, event=note.event, delivery=note.id, at=at)
    try:
        reply = outbound.post(url, body, headers, private_hosts=settings.CONTROLLER_HOSTS)
    except outbound.Unsendable as refused:
        _settle(note, str(refused), at=at)
    else:
        _settle(note, None if reply.is_good else f"it answered {reply.status}", at=at)


def _settle(note: ControllerNote, failure: str | None, *, at: datetime) -> None:
    again = failure is not None and note.tries < MOST_TRIES
    with journal.writing([note.run_id], at=at) as tx:
        # The newest try alone: a worker that was slow may come back after its lease.
        mine = ControllerNote.objects.filter(pk=note.pk, tries=note.tries, due_at__isnull=False)
        if not mine.update(due_at=next_try(note.tries, at) if again else None) or again:
            return
        payload: dict[str, Any] = {"channel": CHANNEL, "decision": note.decision}
        if failure is None:
            tx.record(tx.run(note.run_id), NoticeSent, by="guard", **payload)
        else:
            tx.record(tx.run(note.run_id), NoticeFailed, by="guard", reason=failure, **payload)
