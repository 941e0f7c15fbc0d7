"""What a judge is given, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from guard.signals import Signal
from guard.turn import Turn, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One trip or one suspicion, presented to a judge.

    Attributes:
        signal: The trip or the suspicion.
        turns: The turns it rests on, oldest first.
        history: The last turns of the run, oldest first, as context for a judge that
            reads. May overlap `turns`.
        workspace: Paths of the files that exist, relative to the project.
        goal: What the run is for, if known.
        order: The last message in the user's name.
    """

    signal: Signal
    turns: tuple[Turn, ...]
    history: tuple[Turn, ...] = ()
    workspace: tuple[str, ...] = ()
    goal: str | None = None
    order: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's ruling.

    Attributes:
        judge: Who ruled: "local", or a model's name.
        loop: False lets the agent go.
        confidence: In [0, 1].
        reason: One or two sentences for the person.
        fix: What to tell the agent, or None.
    """

    judge: str
    loop: bool
    # As the judge states it: a model's own estimate, only compared with the policy's threshold.
    confidence: float
    reason: str
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One model call for a question, whether or not its answer was useful.

    Attributes:
        model: The model that answered, as the endpoint names it.
        usage: Tokens; all zero if the endpoint did not report them.
        cost_usd: The endpoint's own figure, else by the price list; None: unpriced.
    """

    model: str
    usage: Usage
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The result of asking a judge.

    Attributes:
        asked: Who was asked: "local", or a model's name.
        verdict: The answer; None: there was no usable one.
        failure: Why there is no verdict, in a few words.
        calls: The model calls for it, oldest first.
    """

    asked: str
    verdict: Verdict | None
    failure: str | None = None
    calls: tuple[JudgeCall, ...] = ()


# A protocol, so that tests and benchmarks can use an oracle instead.
class Judge(Protocol):
    """Anything that can be asked. It never raises: a failure is a ruling without a verdict."""

    @property
    def name(self) -> str: ...

    def ask(self, case: Case) -> Ruling: ...
