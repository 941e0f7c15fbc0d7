"""What happens to runs and cards when time runs out. Each function takes the run's row lock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from django.db.models import F, Q

from missioncontrol.decisions import directives, holding, sessions
from missioncontrol.decisions.models import Intervention
from missioncontrol.decisions.sessions import HEARTBEAT_TIMEOUT_S
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ON_HOLD, Move, Status
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.selectors import matching_ids
from missioncontrol.wire.decisions import PERMISSION
from missioncontrol.wire.events import HoldAbandoned

# An agent whose last request closed less than this ago is still waiting.
STILL_WAITING = timedelta(seconds=10)
SILENCE = timedelta(minutes=30)
# An agent in one of these should be heard from; a held one has a request open.
EXPECTED_TO_SPEAK = frozenset({Status.RUNNING, Status.HOLDING, Status.STOPPING})
# After the server was away, each client has this long to report again.
RECONNECT_WITHIN = timedelta(seconds=HEARTBEAT_TIMEOUT_S)
# A client that promised nothing has this long: its model may still be answering.
SPEAK_WITHIN = timedelta(minutes=5)
# A session that was told to stop and has been idle this long has stopped.
IDLE_TIME = timedelta(seconds=5)
# An agent that was asked to finish and never reports idleness has finished after this silence.
FINISH_SILENCE = timedelta(minutes=5)


def _for_each_run(
    which: Q, action: Callable[[RunTransaction, Run], object], *, at: datetime
) -> None:
    """Act on the runs one by one, each under its lock."""
    for run_id in matching_ids(which):
        with journal.lock_runs([run_id], at=at) as tx:
            # Checked again: the run may have spoken or ended while this waited for its lock.
            if Run.objects.filter(which, pk=run_id).exists():
                action(tx, tx.run(run_id))


def give_up_abandoned_holds(*, at: datetime) -> None:
    """Give up the holds whose agent has had no request open for ten seconds."""
    gone = Q(hold__waiting_at__lt=at - STILL_WAITING) | Q(hold__waiting_at__isnull=True)
    _for_each_run(Q(status=Status.HELD) & gone, _give_up_hold, at=at)


def _give_up_hold(tx: RunTransaction, run: Run) -> None:
    if run.hold is not None:
        run.hold.waiting_since, run.hold.gave_up_at = None, tx.at
        tx.move(run, Move.GIVE_UP, by="agent", reason="the agent gave up waiting")
        tx.record(run, HoldAbandoned, by="agent", decision=run.open_decision)


def expire_unanswered_holds(*, at: datetime) -> None:
    """Apply each project's rule to the holds that nobody answered in time."""
    _for_each_run(Q(status__in=ON_HOLD, hold__expires_at__lte=at), sessions.expire_hold, at=at)


def mark_unreachable_answers(*, at: datetime) -> None:
    """Mark answers as unreachable that no waiting agent was there to take.

    An agent that waits gets an answer at once; after a restart, within seconds.
    """
    late = Intervention.objects.filter(
        Q(decision__holds=True, run__meters__unconfirmed=F("id")) | Q(decision__kind=PERMISSION),
        status="asked",
        at__lt=at - STILL_WAITING,
        run__parked=False,
    )
    for intervention in late.order_by("run_id"):
        with journal.lock_run(intervention.run_id, at=at) as (tx, run):
            # It may have been delivered while this waited for the lock.
            intervention.refresh_from_db()
            has_spoken = (
                run.meters.last_turn_at is not None and run.meters.last_turn_at > intervention.at
            )
            awaited = (
                run.meters.unconfirmed == intervention.id
                or intervention.action in directives.PERMISSION_ANSWERS
            )
            if intervention.status == "asked" and awaited and not has_spoken:
                directives.mark_unreachable(tx, run, intervention)


def lose_silent_runs(*, at: datetime, listening_since: datetime) -> None:
    """Mark runs as lost that have not been heard from for thirty minutes.

    Clients that send heartbeats may be idle for hours: `lose_overdue_clients` handles them.
    """
    if at - listening_since < SPEAK_WITHIN:
        return
    quiet = Q(meters__last_turn_at__lt=at - SILENCE) | Q(
        meters__last_turn_at__isnull=True, started_at__lt=at - SILENCE
    )
    # An agent that waits for a person, or is parked until one answers, is rightly silent.
    awaited = Q(hold__waiting_at__gte=at - STILL_WAITING) | Q(status=Status.HOLDING, parked=True)
    which = Q(status__in=EXPECTED_TO_SPEAK, meters__expected_by__isnull=True) & quiet & ~awaited
    reason = "nothing heard for 30 minutes"
    end = partial(sessions.end_run, move=Move.FALL_SILENT, by="policy", reason=reason)
    _for_each_run(which, end, at=at)


def lose_overdue_clients(*, at: datetime, listening_since: datetime) -> None:
    """Lose contact with clients that did not report by the time they promised."""
    # While the server was away it heard nobody: each client gets time to report first.
    if at - listening_since < RECONNECT_WITHIN:
        return
    lose = partial(sessions.lose_contact, reason="no sign of life of its process")
    _for_each_run(Q(meters__expected_by__lt=at), lose, at=at)


def end_stopped_sessions(*, at: datetime) -> None:
    """End sessions that were told to stop and have been idle since.

    Their process may live on at its prompt; any later request of it is answered with a stop.
    """
    must_stop = Q(status=Status.STOPPING, meters__presence="idle")
    quiet = Q(meters__last_turn_at__lt=at - IDLE_TIME) | Q(meters__last_turn_at__isnull=True)
    end = partial(sessions.end_run, move=Move.END, by="agent", reason="its turn has ended")
    _for_each_run(must_stop & quiet, end, at=at)


def end_finished_runs(*, at: datetime) -> None:
    """End the runs that were asked to finish, have spoken since and have no call under way.

    Any later request of such a run is answered with a stop.
    """
    spoke = Q(meters__last_seq__gt=F("meters__finish_seq") - holding.LAST_TURNS)
    has_ended_its_turn = Q(meters__presence="idle", meters__last_turn_at__lt=at - IDLE_TIME)
    rests = has_ended_its_turn | Q(meters__last_turn_at__lt=at - FINISH_SILENCE)
    which = Q(status=Status.RUNNING, meters__finish_seq__isnull=False) & spoke & rests

    def end(tx: RunTransaction, run: Run) -> None:
        last_turns = (run.meters.finish_seq or 0) - holding.LAST_TURNS
        # A call that the agent makes in order to finish has no result yet: it is at work.
        calls = Turn.objects.filter(run=run, phase="proposed", skipped=False)
        if not calls.filter(seq__gt=last_turns).exists():
            # Any later turn is beyond the run's last one, and is answered with a stop.
            run.meters.finish_seq = run.meters.last_seq
            sessions.end_run(tx, run, Move.COMPLETE, by="policy", reason="it was asked to finish")

    _for_each_run(which, end, at=at)
