"""Store what a hook told: turns, and the model calls behind them.

An outcome without an id finds the call it belongs to.
"""

from __future__ import annotations

from dataclasses import replace

from guard.adapters.hook import HookEvent
from guard.turn import Turn
from missioncontrol.api.reading import fault_of
from missioncontrol.api.web_process import dispatcher
from missioncontrol.api.web_process import store as put
from missioncontrol.clock import now
from missioncontrol.costs import telemetry
from missioncontrol.costs.ledger import Call
from missioncontrol.redaction import Redaction
from missioncontrol.runs import selectors
from missioncontrol.runs.ingest import Arrival, Stored
from missioncontrol.runs.models import Run
from missioncontrol.wire.runs import Presence

FORKED = "forked"
# Equal calls at once whose outcomes may race for their proposals.
MOST_ALIKE = 16


async def store(event: HookEvent, run: Run, *, size: int, own: Redaction) -> Stored:
    """Store an event's turns; one that cannot be stored is left out. `size`: its body's.

    What was used is counted first, so that a budget sees it with the turn. `own`: what the
    project masks besides secrets.
    """
    if event.calls:
        await dispatcher.run(lambda: _count_new_calls(event, run))
    turns = tuple(turn for turn in event.turns if fault_of(turn) is None)
    if not event.outcome_of or not turns:
        return await _put(run, turns, size=size, own=own, presence=event.presence)
    # Outcomes of equal calls that ran at once may find the same proposal: who comes late sees
    # that it was completed, and looks again. Without one, the outcome is a turn by itself.
    for _ in range(MOST_ALIKE):
        key = await dispatcher.run(lambda: selectors.open_call(run.id, event.outcome_of))
        outcome = replace(turns[0], key=key or turns[0].key)
        stored = await _put(run, (outcome,), size=size, own=own)
        if stored.accepted or key is None:
            break
    return stored


def _count_new_calls(event: HookEvent, run: Run) -> None:
    """Count what was not counted yet: each hook tells the last calls again."""
    known = telemetry.counted(run.id, [call.call_id for call in event.calls])
    new = [
        Call(
            call_id=used.call_id,
            source=used.source,
            agent=used.agent or event.subagent or event.client,
            model=used.model,
            provider=used.provider,
            usage=used.usage,
            made_at=used.made_at,
            turn_key=used.turn_key,
        )
        for used in event.calls
        if used.call_id not in known
    ]
    # What another session paid is left out: a fork's transcript begins with a copy.
    copied = {call.call_id for call in new if call.made_at and call.made_at < run.started_at}
    if copied and run.relation != FORKED:
        copied = telemetry.counted_elsewhere(run, copied)
    new = [call for call in new if call.call_id not in copied]
    if new:
        telemetry.count_calls({run.id: new}, at=now())
        # At once: the turn that this hook tells of may be what the call led to.
        telemetry.place_calls([run.id], at=now())


async def _put(
    run: Run,
    turns: tuple[Turn, ...],
    *,
    size: int,
    own: Redaction,
    presence: Presence | None = None,
) -> Stored:
    arrival = Arrival(
        run=run.id, project=run.project_id, turns=turns, presence=presence, redaction=own
    )
    return await put(arrival, size=size)
