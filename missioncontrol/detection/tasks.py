"""Celery tasks: parse, one call, publish. Lost messages are swept up."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast
from uuid import UUID, uuid4

from celery import shared_task
from celery.signals import worker_init, worker_ready
from django.conf import settings
from django.db import OperationalError, connection
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from guard.pricing import price
from guard.turn import Usage
from missioncontrol.celery import app, enqueue, run_in_pool
from missioncontrol.clock import now
from missioncontrol.costs import trees
from missioncontrol.decisions import budgets, deadlines, messages, permissions
from missioncontrol.decisions.directives import ControlState
from missioncontrol.detection import backtests, judging, pipeline
from missioncontrol.runs import publishing, selectors

logger = logging.getLogger(__name__)

# Every process that sends a task must use our broker: otherwise a web process whose first request
# is not /readyz sends to Celery's default address, and each verdict takes 2 s.
app.set_default()

# How often, and also when its process starts, the sweeper looks at runs that ended long ago too.
FULL_SWEEP_EVERY = timedelta(minutes=1)
# Runs the sweeper locks together.
RUNS_PER_SWEEP = 16
# How long the sweeper leaves a run to its own worker, which has the run's engine; the engine falls
# behind each time another process judges.
DETECTOR_GRACE = timedelta(seconds=2)
# The time span before a start whose events are published again: the replaced process died in it.
REPUBLISHED_SPAN = timedelta(minutes=1)
# Set while modules load: this process has written nothing yet, and the others have published what
# they wrote by then.
_started_at = now()
_full_sweep_at = datetime.min.replace(tzinfo=UTC)
_broker = Redis.from_url(settings.BROKER_URL, retry=Retry(NoBackoff(), 1))
_callers = ThreadPoolExecutor(4, thread_name_prefix="caller")


@worker_init.connect
def warm_up(**_: Any) -> None:
    """Load the price list now, and collect garbage less often: a turn makes little of it."""
    price(Usage(input=1), model="claude-sonnet-4-5", provider="anthropic")
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@worker_ready.connect
def request_republishing(**_: Any) -> None:
    """Have events published again that a killed process may not have published.

    This process may be its replacement. While none is killed, each event is published once.
    """
    enqueue(tell_again.name, _started_at.isoformat())


@shared_task(ignore_result=True)
def tell_again(until: str) -> None:
    """Publish again the last event of each run whose last event came shortly before `until`."""
    started_at = datetime.fromisoformat(until)
    publishing.republish_events(since=started_at - REPUBLISHED_SPAN, until=started_at)


# The stubs lack `Strategy`, which names the handler of a task's messages.
@shared_task(  # type: ignore[call-overload,untyped-decorator]
    acks_late=True, Strategy=f"{__name__}:handle_dispatches"
)
def detect(runs: Sequence[str], reply_to: str, number: int) -> None:
    """Judge what is new in these runs, and reply to the process that asked."""
    # A worker has no request at whose end Django would check the connection.
    connection.close_if_unusable_or_obsolete()
    control_states = detect_now([UUID(run_id) for run_id in runs])
    runs_now = {run_id.hex: asdict(control) for run_id, control in control_states.items()}
    reply = json.dumps({"type": "judged", "ring": number, "runs": runs_now})
    try:
        # From this thread: another one would get the interpreter only when this one is idle.
        _broker.publish(reply_to, reply)
    except (RedisError, OSError) as fault:  # the process that asked reads the database
        logger.warning("the reply to dispatch %s failed: %s", number, fault)


def handle_dispatches(task: Any, _app: Any, consumer: Any) -> Callable[..., None]:
    """Return a worker's handler for `detect` messages: it runs the task without Celery's request.

    Celery's request and trace exist for results, retries, time limits and revoking, none of which
    a dispatch uses.
    """

    def take(message: Any, _body: Any, acknowledge: Callable[..., object], *_: Any) -> None:
        try:
            _, arguments, _ = message.payload
            task.run(**arguments)
        except Exception:  # it is sent again, and swept
            logger.exception("a dispatch failed")
        finally:
            # A message that the dispatcher pushed has no delivery info and is not tracked as
            # unacknowledged: to acknowledge it would only cost a round trip to the broker.
            if message.delivery_info:
                acknowledge(logger, consumer.connection_errors)

    return take


def detect_message(arguments: Mapping[str, Any]) -> str:
    """Return the arguments of `detect` as an entry of a queue at the broker.

    Only what Celery's protocol needs, in the envelope that kombu reads from Redis:
    `apply_async` takes four times as long, for things that the dispatcher does not use.
    """
    return json.dumps(
        {
            "body": json.dumps(((), arguments, {})),
            "content-type": "application/json",
            "content-encoding": "utf-8",
            "headers": {"task": detect.name, "id": (task_id := uuid4().hex), "lang": "py"},
            "properties": {"delivery_tag": task_id, "delivery_info": {}},
        }
    )


def detect_now(run_ids: Sequence[UUID]) -> dict[UUID, ControlState]:
    """Judge these runs here, and have the judge asked about cards that opened.

    A run that cannot be judged is logged and left out; the others are judged.
    """
    try:
        detected = pipeline.detect(run_ids, at=now())
    except OperationalError:  # the database is busy or away, for all of them
        raise
    except Exception:
        if len(run_ids) == 1:
            logger.exception("judging run %s failed", *run_ids)
            return {}
        # Nothing was committed: judge them one by one, so that the others are judged.
        return {one: where for run_id in run_ids for one, where in detect_now([run_id]).items()}
    for decision_id in detected.opened:
        enqueue(judge.name, str(decision_id))
    for question_id in detected.questions:
        enqueue(answer.name, str(question_id))
    if detected.controlled:
        _notify_controllers(at=now(), of=detected.controlled)
    if detected.left:
        # A person went first; the runs left out follow in a transaction of their own.
        return detected.control_states | detect_now(list(detected.left))
    return detected.control_states


@shared_task(acks_late=True)
def judge(decision_id: str) -> None:
    """Ask the judge about one card."""
    judging.judge_card(UUID(decision_id), at=now())


@shared_task(acks_late=True)
def answer(question_id: str) -> None:
    """Ask the judge about one suspicion."""
    judging.judge_suspicion(UUID(question_id), at=now())


@shared_task(ignore_result=True)
def sweep() -> None:
    """Do what a lost message or a passed deadline left undone; every 2 s."""
    at = now()
    for step in (
        _judge_unjudged_runs,
        deadlines.give_up_abandoned_holds,
        deadlines.expire_unanswered_holds,
        deadlines.mark_unreachable_answers,
        budgets.release_for_new_day,
        _lose_overdue_clients,
        deadlines.end_stopped_sessions,
        deadlines.end_finished_runs,
        permissions.time_out_lost_requests,
        judging.rule_overdue_cards,
        _resume_backtests,
        _notify_controllers,
        trees.link_waiting_runs,
    ):
        try:
            step(at=at)
        except Exception:  # the other steps still run
            logger.exception("sweeping: %s failed", step.__name__)
    if connection.vendor == "sqlite":
        cast(Any, connection).checkpoint()


@shared_task(ignore_result=True)
def lose_silent() -> None:
    """Mark runs silent for half an hour as lost; every minute, as it reads all live runs."""
    at = now()
    deadlines.lose_silent_runs(at=at, listening_since=_listening_clock.listening_since(at))


def _notify_controllers(*, at: datetime, of: Collection[UUID] | None = None) -> None:
    """Tell the controllers of these runs, or of all, what they have not been told."""
    messages.notify_controlling_runs(at=at, of=of)
    for note_id in messages.claim_controller_webhooks(at=at, of=of):
        run_in_pool(_callers, partial(_call_controller_webhook, note_id, claimed_at=at))


def _call_controller_webhook(note_id: UUID, *, claimed_at: datetime) -> None:
    # A thread may be free only later: the time is read now.
    messages.call_controller_webhook(note_id, claimed_at=claimed_at, at=now())


def _judge_unjudged_runs(*, at: datetime) -> None:
    global _full_sweep_at  # noqa: PLW0603 - of this process
    # If the clock was set back, the last look seems to be in the future.
    among_all = abs(at - _full_sweep_at) >= FULL_SWEEP_EVERY
    left = selectors.unjudged_runs(moved_before=at - DETECTOR_GRACE, among_all=among_all)
    for first in range(0, len(left), RUNS_PER_SWEEP):
        detect_now(left[first : first + RUNS_PER_SWEEP])
    # Only now: if judging a run raised an error, the next sweep looks at all of them again.
    if among_all:
        _full_sweep_at = at


class _ListeningClock:
    """The moment since which this process has swept without a pause.

    While the server was away, or its machine asleep, no agent could be heard.
    """

    PAUSE = timedelta(seconds=30)

    def __init__(self) -> None:
        self._since = self._swept_at = datetime.min.replace(tzinfo=UTC)

    def listening_since(self, at: datetime) -> datetime:
        # After the clock was set back, it is unknown too how long it has listened.
        if abs(at - self._swept_at) > self.PAUSE:
            self._since = at
        self._swept_at = at
        return self._since


_listening_clock = _ListeningClock()


def _lose_overdue_clients(*, at: datetime) -> None:
    deadlines.lose_overdue_clients(at=at, listening_since=_listening_clock.listening_since(at))


@shared_task(acks_late=True)
def backtest(backtest_id: str) -> None:
    """Run one slice of a backtest and queue the next; its page shows a failure."""
    try:
        more = backtests.run_slice(UUID(backtest_id), at=now())
    except OperationalError:  # the database is busy or away: the sweeper tries again
        raise
    except Exception as fault:
        logger.exception("backtest %s failed", backtest_id)
        error = f"{type(fault).__name__}: {fault}"
        backtests.finish_backtest(UUID(backtest_id), "failed", at=now(), error=error)
        return
    if more:
        enqueue(backtest.name, backtest_id)


def _resume_backtests(*, at: datetime) -> None:
    for backtest_id in backtests.find_stalled(at=at):
        enqueue(backtest.name, str(backtest_id))
