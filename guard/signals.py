"""What detectors say: a Signal is one detector's, an Assessment is one turn's."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Kind(StrEnum):
    """What sort of trouble a signal names; words the card and the API use.

    Only rules of other systems use `semantic_repeat`; only decisions from before there
    were five rules use `reverification`.
    """

    EXACT_REPEAT = "exact_repeat"
    SEMANTIC_REPEAT = "semantic_repeat"
    PING_PONG = "ping_pong"
    K_CYCLE = "k_cycle"
    SAME_ERROR = "same_error"
    RECURRENCE = "recurrence"
    STAGNATION = "stagnation"
    MONOLOGUE = "monologue"
    HAND_OFFS = "hand_offs"
    REVERIFICATION = "reverification"
    STALL = "stall"
    SUSPICION = "suspicion"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Why a detector gives its signal, in terms that a person can check.

    Attributes:
        summary: One sentence in the present or past tense, subject "It":
            "It ran the same test 4 times and got the same error."
        calls: The repeated calls as canonical text (`guard.reading.normalize.call_text`),
            each once, in order of first appearance. An allowlist entry made
            from a card is exactly these.
        repeats: How often it was seen, including the proposed call.
        limit: At how many repeats the detector trips.
        similarity: In [0, 1], lowest pairwise; None where it has no meaning.
        threshold: What `similarity` is compared with.
        changed: What really changed between the repeats; None: nothing.
        spent: For a budget: what was used, as text ("8.00"); else None.
        ceiling: For a budget: the limit, as text; else None.
        unit: For a budget: usd | tokens | calls | turns | seconds | failures.
        scope: For a budget: whose ceiling it is: run | tree | agent | project | day.
        whose: The agent's name, the day, or the id of the run whose tree it is.
    """

    # Our own sentence; it only quotes an agent (`guard.quoting`). Cards and pushes show it.
    summary: str
    calls: tuple[str, ...] = ()
    repeats: int = 0
    limit: int = 0
    similarity: float | None = None
    threshold: float | None = None
    changed: str | None = None
    spent: str | None = None
    ceiling: str | None = None
    unit: str | None = None
    scope: str | None = None
    whose: str | None = None


# Integers, so that the higher of two wins.
class Severity(IntEnum):
    """What a tripping signal asks for, from a silent record up to ending the run."""

    OBSERVE = -1
    """It is only recorded, as what would have happened."""
    NUDGE = 0
    """The agent is told what repeats; nobody is asked."""
    ESCALATE = 1
    """The agent gets another strategy or a stronger model; a card tells people."""
    ASK = 2
    """A person decides."""
    STOP = 3
    """The run ends; not one more turn is let through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What one detector says of one turn.

    Attributes:
        score: In [0, 1]; the signal trips at 1.0, below it is a nudge.
        severity: What it asks for once it trips.
        turns: `seq` of the turns it rests on, oldest first, including this one.
        first: It is the first in the streak with this severity.
        linked_turns: The same for linked runs, as (run id, `seq`), oldest first.
    """

    detector: str
    kind: Kind
    score: float
    turns: tuple[int, ...]
    evidence: Evidence
    severity: Severity = Severity.ASK
    first: bool = True
    linked_turns: tuple[tuple[str, int], ...] = ()

    def with_severity(self, severity: Severity, *, first: bool) -> Signal:
        """Return this signal with the given severity."""
        # Called for each rule at each turn: an unchanged signal is not copied.
        if severity is self.severity and first is self.first:
            return self
        return Signal(
            detector=self.detector,
            kind=self.kind,
            score=self.score,
            turns=self.turns,
            evidence=self.evidence,
            severity=severity,
            first=first,
            linked_turns=self.linked_turns,
        )

    @property
    def trips(self) -> bool:
        """The detector is sure, and a card may open on this signal."""
        # A rule that may only observe or nudge can be sure, but nobody is asked.
        return self.score >= 1.0 and self.severity >= Severity.ESCALATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """Everything that the engine says of one observation.

    Attributes:
        seq: The turn.
        score: How near the run is to a card, in [0, 1]; 1 opens one.
        changed: The turn brought something new.
        stuck: The stuck score (`guard.detectors.score`), in [0, 1), whatever the policy is.
        signals: What detectors say, from each its surest signal.
        suspicion: A doubt worth a question to a judge that can read; it never trips.
    """

    seq: int
    score: float
    changed: bool
    stuck: float = 0.0
    signals: tuple[Signal, ...] = field(default=())
    suspicion: Signal | None = None

    @property
    def trip(self) -> Signal | None:
        """The tripping signal of the highest severity; the registry's order breaks ties."""
        # `max` keeps the first of equals, and signals come in the registry's order.
        tripping = [signal for signal in self.signals if signal.trips]
        return max(tripping, key=lambda signal: signal.severity, default=None)
