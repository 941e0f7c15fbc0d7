"""The rules by name; their order breaks ties between equal scores.

A spent budget comes first: no correction or allowlist entry can restore it. The
rules of other systems (`guard.contrib`) are imported only where a policy names one.
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

_MAX_CACHED = 500  # pairs of tool and agent whose rules are cached; a run has few

_BUILT_IN: tuple[type[Detector], ...] = (BudgetCeiling, Repeat, Errors, Stagnation, Talk, Stall)
DETECTORS = {rule.name: rule for rule in _BUILT_IN}


def detector_named(name: str) -> type[Detector]:
    """Return the rule that a policy calls by this name."""
    return DETECTORS.get(name) or import_module(f"guard.contrib.{name}").DETECTOR


# A detector and how its signals escalate.
Rule = tuple[Detector, EscalationRule]


class PolicyDetectors:
    """All detectors that a policy names; tools and agents may have their own.

    For each detector and severity, it remembers the turns of the last signal (two
    entries), to distinguish the first signal of a streak from later ones.
    """

    def __init__(self, policy: Policy) -> None:
        everyone = _rules_of(policy)

        @lru_cache(_MAX_CACHED)
        def rules_of(tool: str | None, agent: str | None) -> list[Rule]:
            scoped = policy.for_step(tool=tool, agent=agent)
            return everyone if scoped is policy else _rules_of(scoped)

        self.rules_of = rules_of
        # The tables of a tool or an agent may name other detectors.
        reads = any(detector.reads_raw for detector, _ in everyone)
        self.reads_raw = reads or bool(policy.tool or policy.agent)
        self._declared = lru_cache(_MAX_CACHED)(policy.nature_of)
        # The last signal of each matter: its turns, and the count of `examine` calls then.
        self._last: dict[tuple[str, Severity, bool], tuple[tuple[int, ...], int]] = {}
        self._examined = 0

    def nature_of(self, turn: Turn) -> ToolNature | None:
        """Return what the turn, or else the policy, declares about its tool; None: nothing."""
        declared = self._declared(turn.tool)
        return turn.nature.with_defaults(declared) if turn.nature else declared

    def examine(self, view: View, turn: Turn) -> Iterator[Signal]:
        """Let each detector look, and yield its signal with its severity.

        The first signal of a streak is marked. Several detectors near their limits on the same
        turns are one matter, so that the agent is told once. A trip belongs to each detector alone.
        """
        self._examined += 1
        for detector, escalation in self.rules_of(turn.tool, turn.agent):
            signal = detector.examine(view)
            # A completion may arrive after later turns, which have been reported already.
            if signal is None or view.seq not in signal.turns:
                continue
            severity, is_sure = escalation.severity_of(signal), signal.score >= 1.0
            first = signal.first
            if is_sure or severity <= Severity.NUDGE:
                whose = signal.detector if is_sure or signal.kind is Kind.BUDGET else ""
                matter = whose, severity, is_sure
                turns, examined = self._last.get(matter, ((), -1))
                self._last[matter] = signal.turns, self._examined
                # The streak goes on: at the next look, or on some of the same turns.
                is_next = self._examined - examined <= 1
                first = first and not is_next and set(signal.turns).isdisjoint(turns)
            yield signal.with_severity(severity, first=first)

    def reset(self) -> None:
        """Start every streak afresh."""
        self._last.clear()


def _rules_of(policy: Policy) -> list[Rule]:
    named = [name for name in DETECTOR_NAMES if name in policy.detectors]
    return [(detector_named(name)(policy), policy.escalation_of(name)) for name in named]
