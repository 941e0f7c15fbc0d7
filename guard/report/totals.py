"""Loops of recorded sessions, what each wasted, and totals of many sessions.

Sessions are added one at a time: memory does not grow with their number.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

from guard.engine import Engine
from guard.formats import Recording
from guard.judge.run_judge import RunJudge
from guard.policy import DEFAULT_POLICY, Policy
from guard.pricing import price_turns
from guard.replay import dollars_text, made_progress, replay_turns
from guard.signals import Assessment, Signal
from guard.turn import Role, Turn

WORST = 10
# A clock that was never set gives an earlier year.
_FIRST_YEAR = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One stretch of a session without progress.

    Attributes:
        first: Position of the first turn of the evidence, first turn 0.
        alarm: Position of the turn at which a card would have opened.
        turns: Turns wasted: those of the evidence, and all after the alarm until
            there was something new, a person spoke, or the session ended.
        usd: Cost of the model calls behind these turns; None: not known.
        detector: The detector that found it.
        summary: What repeated, in one sentence.
        call: The repeated call; "" if messages repeated.
        at: When it began; None: the transcript has no time.
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
    """The analysis of one recorded session.

    Attributes:
        turns: Turns that no earlier file of the folder holds: those of a resumed
            session are not counted again.
        usd: What they cost; None: no model call could be priced.
        unpriced_calls: Model calls with tokens but without a known price.
        malformed: Lines that could not be read.
        dismissed: Trips that the judge ruled to be no loop.
        began: The first known time of a turn; None: there is none.
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
    """Ids of the tool calls and model calls in earlier files of one folder."""

    keys: set[str] = field(default_factory=set)
    paid: set[str] = field(default_factory=set)

    def knows(self, turn: Turn) -> bool:
        """Return whether an earlier file holds this turn: its tool call, or its message."""
        return turn.key in self.keys or (turn.key is None and turn.call_id in self.paid)


def look_through(
    recording: Recording, policy: Policy = DEFAULT_POLICY, earlier: EarlierFiles | None = None
) -> Session:
    """Find the loops of a session; turns in `earlier` are neither counted nor charged."""
    earlier = earlier or EarlierFiles()
    # Before the lines below, which add this file's own turns to `earlier`.
    new = {
        place
        for place, turn in enumerate(recording.turns)
        if turn is not None and not earlier.knows(turn)
    }
    costs = price_turns(recording.turns, paid=earlier.paid)
    earlier.keys.update(turn.key for turn in recording.turns if turn and turn.key)
    judge = RunJudge(policy, workspace=recording.workspace, goal=recording.goal)
    # `dismissed`: places of trips that the judge ruled to be no loop.
    stretches, dismissed, places = list[_Stretch](), set[int](), dict[int, int]()
    for moment in replay_turns(recording, Engine(policy), judge, closes=_ends):
        place = places[moment.assessment.seq] = moment.position
        if moment.dismissed:
            dismissed.add(place)
        elif trip := moment.opens:
            wasted = {place, *(places[seq] for seq in trip.turns if seq in places)}
            stretches.append(_Stretch(trip, place, sorted(wasted)))
        elif moment.was_open and not moment.closes:
            stretches[-1].wasted.append(place)
    # A loop that an earlier file holds is counted there.
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
    """A loop in progress: its alarm and the positions that it wasted."""

    signal: Signal
    alarm: int
    wasted: list[int]

    def as_loop(
        self, turns: Sequence[Turn | None], costs: Sequence[Decimal | None], new: set[int]
    ) -> Loop:
        """Return what it repeated and wasted; `new` are the turns in no earlier file."""
        evidence, wasted, first = self.signal.evidence, set(self.wasted), self.wasted[0]
        # A model call with a message and a tool call is two turns, with its cost at the
        # first: it is wasted if either turn is.
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
            # Turns in an earlier file are counted there.
            turns=len(new & wasted),
            usd=_total(spent),
            detector=self.signal.detector,
            summary=evidence.summary,
            call=evidence.calls[0] if evidence.calls else "",
            at=began.ts if began else None,
        )


def _ends(turn: Turn, assessment: Assessment) -> bool:
    """Return whether a stretch ends: a person spoke, or the agent got on."""
    return turn.role is Role.USER or made_progress(turn, assessment)


def _total(costs: Sequence[Decimal | None]) -> Decimal | None:
    # None instead of an empty sum: "$0" would mean that it was free.
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One loop, and the file in which it was found."""

    loop: Loop
    path: Path
    run: str

    def as_row(self) -> dict[str, Any]:
        """Return plain JSON values."""
        loop = self.loop
        return {
            "run": self.run,
            "path": str(self.path),
            "first_turn": loop.first,
            "alarm_turn": loop.alarm,
            "wasted_turns": loop.turns,
            "wasted_usd": dollars_text(loop.usd),
            "detector": loop.detector,
            "summary": loop.summary,
            "call": loop.call,
            "at": loop.at.isoformat() if loop.at else None,
        }


@dataclass(slots=True)
class Day:
    """Sums over the sessions that began on one day, and over their loops."""

    turns: int = 0
    wasted_turns: int = 0
    usd: Decimal = field(default_factory=Decimal)
    wasted_usd: Decimal = field(default_factory=Decimal)


@dataclass(slots=True)
class Totals:
    """Sums over all sessions.

    Attributes:
        priced: Sessions of which at least one model call has a price.
        unpriced: All other sessions: no figure here includes their dollars.
        unpriced_calls: Model calls with tokens but no known price, in any session.
        dismissed: Trips that the judge ruled to be no loop.
        skipped: Files without a session in a known format, or unreadable.
        days: By day in UTC; sessions without a time are in none.
    """

    sessions: int = 0
    turns: int = 0
    looping: int = 0
    loops: int = 0
    wasted_turns: int = 0
    usd: Decimal = field(default_factory=Decimal)
    wasted_usd: Decimal = field(default_factory=Decimal)
    priced: int = 0
    unpriced: int = 0
    unpriced_loops: int = 0
    unpriced_calls: int = 0
    malformed: int = 0
    dismissed: int = 0
    skipped: int = 0
    by_detector: dict[str, int] = field(default_factory=dict)
    days: dict[date, Day] = field(default_factory=dict)
    _worst: list[tuple[Decimal, int, int, Found]] = field(default_factory=list)
    # Descending: a heap drops its smallest item, which of equal loops is to be the later one.
    _order: count[int] = field(default_factory=lambda: count(0, -1))

    def add(self, session: Session, path: Path) -> None:
        """Add one session."""
        self.sessions += 1
        self.turns += session.turns
        self.malformed += session.malformed
        self.dismissed += session.dismissed
        self.unpriced_calls += session.unpriced_calls
        # Both are counted: the sum of dollars does not show how many sessions have a price.
        self.priced += session.usd is not None
        self.unpriced += session.usd is None
        self.usd += session.usd or 0
        self.looping += bool(session.loops)
        # `astimezone` reads a time without a zone as this machine's local time.
        if session.began is not None and session.began.year >= _FIRST_YEAR:
            day = self.days.setdefault(session.began.astimezone(UTC).date(), Day())
            day.turns += session.turns
            day.usd += session.usd or 0
            day.wasted_turns += sum(loop.turns for loop in session.loops)
            day.wasted_usd += sum(loop.usd or Decimal(0) for loop in session.loops)
        for loop in session.loops:
            self.loops += 1
            self.wasted_turns += loop.turns
            # Unpriced loops are counted separately: in this sum they would look free.
            self.wasted_usd += loop.usd or 0
            self.unpriced_loops += loop.usd is None
            self.by_detector[loop.detector] = self.by_detector.get(loop.detector, 0) + 1
            # The order breaks ties, earlier loops first, so that `Found` is never compared.
            rank = (
                loop.usd or Decimal(0),
                loop.turns,
                next(self._order),
                Found(loop=loop, path=path, run=session.run),
            )
            # A heap of `WORST` loops: a report may read tens of thousands of sessions.
            if len(self._worst) < WORST:
                heapq.heappush(self._worst, rank)
            else:
                heapq.heappushpop(self._worst, rank)

    @property
    def wasted_share(self) -> float:
        """The share of all turns that was wasted, in [0, 1]."""
        return self.wasted_turns / max(1, self.turns)

    def left_out(self) -> list[str]:
        """Return what the figures leave out, one line for each kind."""
        whose = "its" if self.unpriced == 1 else "their"
        lines = [
            (self.unpriced, "session", f" without a known price: {whose} dollars are not counted"),
            (self.unpriced_calls, "model call", " of unknown price, not counted"),
            (self.dismissed, "suspected loop", " dismissed by the judge, not counted"),
            (self.malformed, "line", " that could not be read"),
            (self.skipped, "file", " without a session in a known form"),
        ]
        return [f"{counted(n, what)}{how}" for n, what, how in lines if n]

    @property
    def worst(self) -> list[Found]:
        """The loops that wasted most, by dollars and then by turns, worst first."""
        return [found for *_, found in sorted(self._worst, reverse=True)]

    def as_mapping(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "sessions": self.sessions,
            "turns": self.turns,
            "sessions_with_loops": self.looping,
            "loops": self.loops,
            "wasted_turns": self.wasted_turns,
            "cost_usd": dollars_text(self.usd if self.priced else None),
            "wasted_usd": dollars_text(self.wasted_usd if self.priced else None),
            "unpriced_sessions": self.unpriced,
            "unpriced_loops": self.unpriced_loops,
            "unpriced_calls": self.unpriced_calls,
            "malformed_lines": self.malformed,
            "dismissed": self.dismissed,
            "skipped_files": self.skipped,
            "by_detector": dict(sorted(self.by_detector.items())),
            "worst": [found.as_row() for found in self.worst],
        }


def counted(number: int, what: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> counted(1, "turn"), counted(1200, "turn")
    ('1 turn', '1,200 turns')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def dollars(amount: Decimal) -> str:
    """Return dollars to the cent, and amounts below a cent to a hundredth of a cent."""
    # A loop of a cheap model costs less than a cent, but is not free.
    if not amount or amount >= Decimal("0.01"):
        return f"${amount:,.2f}"
    return f"${amount:.4f}" if amount >= MIN_SHOWN_USD else f"under ${MIN_SHOWN_USD}"


MIN_SHOWN_USD = Decimal("0.0001")
