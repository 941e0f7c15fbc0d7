"""Ask an agent to wait and let it go on, inside a transaction that holds the run's lock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from missioncontrol.costs import counting
from missioncontrol.runs import lineage
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import MUST_STOP, ON_HOLD, Move
from missioncontrol.runs.models import Hold, Run, Turn
from missioncontrol.runs.rows import capabilities_of, hold_outlives_session

# A hold lasts at least this long, whatever patience the agent reports: a person needs time to see
# the card and answer it. Otherwise an agent could make its own hold expire at once.
MIN_HOLD_S = 60.0
# Turns that an agent may still make when asked to finish; the last answer is one of them.
LAST_TURNS = 2


def hold(tx: RunTransaction, run: Run, *, by: str, reason: str, from_seq: int) -> None:
    """Ask the agent to wait, from its turn `from_seq` on; a stop wins over a hold.

    The hold expires before the agent's own time-out, unless that leaves people no time to
    answer.
    """
    if run.status in MUST_STOP:
        return
    run.reason = reason
    # A second hold continues the first: the time between them is no run time either.
    hold = run.hold or Hold(run=run, since=tx.at)
    # A hook that times out lets its agent go on, so the hold expires before that.
    patience_s, limit_s = capabilities_of(run).patience_s, float(run.project.hold_limit)
    if patience_s is not None:
        limit_s = min(limit_s, max(patience_s, MIN_HOLD_S))
    hold.from_seq, hold.gave_up_at = from_seq, None
    hold.expires_at = tx.at + timedelta(seconds=limit_s)
    run.hold = hold
    tx.move(run, Move.HOLD, by=by, reason=reason)


def release(tx: RunTransaction, run: Run, *, by: str, reason: str) -> None:
    """Let the agent go on; its streaks start afresh. A stop wins over a release."""
    if run.status in MUST_STOP:
        return
    stood = hold_outlives_session(run)
    run.reason, run.meters.finish_seq = "", None
    # An ended run's status does not change, so `move` would not lift the hold.
    tx.lift_hold(run)
    tx.move(run, Move.RELEASE, by=by, reason=reason)
    # For the same reason `move` records no event about the lifted hold.
    if stood:
        tx.record_state(run, by=by, reason=reason)
    reset_streaks(run)


def reset_streaks(run: Run) -> None:
    """Forget every observation so far: all streaks start afresh."""
    run.meters.streak_obs = run.meters.last_obs
    run.meters.lineage_forgotten = lineage.observations_of_relatives(run)
    run.meters.corrected = []
    counting.reset_failures(run)


def release_with_correction(
    tx: RunTransaction, run: Run, *, by: str, reason: str, about: Sequence[int], agent: str = ""
) -> None:
    """Answer the held calls with the queued correction, and let the agent go on.

    `about`: the turns of the card, oldest first; if empty, all held calls are meant.
    `agent`: the card's agent; calls of other agents run, because they are sent no text.
    What was corrected is held again when it first reappears.
    """
    was_held = run.status in ON_HOLD
    # Before the release, which ends the hold that tells which calls are held.
    skipped = skip_held_calls(run, agent=agent)
    release(tx, run, by=by, reason=reason)
    corrected = [list(about)] if about else [[seq] for seq in skipped]
    run.meters.corrected = corrected if was_held else []


def skip_held_calls(run: Run, *, agent: str = "") -> list[int]:
    """Answer the held calls of an agent, or of all agents, with `skip`: they will not run.

    Return the numbers of their turns.
    """
    if run.hold is None or run.status not in ON_HOLD:
        return []
    run.meters.skip_from_seq, run.meters.skip_through_seq = run.hold.from_seq, run.meters.last_seq
    held = Turn.objects.filter(run=run, seq__gte=run.hold.from_seq, phase="proposed")
    if agent:
        held = held.filter(agent=agent)
    skipped = list(held.values_list("seq", flat=True))
    held.update(skipped=True)
    return skipped


def unskip_held_calls(run: Run, *, from_seq: int) -> None:
    """Let the calls that were answered with `skip` wait again; that answer has not left."""
    # Only if the range is still this hold's: a later answer has its own.
    if run.meters.skip_from_seq == from_seq:
        run.meters.skip_through_seq = from_seq - 1
    Turn.objects.filter(run=run, seq__gte=from_seq, skipped=True).update(skipped=False)
