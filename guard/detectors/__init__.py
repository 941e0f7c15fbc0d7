"""The rules, by name. The order breaks ties between equal scores.

A spent budget comes first: no correction and no allowlist entry makes money. The
rules of other systems (`guard.contrib`) are imported where a policy names one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module

from guard.detectors.base import Detector, View
from guard.detectors.budget import BudgetCeiling
from guard.detectors.errors import Errors
from guard.detectors.repeat import Repeat
from guard.detectors.stagnation import Stagnation
from guard.detectors.stall import Stall
from guard.detectors.talk import Talk
from guard.nature import ToolNature
from guard.policy import DETECTOR_NAMES, EscalationRule, Policy
from guard.signals import Kind, Severity, Signal
from guard.turn import Turn

_KEPT = 500  # pairs of tool and agent whose policy is remembered; a run has few

_OURS: tuple[type[Detector], ...] = (BudgetCeiling, Repeat, Errors, Stagnation, Talk, Stall)
DETECTORS = {rule.name: rule for rule in _OURS}


def detector_named(name: str) -> type[Detector]:
    """Return a rule by the name that a policy has for it."""
    return DETECTORS.get(name) or import_module(f"guard.contrib.{name}").DETECTOR


# A detector, and how its signals escalate.
Rule = tuple[Detector, EscalationRule]


class PolicyDetectors:
    """Every detector a policy names; tools and agents may have their own.

    It remembers of each detector the turns it last spoke of, to tell the first
    signal of a streak from the next: two entries for each detector and severity.
    """

    def __init__(self, policy: Policy) -> None:
        everyone = _rules(policy)

        @lru_cache(_KEPT)
        def rules_of(tool: str | None, agent: str | None) -> list[Rule]:
            scoped = policy.for_step(tool=tool, agent=agent)
            return everyone if scoped is policy else _rules(scoped)

        self.rules_of = rules_of
        # Tables of a tool or an agent may name other detectors.
        reads = any(detector.reads_verbatim for detector, _ in everyone)
        self.reads_verbatim = reads or bool(policy.tool or policy.agent)
        self._declared = lru_cache(_KEPT)(policy.nature_of)
        # What was last said of a matter: on which turns, and at which look.
        self._last: dict[tuple[str, Severity, bool], tuple[tuple[int, ...], int]] = {}
        self._looks = 0

    def nature_of(self, turn: Turn) -> ToolNature | None:
        """Return what the turn, then the policy, says of its tool; None: nothing."""
        declared = self._declared(turn.tool)
        return turn.nature.over(declared) if turn.nature else declared

    def examine(self, view: View, turn: Turn) -> Iterator[Signal]:
        """Have each detector look; its signals get their severity.

        The first of a streak there is told from those that follow. Several detectors
        near their limits on the same turns are one matter: the agent is told once.
        A trip is each detector's own.
        """
        self._looks += 1
        for detector, escalation in self.rules_of(turn.tool, turn.agent):
            signal = detector.examine(view)
            # A completion may arrive after later turns: what they show was said then.
            if signal is None or view.seq not in signal.turns:
                continue
            severity, is_sure = escalation.severity_of(signal), signal.score >= 1.0
            first = signal.first
            if is_sure or severity <= Severity.NUDGE:
                whose = signal.detector if is_sure or signal.kind is Kind.BUDGET else ""
                matter = whose, severity, is_sure
                turns, look = self._last.get(matter, ((), -1))
                self._last[matter] = signal.turns, self._looks
                # It goes on: without a pause, or on some of the same turns.
                again = self._looks - look <= 1 or not set(signal.turns).isdisjoint(turns)
                first = first and not again
            yield signal.on(severity, first=first)

    def forget(self) -> None:
        """Start every streak afresh."""
        self._last.clear()


def _rules(policy: Policy) -> list[Rule]:
    named = [name for name in DETECTOR_NAMES if name in policy.detectors]
    return [(detector_named(name)(policy), policy.escalation_of(name)) for name in named]
