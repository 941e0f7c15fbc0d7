"""What the agent must do now, from its run's control state; how far a person's answer has come.

An answer is asked, delivered, acknowledged or unreachable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet

from guard.wire import CallAction, Directive, DirectiveAction, Escalation
from guard.wire import Message as WireMessage
from missioncontrol.decisions.models import Intervention, Message
from missioncontrol.errors import KeyReused
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import MUST_STOP, Status
from missioncontrol.runs.models import Run, RunMeters, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlState:
    """The columns of a run that a directive follows from; sent between processes as JSON."""

    version: int
    status: str
    reason: str
    open_decision: str | None
    skip_from_seq: int
    skip_through_seq: int
    queued_messages: int
    last_obs: int
    detected_obs: int
    unconfirmed: str | None
    on_hold: bool
    """The agent is asked to wait. A hold can outlive its session."""

    @property
    def must_stop(self) -> bool:
        """The agent must stop."""
        return self.status in MUST_STOP


METER_COLUMNS = tuple(name for name in ControlState.__slots__ if hasattr(RunMeters, name))
RUN_COLUMNS = tuple(name for name in ControlState.__slots__ if hasattr(Run, name))
# JSON has no form for these types.
TEXT_TYPES = (UUID, Status)


def control_state_of(run: Run) -> ControlState:
    """Return a run's control state."""
    columns = {name: getattr(run, name) for name in RUN_COLUMNS}
    meters = {name: getattr(run.meters, name) for name in METER_COLUMNS}
    return control_state_from({**columns, **meters, "on_hold": run.hold is not None})


def control_state_from(values: dict[str, Any]) -> ControlState:
    """Return a run's control state from its columns' values."""
    # As text, so that a control state can be sent as JSON.
    plain: dict[str, Any] = {
        name: str(value) if isinstance(value, TEXT_TYPES) else value
        for name, value in values.items()
    }
    return ControlState(**plain)


def read_control_state(run_id: UUID) -> ControlState | None:
    """Read a run's current control state; None: there is no such run."""
    found = Run.objects.filter(pk=run_id)
    meters = {name: F(f"meters__{name}") for name in METER_COLUMNS}
    # Only these columns: a waiting request reads them again and again.
    values = found.values(*RUN_COLUMNS, **meters, on_hold=Q(hold__isnull=False)).first()
    return control_state_from(values) if values else None


def make_directive(
    control: ControlState, *, asked_seq: int | None, messages: Iterable[WireMessage] = ()
) -> Directive:
    """Return the directive. `asked_seq` is the proposed turn it answers, if any."""
    action, call = DirectiveAction.PROCEED, CallAction.RUN
    # A stop wins over a hold: an agent that may never go on has nothing to wait for.
    if control.must_stop:
        action, call = DirectiveAction.STOP, CallAction.SKIP
    elif control.on_hold:
        action = DirectiveAction.HOLD
    # Held calls that a correction answered do not run; later calls do.
    if asked_seq is not None and is_in_skipped_range(control, asked_seq):
        call = CallAction.SKIP
    return Directive(
        version=control.version,
        action=action,
        call=call,
        reason=control.reason or None,
        decision=control.open_decision,
        messages=tuple(messages),
    )


def is_in_skipped_range(control: ControlState, seq: int) -> bool:
    """Tell whether a call is in the range of those that a correction answered."""
    return control.skip_from_seq <= seq <= control.skip_through_seq


def still_runs(run_id: UUID, seq: int) -> bool:
    """Tell whether a call in that range still runs: another agent's, held at the same time."""
    held = Turn.objects.filter(run=run_id, seq=seq, phase="proposed")
    return held.filter(skipped=False).exists()


def proceed_directive(control: ControlState) -> Directive:
    """Return the directive of a run whose agent is told nothing."""
    return Directive(version=control.version, action=DirectiveAction.PROCEED, call=CallAction.RUN)


# A claimed answer leaves within milliseconds. One that has not left after this long never will:
# its caller hung up, or its process died.
CLAIM_LEASE = timedelta(seconds=5)


def is_claimed(at: datetime) -> Q:
    """Match the texts in an answer that is about to leave."""
    # A claim in the future was made before the clock was set back: nobody waits until then.
    return Q(claimed_at__gt=at - CLAIM_LEASE, claimed_at__lt=at + CLAIM_LEASE)


def unsent_texts(run_id: UUID) -> QuerySet[Message]:
    """Return the texts that have not reached the model, oldest first."""
    waiting = Message.objects.filter(
        run=run_id, delivered_at__isnull=True, withdrawn_at__isnull=True
    )
    return waiting.order_by("id")


def texts_for_agent(run_id: UUID, agent: str | None, *, at: datetime) -> QuerySet[Message]:
    """Return the unsent texts for an answer to this agent; None: which one asks is unknown."""
    waiting = unsent_texts(run_id).exclude(is_claimed(at))
    return waiting if agent is None else waiting.filter(Q(agent=None) | Q(agent=agent))


def queued_messages(
    run_id: UUID, *, at: datetime, agent: str | None = None
) -> tuple[WireMessage, ...]:
    """Return the messages that have not reached the model, oldest first."""
    return tuple(
        WireMessage(
            id=str(message.id),
            text=message.text,
            agent=message.agent,
            escalation=Escalation(**message.escalation) if message.escalation else None,
        )
        for message in texts_for_agent(run_id, agent, at=at)
    )


# Answers to a permission: the agent's own open request carries them.
PERMISSION_ANSWERS = frozenset({"allow_once", "deny"})


def find_repeated(run: Run, key: str, *, body: str) -> Intervention | None:
    """Return the earlier answer under this key, which is returned again and not done twice.

    Called under the run's lock: of two equal requests at once, the second finds the first.

    Raises:
        KeyReused: the earlier answer had another body.
    """
    known = Intervention.objects.filter(run=run, key=key).first()
    if known is not None and known.body != body:
        raise KeyReused(key)
    return known


# Statuses of an answer that, as far as is known, has not left.
UNDELIVERED_STATUSES = frozenset({"asked", "unreachable"})


def follow_answer(tx: RunTransaction, run: Run, intervention: Intervention) -> None:
    """Have the agent's next act confirm this answer.

    The answer that was followed before reached nobody if nothing of it can still leave.
    """
    before = _followed_answer(run)
    if before and before.status == "asked" and before.action not in PERMISSION_ANSWERS:
        by, reason = intervention.by, "answer superseded"
        if not unsent_texts(run.id).filter(intervention=before).exists():
            _set_status(tx, run, before, "unreachable", by=by, reason=reason)
    run.meters.unconfirmed = intervention.id


def mark_all_unreachable(tx: RunTransaction, run: Run) -> None:
    """Mark the answers of an ended run that have not left as unreachable."""
    # A tap that ends the run in this transaction sets its own status.
    for intervention in Intervention.objects.filter(run=run, status="asked").exclude(at=tx.at):
        mark_unreachable(tx, run, intervention)


def mark_unreachable(tx: RunTransaction, run: Run, intervention: Intervention) -> None:
    """Note that nobody took a person's answer; `deliver_answer` can still correct that."""
    _set_status(tx, run, intervention, "unreachable")


def mark_followed_unreachable(tx: RunTransaction, run: Run) -> None:
    """Note that the followed answer did not leave on this request, unless it left on another."""
    intervention = _followed_answer(run)
    if intervention and intervention.status == "asked":
        mark_unreachable(tx, run, intervention)


def deliver_answer(tx: RunTransaction, run: Run, answer: UUID, *, agent: str | None = None) -> None:
    """Note that a person's answer left on an open request, of this agent if it is known."""
    # By id: by now another answer may be followed that has not left.
    intervention = Intervention.objects.filter(pk=answer, run=run).first()
    if intervention is None or intervention.action in PERMISSION_ANSWERS:
        return
    if agent is None or not _texts_for_single_agents(intervention).exclude(agent=agent).exists():
        mark_delivered(tx, run, intervention)


def mark_delivered(tx: RunTransaction, run: Run, intervention: Intervention) -> None:
    """Note that this answer left."""
    # Statuses only advance: an answer that was acted on is not `delivered` again.
    if intervention.status in UNDELIVERED_STATUSES:
        intervention.delivered_at = tx.at
        _set_status(tx, run, intervention, "delivered")


def confirm_followed(
    tx: RunTransaction, run: Run, *, agent: str | None = None, reached: bool = True
) -> None:
    """Note that the agent acted on the followed answer, or never will.

    `agent`: which agent of the run acts, empty if unknown; None: the run has ended.
    """
    intervention = _followed_answer(run)
    is_under_way = intervention is not None and _waits_for_other_agent(intervention, agent)
    if is_under_way and agent is not None:
        return
    # Cleared now: only one answer is followed, and it is settled here.
    run.meters.unconfirmed = None
    if intervention is None:
        return
    if intervention.action == "deny":
        asked = intervention.decision.signal["turns"] if intervention.decision else []
        came_back = Turn.objects.filter(run=intervention.run_id, seq__in=asked, phase="done")
        # The denied call ran nevertheless: it had been permitted at the terminal.
        reached = reached and not came_back.exists()
    if not reached or is_under_way:
        mark_unreachable(tx, run, intervention)
        return
    intervention.acknowledged_at = tx.at
    # An answer that was acted on has arrived, even if nobody saw it leave.
    intervention.delivered_at = intervention.delivered_at or tx.at
    _set_status(tx, run, intervention, "acknowledged")


def _waits_for_other_agent(intervention: Intervention, agent: str | None) -> bool:
    """Tell whether the answer's text waits for an agent of the run other than the acting one."""
    texts, has_left = _texts_for_single_agents(intervention), intervention.status == "delivered"
    if agent is None:
        return not has_left and texts.exists()
    # A message without a card forgets no turn: the next turn to be judged may be older than it.
    if has_left or intervention.decision_id is not None:
        texts = texts.exclude(agent=agent)
    return texts.exists()


def _texts_for_single_agents(intervention: Intervention) -> QuerySet[Message]:
    return unsent_texts(intervention.run_id).filter(intervention=intervention, agent__isnull=False)


def _followed_answer(run: Run) -> Intervention | None:
    return (
        Intervention.objects.filter(pk=run.meters.unconfirmed).first()
        if run.meters.unconfirmed
        else None
    )


def _set_status(
    tx: RunTransaction,
    run: Run,
    intervention: Intervention,
    status: str,
    *,
    by: str = "agent",
    reason: str = "",
) -> None:
    """Store how far an answer has come, with its times, and record it in the run's chain."""
    intervention.status = status
    intervention.save(update_fields=["status", "delivered_at", "acknowledged_at"])
    tx.record_state(
        run,
        by=by,
        reason=reason or f"answer {status}",
        intervention=intervention.id,
        intervention_status=status,
    )
