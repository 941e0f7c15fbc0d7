"""One turn of a recorded run, explained: what the engine read, and what followed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from guard.detectors import PolicyDetectors, Rule
from guard.detectors.base import View
from guard.detectors.score import Weight
from guard.engine import Engine
from guard.formats import Recording
from guard.judge import Verdict
from guard.judge.run_judge import RunJudge
from guard.policy import DEFAULT_POLICY, Policy
from guard.reading.step import Step
from guard.replay import replay_turns
from guard.signals import Assessment, Signal
from guard.turn import Role, Turn


class Result(StrEnum):
    """What followed from a turn."""

    ALARM = "alarm"
    """A card opens."""
    OPEN = "open"
    """A card was already open, so no other opens."""
    DISMISSED = "dismissed"
    """The judge let the agent go."""
    NUDGE = "nudge"
    """A detector is nearly sure, and nobody is asked."""
    QUIET = "quiet"
    SPOKEN_TO = "heard"
    """Somebody spoke to the agent, so there is nothing to judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one rule says of the turn: a signal with its severity, or None if it is silent."""

    detector: str
    signal: Signal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The remembered step with the most similar request, and its similarity in [0, 1]."""

    seq: int
    likeness: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a turn was or was not flagged.

    Attributes:
        place: Its position in the file, first turn 0.
        result: What followed from it.
        since: Position of the first remembered turn.
        began: Why memory begins there.
        step: What the engine read, for an answer with its call; None if somebody spoke.
        steps: The remembered steps, oldest first, including this turn's.
        weights: What each of them does to the stuck score.
        score: The stuck score, in [0, 1).
        findings: Every rule of the policy, in its order.
        verdict: The local judge's ruling on a trip, if it was asked.
    """

    run: str
    place: int
    result: Result
    since: int
    began: str
    assessment: Assessment
    step: Step | None = None
    nearest: Nearest | None = None
    steps: tuple[Step, ...] = ()
    weights: tuple[Weight, ...] = ()
    score: float = 0.0
    findings: tuple[Finding, ...] = ()
    verdict: Verdict | None = None


def explain(
    recording: Recording, place: int | None = None, policy: Policy = DEFAULT_POLICY
) -> Explanation | None:
    """Explain the turn at a place; None: there is no such readable turn.

    Without a place, explain the first alarm, or the turn that came nearest to one.
    """
    wanted = find_telling(recording, policy) if place is None else place
    found = next((one for one in _rate(recording, policy) if one[0].place == wanted), None)
    if found is None:
        return None
    bare, witness = found
    view, step = witness.view, witness.step
    # A person's words are not a step, so there is nothing that rules could have seen.
    if view is None or step is None:
        return bare
    steps = view.history.steps
    # The latest of the most similar: a reader who scrolls back finds it first.
    others = [old for old in steps if old.seq != step.seq and old.is_call == step.is_call]
    alike = [(step.similarity(old), old.seq) for old in others]
    likeness, seq = max(alike, default=(0.0, None))
    return replace(
        bare,
        step=step,
        nearest=None if seq is None else Nearest(seq=seq, likeness=round(likeness, 2)),
        steps=tuple(steps),
        weights=tuple(view.history.weights),
        score=bare.assessment.stuck,
        findings=tuple(witness.findings(view)),
    )


def find_telling(recording: Recording, policy: Policy = DEFAULT_POLICY) -> int | None:
    """Return the place of the first alarm, else of the highest score, the latest if several."""
    best: tuple[float, int] | None = None
    for one, _ in _rate(recording, policy):
        if one.result is Result.ALARM:
            return one.place
        score = max((signal.score for signal in one.assessment.signals), default=0.0)
        # The latest of equals, since it has all the evidence of the earlier ones.
        if best is None or score >= best[0]:
            best = score, one.place
    return None if best is None else best[1]


class _Witness(PolicyDetectors):
    """Keeps what the detectors saw last."""

    view: View | None = None
    rules: tuple[Rule, ...] = ()

    # The view is the engine's own and changes with the next turn: it is kept, not copied.
    def examine(self, view: View, turn: Turn) -> Iterator[Signal]:
        self.view, self.rules = view, tuple(self.rules_of(turn.tool, turn.agent))
        return super().examine(view, turn)

    def findings(self, view: View) -> Iterator[Finding]:
        """Ask each rule again what it says of a view."""
        for detector, escalation in self.rules:
            found, signal = detector.examine(view), None
            # A signal that rests only on earlier turns belongs to those.
            if found is not None and view.seq in found.turns:
                signal = found.with_severity(escalation.severity_of(found), first=found.first)
            yield Finding(detector=detector.name, signal=signal)

    @property
    def step(self) -> Step | None:
        """What was read in the turn, for an answer with its call; None: a person's words."""
        if self.view is None:
            return None
        return next((step for step in self.view.history.steps if step.seq == self.view.seq), None)


class _Watched(Engine):
    """An engine whose detectors can be asked what they saw."""

    def __init__(self, policy: Policy) -> None:
        # With suspicions, which the engine leaves out if there is no model to ask.
        super().__init__(policy, suspects=True)
        self._detectors = self.witness = _Witness(policy)


def _rate(recording: Recording, policy: Policy) -> Iterator[tuple[Explanation, _Witness]]:
    """Yield what followed from each turn; the witness's view is valid until the next one."""
    judge = RunJudge(policy, workspace=recording.workspace, goal=recording.goal)
    engine = _Watched(policy)
    since, began = 0, "the run began"
    for moment in replay_turns(recording, engine, judge):
        turn, afterwards = moment.turn, moment.position + 1
        # A machine that answers or refuses an agent may have this role too: its turn ends an
        # attempt.
        is_said = turn.role in {Role.USER, Role.SYSTEM}
        is_spoken_to = is_said and engine.witness.view is None
        if is_spoken_to and turn.role is Role.USER:
            since, began = afterwards, "a person spoke"
        if is_spoken_to:
            result = Result.SPOKEN_TO
        elif moment.assessment.trip is None:
            result = Result.NUDGE if moment.assessment.signals else Result.QUIET
        elif moment.was_open:
            result = Result.OPEN
        else:
            result = Result.DISMISSED if moment.dismissed else Result.ALARM
        bare = Explanation(
            run=recording.run,
            place=moment.position,
            result=result,
            since=since,
            began=began,
            assessment=moment.assessment,
            verdict=moment.verdict,
        )
        yield bare, engine.witness
        engine.witness.view = None
        if moment.closes:
            since, began = afterwards, "the agent got on, and its card closed"
        elif moment.dismissed:
            since, began = afterwards, "the judge let the agent go"
