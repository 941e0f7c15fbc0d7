"""Texts on their way: to the model, and to whoever controls the run."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from guard.wire import Escalation
from missioncontrol.ids import new_id
from missioncontrol.oversight.models import (
    ControllerNote,
    Intervention,
    Message,
)
from missioncontrol.runs.journal import Book
from missioncontrol.runs.models import Run


def queue_message(
    book: Book, run: Run, text: str, *, agent: str | None, made: Intervention | None = None,
    escalation: Escalation | None = None,
) -> Message:  # fmt: skip
    """Queue a text for the model."""
    run.queued_messages += 1
    return Message.objects.create(
        id=new_id(), run=run, intervention=made, text=text, agent=agent, queued_at=book.at,
        escalation=asdict(escalation) if escalation else None,
    )  # fmt: skip


def tell_controller(
    book: Book, run: Run, event: str, said: str, *, decision: UUID | None = None
) -> None:
    """Write down what the run's controller, if it has one, is to be told."""
    if run.controller_id is None and not run.controller_url:
        return
    deed = "was stopped" if event == "session.terminated" else "has been warned"
    ControllerNote.objects.create(
        id=new_id(), run=run, event=event, decision=decision, at=book.at, due_at=book.at,
        text=f'The run "{run.name}" ({run.id}), which you control, {deed}: {said}',
        payload={
            "event": event, "run": str(run.id), "name": run.name, "agent": run.agent,
            "project": str(run.project_id), "status": run.status, "reason": said,
            "decision": str(decision) if decision else None, "at": book.at.isoformat(),
        },
    )  # fmt: skip
