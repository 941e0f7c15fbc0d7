"""Stop a run and settle what was open about it, inside a transaction that holds its lock."""

from __future__ import annotations

from missioncontrol.decisions import cards, holding, messages, permissions, receipts
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN, Move, Status
from missioncontrol.runs.models import Run
from missioncontrol.wire.events import SessionTerminated


def stop_finished(tx: RunTransaction, run: Run) -> None:
    """Stop an agent that was asked to finish and has had its last turns."""
    if run.status not in ENDED | FORBIDDEN:
        stop(tx, run, by="policy", reason=f"It had {holding.LAST_TURNS} turns to finish.")


def expire(tx: RunTransaction, run: Run) -> None:
    """Do what the project says of a hold that nobody answered."""
    unanswered = run.project.unanswered
    cards.close_card(tx, run, resolution=unanswered, by="policy")
    if unanswered == "proceed":
        tx.bump(run)
        holding.release(tx, run, by="policy", reason="nobody answered")
    else:
        stop(tx, run, by="policy", reason="Nobody answered in time.")


def stop(tx: RunTransaction, run: Run, *, by: str, reason: str) -> None:
    """Ask the agent to end; a run that had ended is never let on."""
    tx.bump(run)
    run.reason = reason
    # A run that stops is permitted nothing more.
    permissions.close_all(tx, run, resolution="terminate", by=by)
    # Asked before the move: a stop that is repeated is told to the controller once.
    before = run.status
    moved = tx.move(run, Move.STOP, by=by, reason=reason)
    if before not in FORBIDDEN:
        messages.tell_controller(tx, run, "session.terminated", reason)
    # A run that had ended is terminated by the tap; any other once its agent has stopped.
    if moved and run.status == Status.TERMINATED:
        tx.record(run, SessionTerminated, by=by, reason=reason)
    elif run.parked:  # no process is left that could hear of it
        end(tx, run, Move.END, by=by, reason=reason)


def stop_by_policy(tx: RunTransaction, run: Run, *, reason: str) -> None:
    """End a run by its policy: that is final, whether or not the agent says goodbye."""
    stop(tx, run, by="guard", reason=reason)
    holding.start_afresh(run)
    if run.status != Status.TERMINATED:
        tx.record(run, SessionTerminated, by="guard", reason=reason)


def end(tx: RunTransaction, run: Run, move: Move, *, by: str, reason: str) -> None:
    """Take a run to its end and settle what was open about it."""
    # Read before the move, after which the run is no longer stopping.
    was_stopping, why = run.status == Status.STOPPING, run.reason
    # A second goodbye settles nothing again.
    if not tx.move(run, move, by=by, reason=reason):
        return
    # An ended session has no process that could miss its word.
    run.meters.expected_by = None
    if move is Move.FALL_SILENT:
        run.meters.presence = "gone"
    cards.close_card(tx, run, resolution="ended", by=by)
    permissions.close_all(tx, run, resolution="ended", by=by)
    # Who was told to stop and falls silent has stopped; any other silence confirms nothing.
    receipts.confirm(tx, run, reached=move is not Move.FALL_SILENT or was_stopping)
    cards.judge_autofix(tx, run)
    # A policy's end says so at once: it is not said twice.
    known = run.journal.filter(type="session.terminated")
    if run.status == Status.TERMINATED and not known.exists():
        tx.record(run, SessionTerminated, by=by, reason=why or reason)


def lose(tx: RunTransaction, run: Run, *, reason: str) -> None:
    """Lose contact with a run's client.

    A hold stands, with its card: the person's answer waits for the session's return.
    """
    run.meters.expected_by = None
    if run.status in ENDED:
        return
    run.meters.presence = "gone"
    # A parked session has no process until it is resumed.
    if run.status in {Status.RUNNING, Status.STOPPING} and not run.parked:
        end(tx, run, Move.FALL_SILENT, by="policy", reason=reason)
