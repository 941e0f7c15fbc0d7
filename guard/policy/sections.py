"""The sections of a policy: one frozen dataclass of thresholds per detector.

A new section is a class here, a field of `Policy` and its detector's name in
`DETECTOR_NAMES`; reading, writing and checking it needs no more code.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.embedding import FORMS, HASHING, is_embedding
from guard.errors import PolicyInvalid
from guard.policy.bounds import check_number, check_range, check_share

# The registry's names, spelled here because the detectors import this module;
# tests/guard/test_policy.py holds the two together.
DEFAULT_DETECTORS = (
    "budget", "exact_repeat", "semantic_repeat", "ping_pong", "k_cycle", "same_error", "recurrence",
    "stagnation", "monologue", "hand_offs", "relay", "reverification",
    "stall",
)  # fmt: skip
DETECTOR_NAMES = (*DEFAULT_DETECTORS, "broker", "fingerprint", "ralph", "loopguard")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactRepeat:
    """When the same call with the same outcome is a loop.

    Attributes:
        repeats: At which repeat it trips, 2 to 50, the first call included.
        without_results: The same where only requests are known: it needs more.
        polls: The same for calls that wait for something, whose answer may
            rightly stay unchanged for a while.
    """

    repeats: int = 3
    without_results: int = 4
    polls: int = 8

    def __post_init__(self) -> None:
        check_range("exact_repeat.repeats", self.repeats, 2, 50)
        check_range("exact_repeat.without_results", self.without_results, 2, 50)
        check_range("exact_repeat.polls", self.polls, 2, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticRepeat:
    """When reworded turns say the same.

    Attributes:
        window: How many messages or questions in a row must be alike, 2 to 10.
        acts: How many deeds, 2 to 10: other words of a deed may succeed.
        threshold: Lowest pairwise cosine of them, in (0, 1].
        embedding: What makes vectors of texts: "hashing", "wordllama" or
            "model2vec:PATH" (`guard.embedding`).
    """

    window: int = 3
    acts: int = 4
    threshold: float = 0.86
    embedding: str = HASHING

    def __post_init__(self) -> None:
        check_range("semantic_repeat.window", self.window, 2, 10)
        check_range("semantic_repeat.acts", self.acts, 2, 10)
        check_share("semantic_repeat.threshold", self.threshold)
        if not is_embedding(self.embedding):
            raise PolicyInvalid("semantic_repeat.embedding", FORMS, self.embedding)


@dataclass(frozen=True, slots=True, kw_only=True)
class PingPong:
    """When two turns alternate.

    Attributes:
        rounds: How many A-B rounds trip, 2 to 10: 2 is a tail of four turns.
        without_results: The same where only requests are known.
        threshold: How alike two messages must be to be the same turn again.
    """

    rounds: int = 2
    without_results: int = 3
    threshold: float = 0.86

    def __post_init__(self) -> None:
        check_range("ping_pong.rounds", self.rounds, 2, 10)
        check_range("ping_pong.without_results", self.without_results, 2, 10)
        check_share("ping_pong.threshold", self.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class KCycle:
    """When a series of turns comes round again.

    Attributes:
        longest: Longest period looked for, 2 to 8 turns.
        rounds: How many rounds of up to 3 turns trip, 2 to 10; longer series
            trip at one round less and a turn.
    """

    longest: int = 8
    rounds: int = 3

    def __post_init__(self) -> None:
        check_range("k_cycle.longest", self.longest, 2, 8)
        check_range("k_cycle.rounds", self.rounds, 2, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class SameError:
    """When failing the same way is a loop.

    Attributes:
        in_a_row: The same failure so often in a row, 3 to 50.
        near: The same where the requests are near-equal, too.
        variants: So many failing variants of one command, 3 to 50.
        refusals: The same refusal of so many different commands, 3 to 50.
    """

    in_a_row: int = 5
    near: int = 4
    variants: int = 7
    refusals: int = 4

    def __post_init__(self) -> None:
        check_range("same_error.in_a_row", self.in_a_row, 3, 50)
        check_range("same_error.near", self.near, 3, 50)
        check_range("same_error.variants", self.variants, 3, 50)
        check_range("same_error.refusals", self.refusals, 3, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """When a call that comes again and again, with others between, is a loop.

    Attributes:
        repeats: At which recurrence it may trip, 3 to 50.
        refused: The same request refused so often with no effective edit
            between, 3 to 50.
        moved: Share of the steps between that may have brought something for
            the first number of repeats, in (0, 1]; each more allows more.
    """

    repeats: int = 3
    refused: int = 5
    moved: float = 0.2

    def __post_init__(self) -> None:
        check_range("recurrence.repeats", self.repeats, 3, 50)
        check_range("recurrence.refused", self.refused, 3, 50)
        check_share("recurrence.moved", self.moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stagnation:
    """When different questions that teach nothing are a loop.

    Attributes:
        questions: So many with the same answer in a row, 3 to 50.
        near: The same where the questions are near-equal, too.
        known: So many whose answers were all known, 3 to 50.
    """

    questions: int = 6
    near: int = 5
    known: int = 8

    def __post_init__(self) -> None:
        check_range("stagnation.questions", self.questions, 3, 50)
        check_range("stagnation.near", self.near, 3, 50)
        check_range("stagnation.known", self.known, 3, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Monologue:
    """When an agent that only talks says nothing new.

    Attributes:
        messages: So many in a row, 2 to 50.
        fresh: So many new terms a message, on average, are still nothing new.
        new_terms: Likewise the share of new terms among all, in (0, 1].
    """

    messages: int = 4
    fresh: float = 2.5
    new_terms: float = 0.35

    def __post_init__(self) -> None:
        check_range("monologue.messages", self.messages, 2, 50)
        check_share("monologue.new_terms", self.new_terms)
        check_number("monologue.fresh", self.fresh, 0.0, 50.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOffs:
    """When agents pass a matter round and nobody adds to it.

    Attributes:
        rounds: How often it comes round, 2 to 10.
        fresh: So many new terms a message, on average, are still nothing new.
        new_terms: Likewise the share of new terms among all, in (0, 1].
    """

    rounds: int = 3
    fresh: float = 2.5
    new_terms: float = 0.35

    def __post_init__(self) -> None:
        check_range("hand_offs.rounds", self.rounds, 2, 10)
        check_share("hand_offs.new_terms", self.new_terms)
        check_number("hand_offs.fresh", self.fresh, 0.0, 50.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """When agents that follow each other and end on one failure are a loop.

    Attributes:
        agents: So many agents, one after another, 2 to 20.
    """

    agents: int = 3

    def __post_init__(self) -> None:
        check_range("relay.agents", self.agents, 2, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverification:
    """When checking what holds is a loop.

    Attributes:
        checks: So many checks of one thing in a row, 3 to 50.
    """

    checks: int = 6

    def __post_init__(self) -> None:
        check_range("reverification.checks", self.checks, 3, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """When a mixture of repeats, none enough alone, is a loop.

    Attributes:
        evidence: The score that trips, 2 to 50: a verbatim repeat adds 1,
            weaker likeness less, and news lets the score fade.
        without_results: So many calls that ask for nothing new trip where only
            requests are known, 4 to 40.
    """

    evidence: float = 5.0
    without_results: int = 8

    def __post_init__(self) -> None:
        check_number("stall.evidence", self.evidence, 2.0, 50.0)
        check_range("stall.without_results", self.without_results, 4, 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRule:
    """When a judge is asked though no rule tripped, and what its answer does.

    Attributes:
        suspicions: Whether it is asked at all. Only a model is: the local judge
            knows no more than the rules.
        every: At most one such question in so many turns, 1 to 1000.
        confidence: How sure it must be of a loop to open a card, in (0, 1].
        drought: After how many steps that brought little it is asked, 4 to 40.
    """

    suspicions: bool = True
    every: int = 10
    confidence: float = 0.8
    drought: int = 12

    def __post_init__(self) -> None:
        check_range("judge.every", self.every, 1, 1000)
        check_share("judge.confidence", self.confidence)
        check_range("judge.drought", self.drought, 4, 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRule:
    """When turns overlap in their words for too long.

    Attributes:
        window: With how many of the last turns a turn is compared, 1 to 20.
        threshold: The Jaccard overlap from which two turns are alike, in (0, 1].
        warn: After how many similar turns in a row it warns, 1 to 50,
        terminate: and after how many it ends the run, `warn` to 50.
    """

    window: int = 5
    threshold: float = 0.85
    warn: int = 3
    terminate: int = 5

    def __post_init__(self) -> None:
        check_range("broker.window", self.window, 1, 20)
        check_share("broker.threshold", self.threshold)
        check_range("broker.warn", self.warn, 1, 50)
        check_range("broker.terminate", self.terminate, self.warn, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintRule:
    """When the same deed on the same files meets the same error.

    Attributes:
        escalate: At which action of a streak it escalates, 2 to 50,
        halt: and at which it ends the run, `escalate` to 50.
        exploring_escalate: The same for searches, which repeat by nature,
        exploring_halt: and for known retries, which are counted apart.
    """

    escalate: int = 3
    halt: int = 5
    exploring_escalate: int = 7
    exploring_halt: int = 8

    def __post_init__(self) -> None:
        check_range("fingerprint.escalate", self.escalate, 2, 50)
        check_range("fingerprint.halt", self.halt, self.escalate, 50)
        check_range("fingerprint.exploring_escalate", self.exploring_escalate, 2, 50)
        check_range("fingerprint.exploring_halt", self.exploring_halt, self.exploring_escalate, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class RalphRule:
    """When an iteration's output is nearly one of the last.

    Attributes:
        window: With how many outputs it is compared, 1 to 20.
        threshold: The edit ratio from which they are alike, in (0, 1].
    """

    window: int = 5
    threshold: float = 0.9

    def __post_init__(self) -> None:
        check_range("ralph.window", self.window, 1, 20)
        check_share("ralph.threshold", self.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopGuardRule:
    """When the last events are the same, alike or alternate.

    Attributes:
        repeats: How many events in a row must be the same, or alike, 2 to 20.
        threshold: Lowest pairwise cosine of events that are alike, in (0, 1].
    """

    repeats: int = 3
    threshold: float = 0.86

    def __post_init__(self) -> None:
        check_range("loopguard.repeats", self.repeats, 2, 20)
        check_share("loopguard.threshold", self.threshold)
