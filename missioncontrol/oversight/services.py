"""What the agent's side and the clock do to a run. Each takes the run's row lock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q

from missioncontrol.errors import NotFound
from missioncontrol.oversight import endings, holding, receipts, rows
from missioncontrol.oversight.models import Decision, Intervention, Message
from missioncontrol.runs import journal
from missioncontrol.runs.lifecycle import ON_HOLD, Move, Status
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import InterventionAction
from missioncontrol.wire.events import MessageDelivered

STILL_WAITING = timedelta(seconds=10)
"""An agent whose last request closed less than this ago is still waiting."""
SILENCE = timedelta(minutes=30)
EXPECTED = frozenset({Status.RUNNING, Status.HOLDING, Status.STOPPING})
"""An agent in one of these should be heard of; one that is held has a request open."""
JUDGE_LATE = timedelta(seconds=5)
"""Beyond what the configured judge may take."""


def note_waiting(run_ids: Iterable[UUID], *, at: datetime) -> None:
    """Note that these runs' agents have a request open."""
    with journal.writing(run_ids, at=at) as book:
        for run in book.runs.values():
            holding.wait(book, run)


def note_still_waiting(run_ids: Collection[UUID], *, at: datetime) -> None:
    """Refresh the sign of life of open requests; no event, no lock."""
    Run.objects.filter(pk__in=run_ids, status__in=ON_HOLD).update(waiting_at=at)


def note_answered(run_id: UUID, *, at: datetime) -> None:
    """Note that the newest directive left on a request that was open."""
    with journal.writing([run_id], at=at) as book:
        receipts.deliver(book, book.run(run_id))


def deliver_message(run_id: UUID, message_id: UUID, *, project: UUID, at: datetime) -> None:
    """Note that a message reached the model; a repeat changes nothing.

    Raises:
        NotFound: no such message in the project's run.
    """
    with journal.writing([run_id], at=at) as book:
        run = book.run(run_id)
        known = Message.objects.filter(pk=message_id, run=run).exists()
        if run.project_id != project or not known:
            raise NotFound("The message")
        _deliver(book, run, [message_id])


def claim_messages(
    run_id: UUID, *, at: datetime, agents: Collection[str | None] | None = None
) -> list[Message]:
    """Take the queued messages for one answer; no other answer gets them."""
    with journal.writing([run_id], at=at) as book:
        run = book.run(run_id)
        waiting = Message.objects.filter(run=run, delivered_at__isnull=True).order_by("id")
        mine = [m for m in waiting if agents is None or m.agent is None or m.agent in agents]
        _deliver(book, run, [message.id for message in mine])
    return mine


def _deliver(book: journal.Book, run: Run, message_ids: Iterable[UUID]) -> None:
    for message_id in message_ids:
        queued = Message.objects.filter(pk=message_id, delivered_at__isnull=True)
        if queued.update(delivered_at=book.at):
            run.queued_messages -= 1
            book.record(run, MessageDelivered, by="agent", message=message_id)


def learn_capabilities(run_id: UUID, told: Mapping[str, Any], *, at: datetime) -> Run:
    """Take in what an adapter found out its agent can do; what it leaves out stays.

    A run that only telemetry told of is in hand from now on.
    """
    with journal.writing([run_id], at=at) as book:
        run = book.run(run_id)
        known = dict(told) if run.observed_only else {**run.capabilities, **told}
        run.observed_only = False
        if known != run.capabilities:
            run.capabilities = known
            Run.objects.filter(pk=run_id).update(capabilities=known)
            book.moved(
                run, by="agent", reason="it told what it can do", capabilities=known,
                unavailable=rows.unavailable(run), actions=_offered_now(run),
            )  # fmt: skip
    return run


def _offered_now(run: Run) -> tuple[InterventionAction, ...] | None:
    card = Decision.objects.filter(pk=run.open_decision).first() if run.open_decision else None
    return rows.offered(card.kind, card.holds, run) if card else None


def end_session(run_id: UUID, *, at: datetime, failed: bool = False) -> None:
    """Note that the agent's process said goodbye."""
    with journal.writing([run_id], at=at) as book:
        move, run = Move.FAIL if failed else Move.END, book.run(run_id)
        if not run.parked:  # a parked session's process ends, the session does not
            endings.end(book, run, move, by="agent", reason="the session ended")


def park(run_id: UUID, *, at: datetime) -> None:
    """Note that the agent puts its held call off: its process ends until it is resumed."""
    with journal.writing([run_id], at=at) as book:
        holding.park(book, book.run(run_id))


def unpark(run_id: UUID, *, at: datetime) -> None:
    """Note that a parked session has been resumed after it was let go.

    One that is still held comes back by waiting again.
    """
    with journal.writing([run_id], at=at) as book:
        run = book.run(run_id)
        run.parked = run.parked and run.status in ON_HOLD


def give_up_abandoned(*, at: datetime) -> None:
    """Tell of holds whose agent has had no request open for ten seconds."""
    gone = Q(waiting_at__lt=at - STILL_WAITING) | Q(waiting_at__isnull=True)
    for run_id in _ids(Q(status=Status.HELD) & gone):
        with journal.writing([run_id], at=at) as book:
            run = book.run(run_id)
            if run.waiting_at is None or run.waiting_at < at - STILL_WAITING:
                holding.give_up(book, run)


def expire_unanswered(*, at: datetime) -> None:
    """Do what each project says of the holds nobody answered in time."""
    for run_id in _ids(Q(status__in=ON_HOLD, hold_expires_at__lte=at)):
        with journal.writing([run_id], at=at) as book:
            run = book.run(run_id)
            if run.status in ON_HOLD and run.hold_expires_at and run.hold_expires_at <= at:
                endings.expire(book, run)


def miss_unheard(*, at: datetime) -> None:
    """Tell of answers to a held agent that nobody was there to take.

    An agent that waits hears at once, over a restart within seconds.
    """
    late = Intervention.objects.filter(
        status="asked", at__lt=at - STILL_WAITING, decision__holds=True, run__parked=False,
        run__unconfirmed=F("id"),
    )  # fmt: skip
    for made in late.order_by("run_id"):
        with journal.writing([made.run_id], at=at) as book:
            run = book.run(made.run_id)
            made.refresh_from_db()
            heard = run.last_turn_at is not None and run.last_turn_at > made.at
            if made.status == "asked" and run.unconfirmed == made.id and not heard:
                receipts.miss(book, run, made)


def lose_silent(*, at: datetime) -> None:
    """Call runs lost that have not been heard of for thirty minutes."""
    quiet = Q(last_turn_at__lt=at - SILENCE) | Q(
        last_turn_at__isnull=True, started_at__lt=at - SILENCE
    )
    awaited = Q(waiting_at__gte=at - STILL_WAITING) | Q(status=Status.HOLDING, parked=True)
    for run_id in _ids(Q(status__in=EXPECTED) & quiet & ~awaited):
        with journal.writing([run_id], at=at) as book:
            run = book.run(run_id)
            if run.status not in EXPECTED or (run.last_turn_at or run.started_at) >= at - SILENCE:
                continue  # it spoke, or ended, while we waited for its lock
            endings.end(
                book, run, Move.FALL_SILENT, by="policy", reason="nothing heard for 30 minutes"
            )


def unjudged_runs() -> list[UUID]:
    """Return runs with observations that no detection has seen."""
    return _ids(Q(detected_obs__lt=F("last_obs")))


def unruled_decisions(*, at: datetime) -> list[UUID]:
    """Return cards whose judge is late."""
    patience = JUDGE_LATE
    if settings.JUDGE is not None:
        patience += timedelta(seconds=settings.JUDGE.timeout_s)
    late = Decision.objects.filter(status="judging", opened_at__lt=at - patience)
    return list(late.values_list("id", flat=True))


def _ids(which: Q) -> list[UUID]:
    return list(Run.objects.filter(which).order_by("id").values_list("id", flat=True))
