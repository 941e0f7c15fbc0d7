"""A judge in the same process for one run, which rules on trips and a few suspicions.

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

# Enough to see where a loop begins; every further turn makes each question dearer.
HISTORY_TURNS = 24


class RunJudge:
    """Rules on one run; the local judge stands in for a model that fails.

    Args:
        policy: Says whether trips are judged, and when suspicions are.
        judge: A model; None: only the local judge, which has no opinion on
            suspicions.
        workspace: The files that exist.
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
        self.fallback_rulings = 0

    @property
    def has_model(self) -> bool:
        """There is a model to ask about what no rule can tell."""
        return self._judge is not None

    @property
    def cost_usd(self) -> Decimal | None:
        """What asking cost; None: at least one call has no price."""
        costs = [call.cost_usd for call in self.calls]
        known = [cost for cost in costs if cost is not None]
        return sum(known, Decimal(0)) if len(known) == len(costs) else None

    def rule_on(self, trip: Signal, seen: Mapping[int, Turn]) -> Verdict | None:
        """Rule on a trip; None: this policy does not have trips judged."""
        if not self._judged:
            return None
        case = self._make_case(trip, seen)
        if self._judge is None:
            return rule(case)
        ruling = self._judge.ask(case)
        self.calls += ruling.calls
        # If the model does not answer, the local judge rules at once: the loop must not go on.
        self.fallback_rulings += ruling.verdict is None
        return ruling.verdict or rule(case)

    def confirms_suspicion(self, suspicion: Signal, seen: Mapping[int, Turn], *, at: int) -> bool:
        """Ask a model, at most once in `every` turns, whether a suspicion is surely a loop."""
        is_due = self._asked_at is None or at - self._asked_at >= self._rule.every
        if self._judge is None or not is_due:
            return False
        # Before the answer, so that a model that fails is not asked at every turn.
        self._asked_at = at
        ruling = self._judge.ask(self._make_case(suspicion, seen))
        self.calls += ruling.calls
        verdict = ruling.verdict
        return verdict is not None and verdict.loop and verdict.confidence >= self._rule.confidence

    def _make_case(self, signal: Signal, seen: Mapping[int, Turn]) -> Case:
        numbers = list(seen)[-HISTORY_TURNS:]
        # A person's last request outweighs the goal that the run began with.
        orders = (turn.content for turn in reversed([*seen.values()]) if turn.role is Role.USER)
        return Case(
            signal=signal,
            turns=tuple(replace(seen[seq], seq=seq) for seq in signal.turns if seq in seen),
            history=tuple(replace(seen[seq], seq=seq) for seq in numbers),
            workspace=self._workspace,
            goal=self._goal,
            order=next(orders, None),
        )
