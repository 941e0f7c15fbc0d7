"""The loops of one recorded session, and what each of them wasted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from guard.engine import Engine
from guard.formats import Recording
from guard.judge.run_judge import RunJudge
from guard.policy import DEFAULT_POLICY, Policy
from guard.pricing import price_turns
from guard.replay import gets_on, play
from guard.signals import Assessment, Signal
from guard.turn import Role, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One stretch of a session that got nowhere.

    Attributes:
        first: Position of the first turn of the evidence, first turn 0.
        alarm: Position of the turn at which a card would have opened.
        turns: Turns wasted: those of the evidence, and all after the alarm until
            something new came, a person spoke, or the session ended.
        usd: What the model calls behind them cost; None: not known.
        detector: Which detector saw it.
        summary: What repeated, in one sentence.
        call: The repeated call; "" where messages repeated.
        at: When it began, where the transcript tells.
    """

    first: int
    alarm: int
    turns: int
    usd: Decimal | None
    detector: str
    summary: str
    call: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One recorded session, looked through.

    Attributes:
        turns: How many were told here first: those of a resumed session that stand
            in an earlier file of the folder are not counted again.
        usd: What they cost; None: not one model call could be priced.
        unpriced_calls: Model calls with tokens and no known price.
        malformed: Lines that could not be read.
        dismissed: Trips that the judge found to be no loop.
        began: When its first turn was; None: it tells no time.
    """

    run: str
    turns: int
    usd: Decimal | None
    unpriced_calls: int
    malformed: int
    loops: tuple[Loop, ...]
    dismissed: int = 0
    began: datetime | None = None


@dataclass(slots=True)
class EarlierFiles:
    """What earlier files of one folder told already: tool calls and model calls."""

    keys: set[str] = field(default_factory=set)
    paid: set[str] = field(default_factory=set)

    def knows(self, turn: Turn) -> bool:
        """Tell whether an earlier file told this turn: its tool call, or its message."""
        return turn.key in self.keys or (turn.key is None and turn.call_id in self.paid)


def look_through(
    recording: Recording, policy: Policy = DEFAULT_POLICY, earlier: EarlierFiles | None = None
) -> Session:
    """Find the loops of a session; what `earlier` knows is neither counted nor charged."""
    earlier = earlier or EarlierFiles()
    # First of all: what is noted below would make its own turns known.
    new = {
        place
        for place, turn in enumerate(recording.turns)
        if turn is not None and not earlier.knows(turn)
    }
    costs = price_turns(recording.turns, paid=earlier.paid)
    earlier.keys.update(turn.key for turn in recording.turns if turn and turn.key)
    stretches, dismissed = _find_stretches(recording, policy)
    # A loop that an earlier file told already is that file's.
    loops = tuple(
        stretch.as_loop(recording.turns, costs, new)
        for stretch in stretches
        if not new.isdisjoint(stretch.wasted)
    )
    used = [turn.usage.total if turn and turn.usage else 0 for turn in recording.turns]
    return Session(
        run=recording.run,
        turns=len(new),
        usd=_total(costs),
        unpriced_calls=sum(
            cost is None and tokens > 0 for cost, tokens in zip(costs, used, strict=True)
        ),
        malformed=recording.malformed,
        loops=loops,
        dismissed=len(new & dismissed),
        began=next((t.ts for t in recording.turns if t and t.ts), None),
    )


@dataclass(slots=True)
class _Stretch:
    """A loop while it lasts: its alarm and the positions it wasted."""

    signal: Signal
    alarm: int
    wasted: list[int]

    def as_loop(
        self, turns: Sequence[Turn | None], costs: Sequence[Decimal | None], new: set[int]
    ) -> Loop:
        """Say what it repeated and wasted; `new` are the turns that no earlier file told."""
        evidence, wasted, first = self.signal.evidence, set(self.wasted), self.wasted[0]
        # A model call that says something and then uses a tool is two turns, and its cost
        # stands at the first: it is wasted with either.
        behind = (turns[place] for place in self.wasted)
        calls = {turn.call_id for turn in behind if turn and turn.call_id}
        spent = [
            cost
            for place, (turn, cost) in enumerate(zip(turns, costs, strict=True))
            if place in wasted or (turn is not None and turn.call_id in calls)
        ]
        began = turns[first]
        return Loop(
            first=first,
            alarm=self.alarm,
            # Those that an earlier file told are counted there.
            turns=len(new & wasted),
            usd=_total(spent),
            detector=self.signal.detector,
            summary=evidence.summary,
            call=evidence.calls[0] if evidence.calls else "",
            at=began.ts if began else None,
        )


def _find_stretches(recording: Recording, policy: Policy) -> tuple[list[_Stretch], set[int]]:
    """Give the stretches, and the positions of the trips that the judge dismissed."""
    judge = RunJudge(policy, workspace=recording.workspace, goal=recording.goal)
    found, dismissed, places = list[_Stretch](), set[int](), dict[int, int]()
    for moment in play(recording, Engine(policy), judge, closes=_ends):
        place = places[moment.assessment.seq] = moment.position
        if moment.dismissed:
            dismissed.add(place)
        elif trip := moment.opens:
            wasted = {place, *(places[seq] for seq in trip.turns if seq in places)}
            found.append(_Stretch(trip, place, sorted(wasted)))
        elif moment.was_open and not moment.closes:
            found[-1].wasted.append(place)
    return found, dismissed


def _ends(turn: Turn, assessment: Assessment) -> bool:
    """Tell whether a stretch ends: with a person's words, or with news."""
    return turn.role is Role.USER or gets_on(turn, assessment)


def _total(costs: Sequence[Decimal | None]) -> Decimal | None:
    # Not a sum of nothing: "$0" would say that it was free.
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known else None
