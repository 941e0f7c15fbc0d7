"""What counts as a loop, and what is done about one."""

from __future__ import annotations

from guard.policy.allowing import AllowPattern, is_allowed
from guard.policy.core import DEFAULT_POLICY, Policy
from guard.policy.deciding import Response, decide
from guard.policy.sections import (
    DETECTOR_NAMES,
    ExactRepeat,
    JudgeRule,
    PingPong,
    SemanticRepeat,
)

__all__ = [
    "DEFAULT_POLICY",
    "DETECTOR_NAMES",
    "AllowPattern",
    "ExactRepeat",
    "JudgeRule",
    "PingPong",
    "Policy",
    "Response",
    "SemanticRepeat",
    "decide",
    "is_allowed",
]
