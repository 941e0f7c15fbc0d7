"""Stop a run and settle what was open about it, inside a transaction that holds its lock."""

from __future__ import annotations

from missioncontrol.oversight import cards, holding, messages, receipts
from missioncontrol.runs.journal import Book
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN, Move, Status
from missioncontrol.runs.models import Run
from missioncontrol.wire.events import (
    SessionTerminated,
)


def stop_if_finished(book: Book, run: Run, *, seq: int) -> None:
    """Stop an agent that was asked to finish and has had its last turns."""
    if run.finish_seq is not None and seq > run.finish_seq and run.status not in ENDED | FORBIDDEN:
        stop(book, run, by="policy", reason=f"It had {holding.LAST_TURNS} turns to finish.")


def expire(book: Book, run: Run) -> None:
    """Do what the project says of a hold that nobody answered."""
    unanswered = run.project.unanswered
    cards.close_card(book, run, resolution=unanswered, by="policy")
    if unanswered == "proceed":
        book.bump(run)
        holding.release(book, run, by="policy", reason="nobody answered")
    else:
        stop(book, run, by="policy", reason="Nobody answered in time.")


def stop(book: Book, run: Run, *, by: str, reason: str) -> None:
    """Ask the agent to end; a run that had ended is never let on."""
    book.bump(run)
    run.reason = reason
    run.hold_expires_at = None
    before = run.status
    moved = book.move(run, Move.STOP, by=by, reason=reason)
    if before not in FORBIDDEN:
        messages.tell_controller(book, run, "session.terminated", reason)
    if moved and run.status == Status.TERMINATED:
        book.record(run, SessionTerminated, by=by, reason=reason)
    elif run.parked:  # no process is left that could hear of it
        end(book, run, Move.END, by=by, reason=reason)


def stop_by_policy(book: Book, run: Run, *, reason: str) -> None:
    """End a run by its policy: that is final, whether or not the agent says goodbye."""
    stop(book, run, by="guard", reason=reason)
    holding.start_afresh(run)
    if run.status != Status.TERMINATED:
        book.record(run, SessionTerminated, by="guard", reason=reason)


def end(book: Book, run: Run, move: Move, *, by: str, reason: str) -> None:
    """Take a run to its end and settle what was open about it."""
    was_stopping, why = run.status == Status.STOPPING, run.reason
    if not book.move(run, move, by=by, reason=reason) or run.status not in ENDED:
        return
    cards.close_card(book, run, resolution="ended", by=by)
    run.waiting_since = run.waiting_at = run.gave_up_at = run.hold_expires_at = None
    receipts.confirm(book, run, reached=move is not Move.FALL_SILENT or was_stopping)
    cards.judge_autofix(book, run)
    if run.status == Status.TERMINATED and not _was_terminated(run):
        book.record(run, SessionTerminated, by=by, reason=why or reason)


def _was_terminated(run: Run) -> bool:
    """Tell whether the journal says so already: a policy's end does at once."""
    return run.journal.filter(type="session.terminated").exists()
