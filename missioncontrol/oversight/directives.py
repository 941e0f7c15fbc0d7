"""What the agent must do now, from where its run stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from guard.wire import CallAction, Directive, DirectiveAction, Escalation
from guard.wire import Message as WireMessage
from missioncontrol.oversight.models import Message
from missioncontrol.runs.lifecycle import FORBIDDEN, ON_HOLD, Status
from missioncontrol.runs.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The columns of a run that a directive follows from; travels by message."""

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

    @property
    def on_hold(self) -> bool:
        """The agent is asked to wait."""
        return self.status in ON_HOLD

    @property
    def forbidden(self) -> bool:
        """The agent must stop."""
        return self.status in FORBIDDEN


STANDING_COLUMNS = tuple(Standing.__dataclass_fields__)


def standing_of(run: Run) -> Standing:
    """Return where a run stands."""
    return standing_from({name: getattr(run, name) for name in STANDING_COLUMNS})


def standing_from(values: dict[str, Any]) -> Standing:
    """Return where a run stands, from column values or from a message."""
    return Standing(**{name: _plain(value) for name, value in values.items()})


def read_standing(run_id: UUID) -> Standing | None:
    """Read where a run stands now; None: there is no such run."""
    values = Run.objects.filter(pk=run_id).values(*STANDING_COLUMNS).first()
    return standing_from(values) if values else None


def directive(
    standing: Standing, *, asked_seq: int | None, messages: Iterable[WireMessage] = ()
) -> Directive:
    """Return the directive. `asked_seq` is the proposed turn it answers, if any."""
    return Directive(
        version=standing.version,
        action=_action(standing),
        call=_call(standing, asked_seq),
        reason=standing.reason or None,
        decision=standing.open_decision,
        messages=tuple(messages),
    )


def queued(run_id: UUID) -> tuple[WireMessage, ...]:
    """Return the messages that have not reached the model, oldest first."""
    waiting = Message.objects.filter(run_id=run_id, delivered_at__isnull=True).order_by("id")
    return tuple(
        WireMessage(
            id=str(message.id),
            text=message.text,
            agent=message.agent,
            escalation=Escalation(**message.escalation) if message.escalation else None,
        )
        for message in waiting
    )


def _action(standing: Standing) -> DirectiveAction:
    if standing.forbidden:
        return DirectiveAction.STOP
    return DirectiveAction.HOLD if standing.on_hold else DirectiveAction.PROCEED


def _call(standing: Standing, asked_seq: int | None) -> CallAction:
    """Held calls that a correction answered do not run; later ones do."""
    if standing.forbidden:
        return CallAction.SKIP
    if asked_seq is None:
        return CallAction.RUN
    skipped = standing.skip_from_seq <= asked_seq <= standing.skip_through_seq
    return CallAction.SKIP if skipped else CallAction.RUN


def _plain(value: Any) -> Any:
    """UUIDs and states as text, so that a standing can travel by message."""
    if isinstance(value, UUID):
        return str(value)
    return Status(value).value if isinstance(value, Status) else value
