"""What an agent's side reports of its session, and how a session ends; under the run's row lock.

A process that stays with its session (`guard.hooks.watcher`), an SDK session or `guard run`
promises again and again when it will next report (`record_heartbeat`). Of other clients only
their turns are known. Any end of a session settles what was open about the run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from guard.wire import Message as WireMessage
from missioncontrol.decisions import cards, directives, holding, messages, permissions, rows
from missioncontrol.decisions.directives import unsent_texts
from missioncontrol.decisions.models import Message
from missioncontrol.errors import NotFound
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, MUST_STOP, ON_HOLD, Move, Source, Status
from missioncontrol.runs.models import Hold, Run, RunMeters, Turn
from missioncontrol.wire.events import HoldAbandoned, MessageDelivered, SessionTerminated

# Time by which a client must report again: it does every twenty seconds, and may miss once.
HEARTBEAT_TIMEOUT_S = 45.0


def record_waiting(run_id: UUID, *, at: datetime) -> None:
    """Note that the agent has a request open: it is known to be waiting."""
    with journal.lock_run(run_id, at=at) as (tx, run):
        hold = run.hold
        if hold is None or run.status not in ON_HOLD:
            return
        hold.waiting_at = tx.at
        if run.status == Status.HOLDING:
            # A request is open again: the agent has not given up and is not parked any more.
            hold.waiting_since, hold.gave_up_at, run.parked = tx.at, None, False
            tx.move(run, Move.WAIT, by="agent", reason="the agent waits")
            directives.confirm_followed(tx, run, agent="")  # a person's pause has been obeyed


def refresh_waiting(run_id: UUID, *, at: datetime) -> None:
    """Refresh the time at which a request was last open; records no event and takes no lock."""
    Hold.objects.filter(run=run_id, run__status__in=ON_HOLD).update(waiting_at=at)


def record_answer_sent(
    run_id: UUID,
    answer: UUID | None,
    *,
    texts: Collection[UUID] = (),
    asked_by: int | None = None,
    at: datetime,
) -> None:
    """Note that a person's answer left on an open request, that of the turn `asked_by`.

    `texts`: the messages that left with it, claimed before.
    """
    with journal.lock_run(run_id, at=at) as (tx, run):
        _mark_texts_delivered(tx, run, texts)
        if answer is not None:
            directives.deliver_answer(tx, run, answer, agent=_agent_of(run_id, asked_by))


def take_texts(
    run_id: UUID, *, version: int, asked_by: int | None = None, at: datetime
) -> tuple[WireMessage, ...] | None:
    """Return the texts of a directive that is leaving; from here on they cannot be taken back.

    `asked_by`: the turn whose agent asks; None: it may be any agent of the run.
    Returns None if the run has moved on from this version: the directive is obsolete.
    """
    with journal.lock_run(run_id, at=at) as (tx, run):
        if run.version != version:
            return None
        agent = _agent_of(run_id, asked_by)
        for text in directives.texts_for_agent(run_id, agent, at=at).select_related("intervention"):
            if text.intervention is not None:
                directives.mark_delivered(tx, run, text.intervention)
        return directives.queued_messages(run_id, agent=agent, at=at)


def _agent_of(run_id: UUID, seq: int | None) -> str | None:
    """Return a turn's agent as stored: masked, or the run's own if the turn named none."""
    if seq is None:
        return None
    return Turn.objects.filter(run=run_id, seq=seq).values_list("agent", flat=True).first()


def record_answer_missed(run_id: UUID, *, at: datetime) -> None:
    """Note that a waiting request does not get the newest answer: its key was revoked."""
    with journal.lock_run(run_id, at=at) as (tx, run):
        directives.mark_followed_unreachable(tx, run)


def record_message_read(run_id: UUID, message_id: UUID, *, project: UUID, at: datetime) -> None:
    """Note that a message reached the model; a repeat changes nothing.

    Raises:
        NotFound: no such message in the project's run.
    """
    with journal.lock_run(run_id, at=at) as (tx, run):
        known = Message.objects.filter(pk=message_id, run=run).exists()
        # The same error for both: this agent must not learn which runs other projects have.
        if run.project_id != project or not known:
            raise NotFound("The message")
        _mark_texts_delivered(tx, run, [message_id])


def claim_messages(
    run_id: UUID,
    *,
    at: datetime,
    agents: Collection[str | None] | None = None,
    obs: int | None = None,
    is_repeat: bool = False,
) -> list[Message] | None:
    """Claim the queued messages for one answer; `record_answer_sent` records that it left.

    `obs`: the observation that is answered. If its caller reports it again (`is_repeat`), it has
    not read the answer before, which a broken connection swallowed: the same messages go out again.

    Returns None if other answers that are about to leave have claimed them. A claim expires if
    its answer never leaves because its caller hung up or its process was killed.
    """
    with journal.lock_run(run_id, at=at):
        # Under the run's lock: of two answers made at once, only one gets the messages.
        waiting = unsent_texts(run_id)
        if agents is not None:
            # A text for one agent of the run waits for that agent's own request.
            waiting = waiting.filter(Q(agent=None) | Q(agent__in=agents))
        free = waiting.exclude(directives.is_claimed(at))
        texts = list(free)
        if is_repeat and obs is not None:
            carried = Message.objects.filter(run=run_id, claimed_obs=obs, withdrawn_at=None)
            texts = [*carried.exclude(pk__in=[text.pk for text in texts]).order_by("id"), *texts]
        free.update(claimed_at=at, claimed_obs=obs)
        return texts if texts or not waiting.exists() else None


def _mark_texts_delivered(
    tx: journal.RunTransaction, run: Run, message_ids: Collection[UUID]
) -> None:
    """Note that texts reached the model, and with them the answers that sent them."""
    for text in unsent_texts(run.id).select_related("intervention").filter(pk__in=message_ids):
        text.delivered_at = tx.at
        text.save(update_fields=["delivered_at"])
        run.meters.queued_messages -= 1
        tx.record(run, MessageDelivered, by="agent", message=text.id)
        if text.intervention is not None:
            directives.mark_delivered(tx, run, text.intervention)


def store_capabilities(run_id: UUID, found: Mapping[str, Any], *, at: datetime) -> Run:
    """Store what an adapter found out its agent can do; capabilities it omits stay.

    A run that only telemetry had reported counts as an agent's own from now on.
    """
    with journal.lock_run(run_id, at=at) as (tx, run):
        known = dict(found) if run.source == Source.TELEMETRY else {**run.capabilities, **found}
        run.source = Source.AGENT
        if known != run.capabilities:
            run.capabilities = known
            # Saved here: the run's transaction does not write its description.
            Run.objects.filter(pk=run_id).update(capabilities=known)
            # The capabilities may have changed what the open card offers.
            card = run.decisions.filter(pk=run.open_decision).first() if run.open_decision else None
            tx.record_state(
                run,
                by="agent",
                reason="it told what it can do",
                capabilities=known,
                unavailable=rows.unavailable_actions(run),
                actions=rows.offered_actions(card.kind, card.holds, run) if card else None,
            )
    return run


def end_session(run_id: UUID, *, at: datetime, failed: bool = False) -> None:
    """Note that the agent's process reported the end of its session."""
    with journal.lock_run(run_id, at=at) as (tx, run):
        if not run.parked:  # a parked session's process ends, the session does not
            end_run(
                tx, run, Move.FAIL if failed else Move.END, by="agent", reason="the session ended"
            )


def park_session(run_id: UUID, *, at: datetime) -> None:
    """Note that the agent postpones its held call: its process ends until it is resumed."""
    with journal.lock_run(run_id, at=at) as (tx, run):
        hold = run.hold
        if hold is None or run.status not in ON_HOLD:
            return
        run.parked, hold.waiting_since, hold.gave_up_at = True, None, tx.at
        if run.status == Status.HELD:
            tx.move(run, Move.GIVE_UP, by="agent", reason="the session is parked")
        tx.record(run, HoldAbandoned, by="agent", decision=run.open_decision, parked=True)


def unpark_session(run_id: UUID, *, at: datetime) -> None:
    """Note that a parked session was resumed after it was released.

    A session that is still held comes back by waiting again.
    """
    with journal.lock_run(run_id, at=at) as (_, run):
        run.parked = run.parked and run.status in ON_HOLD
        run.meters.witness = ""  # the process that parked it no longer counts


def record_heartbeat(run_id: UUID, *, witness: str, for_s: float, at: datetime) -> bool:
    """Note that a client's process lives and will report again within `for_s` seconds.

    A lost run comes back. Returns False if the run has ended: the process need not report.
    """
    live = Run.objects.filter(pk=run_id).exclude(status__in=ENDED - {Status.LOST})
    promised = at + timedelta(seconds=for_s)
    with transaction.atomic():
        # After waiting for this lock, PostgreSQL checks the condition again only on the locked row.
        is_live = bool(live.select_for_update(no_key=True).values_list("pk"))
        if is_live:
            RunMeters.objects.filter(pk=run_id).update(expected_by=promised, witness=witness)
    # The run's lock is taken only if needed: heartbeats come every twenty seconds.
    if live.filter(meters__presence="gone").exists():
        with journal.lock_run(run_id, at=at) as (tx, run):
            if run.status == Status.LOST:
                tx.revive(run, reason="its process was heard of again")
                cards.resume_hold(tx, run)
            if run.status not in ENDED:
                run.meters.presence, run.meters.expected_by = "working", promised
    return is_live


def record_process_end(run_id: UUID, *, witness: str, at: datetime) -> None:
    """Note that the client's process is known to have ended.

    If another process has taken up the session since, it is not lost.
    """
    with journal.lock_run(run_id, at=at) as (tx, run):
        if run.meters.witness == witness:
            lose_contact(tx, run, reason="its process ended without a word")


def expire_hold(tx: RunTransaction, run: Run) -> None:
    """Apply the project's rule to a hold that nobody answered."""
    unanswered = run.project.unanswered
    cards.close_card(tx, run, resolution=unanswered, by="policy")
    if unanswered == "proceed":
        tx.raise_version(run)
        holding.release(tx, run, by="policy", reason="nobody answered")
    else:
        stop_run(tx, run, by="policy", reason="Nobody answered in time.")


def stop_run(tx: RunTransaction, run: Run, *, by: str, reason: str) -> None:
    """Ask the agent to end; a run that had already ended can never come back."""
    tx.raise_version(run)
    run.reason = reason
    # A stopping run is permitted nothing more.
    permissions.close_all_cards(tx, run, resolution="terminate", by=by)
    # Read before the move: the controller is told only once of a repeated stop.
    before = run.status
    moved = tx.move(run, Move.STOP, by=by, reason=reason)
    if before not in MUST_STOP:
        messages.notify_controller(tx, run, "session.terminated", reason)
    # The tap terminates a run that had ended; any other is terminated when its agent stops.
    if moved and run.status == Status.TERMINATED:
        tx.record(run, SessionTerminated, by=by, reason=reason)
    elif run.parked:  # no process is left to be told
        end_run(tx, run, Move.END, by=by, reason=reason)


def stop_run_by_policy(tx: RunTransaction, run: Run, *, reason: str) -> None:
    """End a run by its policy; this is final, whether or not the agent reports its end."""
    stop_run(tx, run, by="guard", reason=reason)
    holding.reset_streaks(run)
    if run.status != Status.TERMINATED:
        tx.record(run, SessionTerminated, by="guard", reason=reason)


def end_run(tx: RunTransaction, run: Run, move: Move, *, by: str, reason: str) -> None:
    """End a run and settle what was open about it."""
    # Read before the move, after which the run is no longer stopping.
    was_stopping, why = run.status == Status.STOPPING, run.reason
    # A second report of the end settles nothing again.
    if not tx.move(run, move, by=by, reason=reason):
        return
    # An ended session has no process that could miss its promise.
    run.meters.expected_by = None
    if move is Move.FALL_SILENT:
        run.meters.presence = "gone"
    cards.close_card(tx, run, resolution="ended", by=by)
    permissions.close_all_cards(tx, run, resolution="ended", by=by)
    # A run that was told to stop and falls silent has stopped; other silence confirms nothing.
    directives.confirm_followed(tx, run, reached=move is not Move.FALL_SILENT or was_stopping)
    directives.mark_all_unreachable(tx, run)
    cards.judge_autofix(tx, run)
    # An end by policy was recorded at once: it is not recorded twice.
    known = run.journal.filter(type="session.terminated")
    if run.status == Status.TERMINATED and not known.exists():
        tx.record(run, SessionTerminated, by=by, reason=why or reason)


def lose_contact(tx: RunTransaction, run: Run, *, reason: str) -> None:
    """Lose contact with a run's client.

    A hold and its card stay: the person's answer waits for the session's return.
    """
    run.meters.expected_by = None
    if run.status in ENDED:
        return
    run.meters.presence = "gone"
    # A parked session has no process until it is resumed.
    if run.status in {Status.RUNNING, Status.STOPPING} and not run.parked:
        end_run(tx, run, Move.FALL_SILENT, by="policy", reason=reason)
