"""Texts on their way: to the model, and to whoever controls the run."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from guard.quoting import quoted
from guard.wire import Escalation
from missioncontrol.decisions.directives import unsent_texts
from missioncontrol.decisions.models import ControllerNote, Intervention, Message
from missioncontrol.errors import ActionUnavailable
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run
from missioncontrol.wire.events import MessageQueued


def say(
    tx: RunTransaction,
    run: Run,
    text: str,
    *,
    by: str,
    agent: str | None = None,
    made: Intervention | None = None,
    escalation: Escalation | None = None,
) -> Message:
    """Queue a text for the model, and tell so who follows the run."""
    message = queue_message(tx, run, text, agent=agent, made=made, escalation=escalation)
    answer = made.id if made else None
    tx.record(
        run, MessageQueued, by=by, message=message.id, text=text, agent=agent, intervention=answer
    )
    return message


def queue_message(
    tx: RunTransaction,
    run: Run,
    text: str,
    *,
    agent: str | None,
    made: Intervention | None = None,
    escalation: Escalation | None = None,
) -> Message:
    """Queue a text for the model."""
    # Counted on the run: a directive then looks for texts only where there are some.
    run.meters.queued_messages += 1
    return Message.objects.create(
        run=run,
        intervention=made,
        text=text,
        agent=agent,
        queued_at=tx.at,
        escalation=asdict(escalation) if escalation else None,
    )


def withdraw(tx: RunTransaction, run: Run, made: Intervention) -> None:
    """Take back the text that an answer sent.

    Raises:
        ActionUnavailable: it is on its way to the model, or there.
    """
    waiting = unsent_texts(run.id).filter(intervention=made)
    # An answer that has left may be read at this moment, whatever the text's row says.
    is_under_way = made.status not in {"asked", "unreachable"}
    if is_under_way or not waiting.update(withdrawn_at=tx.at):
        raise ActionUnavailable("The agent has the text by now; it cannot be taken back.")
    run.meters.queued_messages -= 1


def tell_controller(
    tx: RunTransaction, run: Run, event: str, reason: str, *, decision: UUID | None = None
) -> None:
    """Write down what the run's controller, if it has one, is to be told."""
    if run.controller_id is None and not run.controller_url:
        return
    what = "was stopped" if event == "session.terminated" else "has been warned"
    # A row and no call: a web server that takes its time must not keep the lock.
    ControllerNote.objects.create(
        run=run,
        event=event,
        decision=decision,
        at=tx.at,
        due_at=tx.at,
        # Quoted: a name is an agent's text, and must not read to the other one as our words.
        text=f"The run {quoted(run.name)} ({run.id}), which you control, {what}: {reason}",
        payload={
            "event": event,
            "run": str(run.id),
            "name": run.name,
            "agent": run.agent,
            "project": str(run.project_id),
            "status": run.status,
            "reason": reason,
            "decision": str(decision) if decision else None,
            "at": tx.at.isoformat(),
        },
    )
