"""What counts as a loop, and what is done about one."""

from __future__ import annotations

from guard.policy.deciding import (
    Action,
    AllowPattern,
    Card,
    Control,
    Effect,
    RunState,
    decide,
    is_allowed,
)
from guard.policy.document import (
    DEFAULT_POLICY,
    DETECTOR_NAMES,
    Errors,
    JudgeRule,
    Policy,
    Repeat,
    Stagnation,
    Talk,
    schema,
)

__all__ = [
    "DEFAULT_POLICY",
    "DETECTOR_NAMES",
    "Action",
    "AllowPattern",
    "Card",
    "Control",
    "Effect",
    "Errors",
    "JudgeRule",
    "Policy",
    "Repeat",
    "RunState",
    "Stagnation",
    "Talk",
    "decide",
    "is_allowed",
    "schema",
]
