"""What the agent must do now, from its run's control state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet

from guard.wire import CallAction, Directive, DirectiveAction, Escalation
from guard.wire import Message as WireMessage
from missioncontrol.decisions.models import Message
from missioncontrol.runs.lifecycle import FORBIDDEN, Status
from missioncontrol.runs.models import Run, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlState:
    """The columns of a run that a directive follows from; travels by message, as JSON."""

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
    """The agent is asked to wait; a hold outlives the end of its session."""

    @property
    def forbidden(self) -> bool:
        """The agent must stop."""
        return self.status in FORBIDDEN


OF_METERS = (
    "skip_from_seq",
    "skip_through_seq",
    "queued_messages",
    "last_obs",
    "detected_obs",
    "unconfirmed",
)
# What JSON has no form for.
AS_TEXT = (UUID, Status)
OF_RUN = tuple(name for name in ControlState.__slots__ if name not in {*OF_METERS, "on_hold"})


def control_state_of(run: Run) -> ControlState:
    """Return a run's control state."""
    columns = {name: getattr(run, name) for name in OF_RUN}
    meters = {name: getattr(run.meters, name) for name in OF_METERS}
    return control_state_from({**columns, **meters, "on_hold": run.hold is not None})


def control_state_from(values: dict[str, Any]) -> ControlState:
    """Return a run's control state from its columns' values."""
    # As text, so that a control state can travel by message.
    plain: dict[str, Any] = {
        name: str(value) if isinstance(value, AS_TEXT) else value for name, value in values.items()
    }
    return ControlState(**plain)


def read_control_state(run_id: UUID) -> ControlState | None:
    """Read a run's control state as it is now; None: there is no such run."""
    found = Run.objects.filter(pk=run_id)
    meters = {name: F(f"meters__{name}") for name in OF_METERS}
    # Columns alone: whoever waits asks again and again, and needs no whole row.
    values = found.values(*OF_RUN, **meters, on_hold=Q(hold__isnull=False)).first()
    return control_state_from(values) if values else None


def directive(
    control: ControlState, *, asked_seq: int | None, messages: Iterable[WireMessage] = ()
) -> Directive:
    """Return the directive. `asked_seq` is the proposed turn it answers, if any."""
    action, call = DirectiveAction.PROCEED, CallAction.RUN
    # A stop wins over a hold: who may never go on has nothing to wait for.
    if control.forbidden:
        action, call = DirectiveAction.STOP, CallAction.SKIP
    elif control.on_hold:
        action = DirectiveAction.HOLD
    # Held calls that a correction answered do not run; later ones do.
    if asked_seq is not None and may_skip(control, asked_seq):
        call = CallAction.SKIP
    return Directive(
        version=control.version,
        action=action,
        call=call,
        reason=control.reason or None,
        decision=control.open_decision,
        messages=tuple(messages),
    )


def may_skip(control: ControlState, seq: int) -> bool:
    """Say whether a call stands among those that a correction answered."""
    return control.skip_from_seq <= seq <= control.skip_through_seq


def is_let_go(run_id: UUID, seq: int) -> bool:
    """Say whether a call among those runs all the same: another agent's, held beside them."""
    held = Turn.objects.filter(run=run_id, seq=seq, phase="proposed")
    return held.filter(skipped=False).exists()


def go_on(control: ControlState) -> Directive:
    """Return the directive of a run whose agent is told nothing."""
    return Directive(version=control.version, action=DirectiveAction.PROCEED, call=CallAction.RUN)


def unsent_texts(run_id: UUID) -> QuerySet[Message]:
    """Return the texts that have not reached the model, oldest first."""
    waiting = Message.objects.filter(
        run=run_id, delivered_at__isnull=True, withdrawn_at__isnull=True
    )
    return waiting.order_by("id")


def queued(run_id: UUID) -> tuple[WireMessage, ...]:
    """Return the messages that have not reached the model, oldest first."""
    return tuple(
        WireMessage(
            id=str(message.id),
            text=message.text,
            agent=message.agent,
            escalation=Escalation(**message.escalation) if message.escalation else None,
        )
        for message in unsent_texts(run_id)
    )
