"""Store what a hook told; an outcome without an id finds the call it belongs to."""

from __future__ import annotations

from dataclasses import replace

from guard.adapters.hook import HookEvent
from guard.turn import Turn
from missioncontrol.api.bell import doorbell, writer
from missioncontrol.api.reading import fault_of
from missioncontrol.runs import selectors
from missioncontrol.runs.ingest import Arrival, Stored
from missioncontrol.runs.models import Run

MOST_ALIKE = 16
"""Equal calls at once whose outcomes may race for their proposals."""


async def store(event: HookEvent, run: Run) -> Stored:
    """Store an event's turns; one that cannot be stored is left out."""
    turns = tuple(turn for turn in event.turns if fault_of(turn) is None)
    if event.outcome_of and turns:
        return await _complete(event, run, turns[0])
    return await _put(run, turns)


async def _complete(event: HookEvent, run: Run, outcome: Turn) -> Stored:
    """Complete the last open call like it; without one, the outcome is a turn by itself.

    Outcomes of equal calls that ran at once may find the same proposal: who comes
    late sees that it was completed, and looks again.
    """
    for _ in range(MOST_ALIKE):
        key = await doorbell.run(lambda: selectors.open_call(run.id, event.outcome_of))
        stored = await _put(run, (replace(outcome, key=key or outcome.key),))
        if stored.accepted or key is None:
            break
    return stored


async def _put(run: Run, turns: tuple[Turn, ...]) -> Stored:
    return await writer.put(Arrival(run=run.id, project=run.project_id, turns=turns))
