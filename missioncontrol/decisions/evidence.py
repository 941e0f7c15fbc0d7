"""What a card shows of the turns it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any

from django.db.models import Q

from guard.describe import headline
from guard.signals import Kind, Signal
from missioncontrol.decisions import suggestions
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import guard_turn
from missioncontrol.wire.decisions import CardEvidence, EvidenceTurn

SHOWN_TEXT = 2000
SHOWN_TURNS = 8


def evidence_of(run: Run, signal: Signal, turns: Sequence[Turn], *, at: datetime) -> CardEvidence:
    """Put together what a card shows: the run's own turns and those of linked runs."""
    shown: dict[str, Any] = {
        name: getattr(signal.evidence, name) for name in type(signal.evidence).__slots__
    }
    # Ids are UUIDv7: turns of several runs have no other order in common.
    rests_on = sorted([*turns_of_relatives(signal), *turns], key=attrgetter("id"))
    costs = [turn.cost_usd for turn in rests_on if turn.cost_usd is not None]
    offer = None
    if signal.kind is not Kind.BUDGET:  # no pattern makes money
        calls = signal.evidence.calls
        offer = suggestions.offer(calls, project=run.project_id, at=at)
    return CardEvidence(
        **shown,
        turns=signal.turns,
        items=tuple(
            EvidenceTurn(
                run=turn.run_id,
                seq=turn.seq,
                agent=turn.agent,
                call=headline(guard_turn(turn)),
                result=_cut(turn.result),
                error=_cut(turn.error),
                # A proposal that was held has not run, and the card must not say so.
                ran=turn.phase == "done",
                at=turn.ts,
            )
            for turn in rests_on[-SHOWN_TURNS:]
        ),
        cost_usd=sum(costs, Decimal(0)) if costs else None,
        offer_allowlist=offer,
    )


def turns_of_relatives(signal: Signal) -> list[Turn]:
    """Return the turns of linked runs that a signal rests on, oldest first."""
    wanted = Q()
    for run_id, seq in signal.linked_turns:
        wanted |= Q(run_id=run_id, seq=seq)
    # An empty condition would match every turn there is.
    return list(Turn.objects.filter(wanted).order_by("id")) if wanted else []


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= SHOWN_TEXT else text[:SHOWN_TEXT] + "…"
