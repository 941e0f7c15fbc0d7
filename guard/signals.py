"""What detectors say: a Signal of one detector, an Assessment of one turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Kind(StrEnum):
    """What sort of trouble a signal names; words the card and the API use.

    `semantic_repeat` is named by rules of other systems alone, `reverification` by
    decisions of before there were five rules.
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
    """Why a detector says so, in terms a person can check.

    Attributes:
        summary: One sentence in the present or past tense, subject "It":
            "It ran the same test 4 times and got the same error."
        calls: The repeated calls as canonical text (`guard.reading.normalize.call_text`),
            each once, in order of first appearance. An allowlist entry made
            from a card is exactly these.
        repeats: How often it was seen, the proposed call included.
        limit: At how many repeats the detector trips.
        similarity: In [0, 1], lowest pairwise; None where it has no meaning.
        threshold: What `similarity` is held against.
        changed: What really changed between the repeats, or None: nothing.
        spent: For a budget: what was used, as text ("8.00"); else None.
        ceiling: For a budget: the limit, as text; else None.
        unit: For a budget: usd | tokens | calls | turns | seconds | failures.
        scope: For a budget: whose ceiling it is: run | tree | agent | project | day.
        whose: The agent's name, the day, or the id of the run whose tree it is.
    """

    # Ours, whatever it quotes of an agent (`guard.quoting`): it stands on cards and in pushes.
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


# Numbers, so that the higher of two wins.
class Severity(IntEnum):
    """What a tripping signal asks for: from a quiet note up to the end."""

    OBSERVE = -1
    """Noted only: what would have happened."""
    NUDGE = 0
    """The agent is told what repeats; nobody is asked."""
    ESCALATE = 1
    """Another strategy or a stronger model; a card tells people."""
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
        turns: `seq` of the turns it rests on, oldest first, this one included.
        first: The streak has not had this severity before.
        linked_turns: Those of linked runs likewise, as (run id, `seq`), oldest first.
    """

    detector: str
    kind: Kind
    score: float
    turns: tuple[int, ...]
    evidence: Evidence
    severity: Severity = Severity.ASK
    first: bool = True
    linked_turns: tuple[tuple[str, int], ...] = ()

    def on(self, severity: Severity, *, first: bool) -> Signal:
        """Give this signal with a severity."""
        # Asked for each rule of each turn: what is right already is not made anew.
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
        """The detector is sure: a card may open on this."""
        # A rule that may only observe or nudge can be sure, and still nobody is asked.
        return self.score >= 1.0 and self.severity >= Severity.ESCALATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """All that the engine says of one observation.

    Attributes:
        seq: The turn.
        score: How near the run is to a card, in [0, 1]; 1 opens one.
        changed: The turn brought something new.
        stuck: The stuck score (`guard.detectors.score`) alone, in [0, 1), whatever the policy.
        signals: What detectors say, the surest of each.
        suspicion: It is worth a question to a judge who can read, and trips never.
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
