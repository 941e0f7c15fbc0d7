"""Policies by name: how patient to be, and the rules of other systems.

`balanced` is the default. `quiet` asks later and of fewer things, for agents that
must not be disturbed. `watchful` asks from a lower stuck score, tells the agent before
it asks a person, and ends what goes on regardless.
"""

from __future__ import annotations

from decimal import Decimal

from guard.budget import Budget
from guard.policy import (
    DEFAULT_POLICY,
    Errors,
    EscalationRule,
    Policy,
    Repeat,
    Stagnation,
    Talk,
)

PRESETS = {
    "default": DEFAULT_POLICY,
    "quiet": Policy(
        sensitivity=0.9,
        repeat=Repeat(calls=4, without_results=6, polls=12, rounds=3, cycles=4),
        errors=Errors(same=7, near=6, variants=10, refused=6),
        stagnation=Stagnation(questions=8, near=7, known=10),
        talk=Talk(messages=5, rounds=4),
    ),
    "balanced": DEFAULT_POLICY,
    "watchful": Policy(
        sensitivity=0.65,
        ladder={"every": EscalationRule(nudge="tell", stop_at=12)},
    ),
    "broker": Policy(detectors=("broker",), judged=False),
    "fingerprint": Policy(detectors=("fingerprint",), judged=False),
    "ralph": Policy(
        detectors=("ralph",),
        budget=Budget(turns=100, seconds=4 * 3600, usd=Decimal(10), failures=5),
        judged=False,
    ),
    "loopguard": Policy(detectors=("budget", "loopguard"), budget=Budget(calls=30, usd=Decimal(1))),
}
_OLD_NAMES = {"conservative": "quiet", "strict": "watchful"}


def find_preset(name: str) -> Policy | None:
    """Give a policy by its name, or by the one it had before.

    >>> find_preset("strict") is PRESETS["watchful"]
    True
    """
    return PRESETS.get(_OLD_NAMES.get(name, name))
