"""What stops saved: an estimate from loops that nobody stopped. Pure.

For each loop that went on by itself, the number of turns is recorded, from its
first turn to the first that changed something again, or to its run's end. A stop is
assumed to have avoided as many turns as such loops took, less those already taken, at the
cost of a turn in its own loop:

    saved = max(0, turns such loops took - turns taken) * cost of a turn in this loop

but never more than what was left of its run's budget in dollars. The middle half of what is
known makes the range: a quarter of the loops ended sooner, a quarter went on longer.
Loops of the same kind are compared if there are enough of them, otherwise all.
With fewer than `MIN_SAMPLES` in all there is no estimate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from statistics import median, quantiles

from missioncontrol.wire.costs import Saving

# Loops that went on by themselves, before anything is estimated.
MIN_SAMPLES = 5
CENT = Decimal("0.01")
NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstoppedLoop:
    """A loop that went on by itself: `turns` from its first to its last."""

    kind: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A loop that was stopped after `turns`.

    `usd_per_turn` is None if its calls have no price; `max_usd` is what was left of its
    run's budget, None if it had none.
    """

    kind: str
    turns: int
    usd_per_turn: Decimal | None
    max_usd: Decimal | None = None


def estimate_savings(stops: Iterable[Stop], unstopped: Iterable[UnstoppedLoop]) -> Saving:
    """Estimate what stops saved; amounts are None where too little is known."""
    stops, unstopped = list(stops), list(unstopped)
    turns = [one.turns for one in unstopped]
    priced = [stop for stop in stops if stop.usd_per_turn is not None]
    # No stops saved nothing, which needs no estimate.
    known = not stops or (len(turns) >= MIN_SAMPLES and bool(priced))
    # A loop of a kind with few samples is compared with all of them.
    grouped: dict[str, list[int]] = defaultdict(list)
    for one in unstopped:
        grouped[one.kind].append(one.turns)
    enough = {kind: found for kind, found in grouped.items() if len(found) >= MIN_SAMPLES}
    compared = {stop.kind: enough.get(stop.kind, turns) for stop in priced if known}
    quartiles = {kind: quantiles(found, method="inclusive") for kind, found in compared.items()}
    low, likely, high = (
        sum((saving_of(stop, quartiles[stop.kind][part]) for stop in priced), NOTHING)
        if known
        else None
        for part in range(3)
    )
    return Saving(
        low_usd=low,
        likely_usd=likely,
        high_usd=high,
        stops=len(stops),
        unpriced_stops=len(stops) - len(priced),
        samples=len(turns),
        enough=MIN_SAMPLES,
        # Of the loops that the stops were compared with, of all kinds.
        median_turns=round(median(turns)) if turns else None,
    )


def saving_of(stop: Stop, turns: float) -> Decimal:
    """Return what one stop saved, if its loop would have taken `turns` turns in all."""
    if stop.usd_per_turn is None:
        return NOTHING
    # Converted as text: a float's own binary digits would show in the cents.
    further = Decimal(str(max(0.0, turns - stop.turns)))
    amount = (further * stop.usd_per_turn).quantize(CENT)
    # The budget would have ended the loop by itself: beyond it nothing was saved.
    if stop.max_usd is None:
        return amount
    return min(amount, max(NOTHING, stop.max_usd.quantize(CENT)))
