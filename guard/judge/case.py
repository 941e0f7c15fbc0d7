"""What a judge is told, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from guard.signals import Signal
from guard.turn import Turn, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One trip, or one suspicion, put before a judge.

    Attributes:
        signal: What tripped, or what is suspected.
        turns: The turns it rests on, oldest first.
        history: The last turns of the run, oldest first; a judge that reads
            gets them as context. May overlap `turns`.
        workspace: Paths of the files that exist, relative to the project.
        goal: What the run is for, where someone said.
        order: What was last said in the user's name.
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
    # As the judge says it: a model's is its own feeling, and only held against the policy's
    # line.
    confidence: float
    reason: str
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One model call that a question cost, whether or not it was of use.

    Attributes:
        model: Who answered, as the endpoint names it.
        usage: Tokens; all zero where the endpoint did not say.
        cost_usd: The endpoint's own figure, else the price list's; None: unpriced.
    """

    model: str
    usage: Usage
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What asking a judge came to.

    Attributes:
        asked: Who was asked: "local", or a model's name.
        verdict: The answer; None: it gave none that can be used.
        failure: Why there is none, in a few words.
        calls: What it cost to ask, oldest first.
    """

    asked: str
    verdict: Verdict | None
    failure: str | None = None
    calls: tuple[JudgeCall, ...] = ()


# A protocol, so that tests and the bench put an oracle in its place.
class Judge(Protocol):
    """Whoever can be asked. Never raises: a failure is a ruling without verdict."""

    @property
    def name(self) -> str: ...

    def ask(self, case: Case) -> Ruling: ...
