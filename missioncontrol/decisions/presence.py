"""Whether a run's client is still there, and what follows when it is gone.

A process that stands by its session (`guard.hooks.watcher`), an SDK session or `guard run`
says again and again by when it will next be heard of. Of other clients nothing is known
but their turns: `deadlines.lose_silent` misses them after thirty minutes.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from missioncontrol.decisions import cards, endings, holding
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, Move, Status
from missioncontrol.runs.models import Run, RunMeters, Turn
from missioncontrol.runs.selectors import ids_of

# Until a client must be heard of again: it speaks every twenty seconds, and may miss once.
PROMISE_S = 45.0
# After the server was away, each client has this long to be heard of again.
TO_BE_HEARD = timedelta(seconds=PROMISE_S)
# A session that rests after it was told to stop, for so long, has stopped.
QUIET = timedelta(seconds=5)
# An agent of whose rests we hear nothing, asked to finish and quiet for so long, has finished.
LAST_WORD = timedelta(minutes=5)


def vouch(run_id: UUID, *, witness: str, for_s: float, at: datetime) -> bool:
    """Note that a client's process lives and will say so again within `for_s` seconds.

    A run that was lost comes back. False: it has ended, and nobody need stand by it.
    """
    live = Run.objects.filter(pk=run_id).exclude(status__in=ENDED - {Status.LOST})
    promised = at + timedelta(seconds=for_s)
    with transaction.atomic():
        # After a wait for who ends it, PostgreSQL looks again at the row that is locked alone.
        is_live = bool(live.select_for_update(no_key=True).values_list("pk"))
        if is_live:
            RunMeters.objects.filter(pk=run_id).update(expected_by=promised, witness=witness)
    # Only then under the lock of the run: a client vouches every twenty seconds.
    if live.filter(meters__presence="gone").exists():
        with journal.writing([run_id], at=at) as tx:
            run = tx.run(run_id)
            if run.status == Status.LOST:
                tx.come_back(run, reason="its process was heard of again")
                cards.resume_hold(tx, run)
            if run.status not in ENDED:
                run.meters.presence, run.meters.expected_by = "working", promised
    return is_live


def lose_process(run_id: UUID, *, witness: str, at: datetime) -> None:
    """Note that the client's process is known to have ended.

    A session that another process has taken up since is not lost.
    """
    with journal.writing([run_id], at=at) as tx:
        run = tx.run(run_id)
        if run.meters.witness == witness:
            _lose(tx, run, reason="its process ended without a word")


def lose_unheard(*, at: datetime, listening_since: datetime) -> None:
    """Lose contact with the clients that did not keep their promise to be heard of."""
    # While we were away nobody could be heard: each client gets its time first.
    if at - listening_since < TO_BE_HEARD:
        return
    for run_id in ids_of(Q(meters__expected_by__lt=at)):
        with journal.writing([run_id], at=at) as tx:
            run = tx.run(run_id)
            # Looked at again: it may have been heard of while we waited for its lock.
            if run.meters.expected_by is not None and run.meters.expected_by < at:
                _lose(tx, run, reason="no sign of life of its process")


def _lose(tx: RunTransaction, run: Run, *, reason: str) -> None:
    """A hold stands, with its card: the person's answer waits for the session's return."""
    run.meters.expected_by = None
    if run.status in ENDED:
        return
    run.meters.presence = "gone"
    # A parked session has no process until it is resumed.
    if run.status in {Status.RUNNING, Status.STOPPING} and not run.parked:
        endings.end(tx, run, Move.FALL_SILENT, by="policy", reason=reason)


def end_stopped(*, at: datetime) -> None:
    """Take sessions that were told to stop, and rest since, for ended.

    Their process may live on at its prompt; whatever it asks next is answered *stop*.
    """
    must_stop = Q(status=Status.STOPPING, meters__presence="idle")
    quiet = Q(meters__last_turn_at__lt=at - QUIET) | Q(meters__last_turn_at__isnull=True)
    for run_id in ids_of(must_stop & quiet):
        with journal.writing([run_id], at=at) as tx:
            run = tx.run(run_id)
            if run.status == Status.STOPPING and run.meters.presence == "idle":
                endings.end(tx, run, Move.END, by="agent", reason="its turn has ended")


def end_finished(*, at: datetime) -> None:
    """End the runs that were asked to finish and have said their last; none is left running.

    Whatever such a run does next is answered *stop*.
    """
    spoke = Q(meters__last_seq__gt=F("meters__finish_seq") - holding.LAST_TURNS)
    has_ended_its_turn = Q(meters__presence="idle", meters__last_turn_at__lt=at - QUIET)
    rests = has_ended_its_turn | Q(meters__last_turn_at__lt=at - LAST_WORD)
    which = Q(status=Status.RUNNING, meters__finish_seq__isnull=False) & spoke & rests
    for run_id in ids_of(which):
        with journal.writing([run_id], at=at) as tx:
            run = tx.run(run_id)
            last_turns = (run.meters.finish_seq or 0) - holding.LAST_TURNS
            calls = Turn.objects.filter(run=run, phase="proposed", skipped=False)
            # A call that it may make to finish has not come back yet: it is at work.
            is_at_work = calls.filter(seq__gt=last_turns).exists()
            if not is_at_work and Run.objects.filter(which, pk=run_id).exists():
                # What it says after this is beyond its last turn, and is answered with a stop.
                run.meters.finish_seq = run.meters.last_seq
                endings.end(tx, run, Move.COMPLETE, by="policy", reason="it was asked to finish")
