"""Policies by name: how patient to be, and the rules of other systems.

`balanced` is the default. `conservative` asks later and of fewer things, for
agents that must not be disturbed. `strict` asks earlier where that cost no false
alarm on the corpus, tells the agent before it asks a person, and ends what goes on
regardless. Both are steps from the default, and move with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from guard.budget import Budget
from guard.policy import DEFAULT_POLICY, Policy
from guard.policy.ladder import Nudge, Rungs

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Section = TypeVar("Section", bound="DataclassInstance")


def _shifted(section: Section, **by: float) -> Section:
    """Give a section with some thresholds moved from the default."""
    moved = {name: round(getattr(section, name) + step, 3) for name, step in by.items()}
    return replace(section, **moved)


def _all_shifted(**sections: Mapping[str, float]) -> dict[str, Any]:
    return {name: _shifted(getattr(DEFAULT_POLICY, name), **by) for name, by in sections.items()}


CONSERVATIVE = Policy(
    **_all_shifted(
        exact_repeat={"repeats": 1, "without_results": 2, "polls": 4},
        semantic_repeat={"window": 1, "acts": 1, "threshold": 0.06},
        ping_pong={"rounds": 1, "without_results": 2, "threshold": 0.06},
        k_cycle={"rounds": 1},
        same_error={"in_a_row": 2, "near": 2, "variants": 3, "refusals": 2},
        recurrence={"repeats": 1, "refused": 2},
        stagnation={"questions": 2, "near": 2, "known": 2},
        monologue={"messages": 1},
        hand_offs={"rounds": 1},
        reverification={"checks": 2},
        stall={"evidence": 2},
    )
)

STRICT = Policy(
    ladder={"every": Rungs(nudge=Nudge.TELL, stop_at=12)},
    **_all_shifted(
        exact_repeat={"without_results": -1, "polls": -2},
        semantic_repeat={"threshold": -0.02},
        ping_pong={"without_results": -1, "threshold": -0.02},
        recurrence={"refused": -1},
        stagnation={"questions": -1, "near": -1, "known": -1},
        monologue={"messages": -1},
        reverification={"checks": -1},
    ),
)

BROKER = Policy(detectors=("broker",), judged=False)
FINGERPRINT = Policy(detectors=("fingerprint",), judged=False)
RALPH = Policy(
    detectors=("ralph",),
    budget=Budget(turns=100, seconds=4 * 3600, usd=Decimal(10), failures=5),
    judged=False,
)
LOOPGUARD = Policy(detectors=("budget", "loopguard"), budget=Budget(calls=30, usd=Decimal(1)))

PRESETS: dict[str, Policy] = {
    "default": DEFAULT_POLICY,
    "balanced": DEFAULT_POLICY,
    "conservative": CONSERVATIVE,
    "strict": STRICT,
    "broker": BROKER,
    "fingerprint": FINGERPRINT,
    "ralph": RALPH,
    "loopguard": LOOPGUARD,
}
