"""A judge in the same process, for one run: trips, and a few suspicions, come before it.

The server does the same with tasks and rows (`missioncontrol.detection.judging`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from guard.judge.case import Case, Judge, JudgeCall, Verdict
from guard.judge.heuristics import rule
from guard.policy import Policy
from guard.signals import Signal
from guard.turn import Role, Turn

# Enough to see where a loop begins; each more is paid for with every question.
HISTORY_TURNS = 24


class RunJudge:
    """Rules on one run; the local judge stands in for a model that fails.

    Args:
        policy: Says whether trips are judged and when a suspicion is.
        judge: A model; None: the local judge alone, which has no opinion on
            suspicions.
        workspace: Files that exist.
        goal: What the run is for.
    """

    def __init__(
        self,
        policy: Policy,
        judge: Judge | None = None,
        *,
        workspace: tuple[str, ...] = (),
        goal: str | None = None,
    ) -> None:
        self._judged = policy.judged
        self._rule = policy.judge
        self._judge = judge
        self._workspace = workspace
        self._goal = goal
        self._asked_at: int | None = None
        self.calls: list[JudgeCall] = []
        self.stand_ins = 0

    @property
    def hears_suspicions(self) -> bool:
        """There is a model to ask about what no rule can tell."""
        return self._judge is not None

    @property
    def cost_usd(self) -> Decimal | None:
        """What asking cost; None: a call has no price."""
        costs = [call.cost_usd for call in self.calls]
        known = [cost for cost in costs if cost is not None]
        return sum(known, Decimal(0)) if len(known) == len(costs) else None

    def rules(self, trip: Signal, seen: Mapping[int, Turn]) -> Verdict | None:
        """Rule on a trip; None: this policy's trips come before no judge."""
        if not self._judged:
            return None
        case = self._case(trip, seen)
        if self._judge is None:
            return rule(case)
        ruling = self._judge.ask(case)
        self.calls += ruling.calls
        # A model that is away must not let a loop run on: the local one rules at once.
        self.stand_ins += ruling.verdict is None
        return ruling.verdict or rule(case)

    def confirms(self, suspicion: Signal, seen: Mapping[int, Turn], *, at: int) -> bool:
        """Return whether a suspicion is a loop for sure; asks a model, and seldom."""
        is_due = self._asked_at is None or at - self._asked_at >= self._rule.every
        if self._judge is None or not is_due:
            return False
        # Before it answers: a model that fails is not asked at every turn either.
        self._asked_at = at
        ruling = self._judge.ask(self._case(suspicion, seen))
        self.calls += ruling.calls
        verdict = ruling.verdict
        return verdict is not None and verdict.loop and verdict.confidence >= self._rule.confidence

    def _case(self, signal: Signal, seen: Mapping[int, Turn]) -> Case:
        numbers = list(seen)[-HISTORY_TURNS:]
        # The last thing that a person asked for outweighs the goal that the run began with.
        orders = (turn.content for turn in reversed([*seen.values()]) if turn.role is Role.USER)
        return Case(
            signal=signal,
            turns=tuple(replace(seen[seq], seq=seq) for seq in signal.turns if seq in seen),
            history=tuple(replace(seen[seq], seq=seq) for seq in numbers),
            workspace=self._workspace,
            goal=self._goal,
            order=next(orders, None),
        )
