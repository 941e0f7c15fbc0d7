"""Where a person's answer is: asked, delivered, acknowledged or unreachable."""

from __future__ import annotations

from missioncontrol.oversight.models import (
    Intervention,
)
from missioncontrol.runs.journal import Book
from missioncontrol.runs.models import Run


def miss(book: Book, run: Run, made: Intervention) -> None:
    """Note that nobody was there to take a person's answer; a comeback mends it."""
    made.status = "unreachable"
    made.save(update_fields=["status"])
    _tell_answer(book, run, made)


def deliver(book: Book, run: Run) -> None:
    """Note that a person's answer left on a request that was open."""
    made = _unconfirmed(run)
    if made and made.status in {"asked", "unreachable"}:
        made.status, made.delivered_at = "delivered", book.at
        made.save(update_fields=["status", "delivered_at"])
        _tell_answer(book, run, made)


def confirm(book: Book, run: Run, *, reached: bool = True) -> None:
    """Note that the agent acted on a person's answer, or never will."""
    made = _unconfirmed(run)
    run.unconfirmed = None
    if made is None:
        return
    made.status = "acknowledged" if reached else "unreachable"
    made.acknowledged_at = book.at if reached else None
    made.delivered_at = made.delivered_at or made.acknowledged_at
    made.save(update_fields=["status", "acknowledged_at", "delivered_at"])
    _tell_answer(book, run, made)


def _unconfirmed(run: Run) -> Intervention | None:
    return Intervention.objects.filter(pk=run.unconfirmed).first() if run.unconfirmed else None


def _tell_answer(book: Book, run: Run, made: Intervention) -> None:
    book.moved(
        run, by="agent", reason=f"answer {made.status}", intervention=made.id,
        intervention_status=made.status,
    )  # fmt: skip
