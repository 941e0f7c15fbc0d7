"""The second layer: it is asked after a trip or on a suspicion, and it decides."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from guard.judge.case import Case, Judge, JudgeCall, Ruling, Verdict

if TYPE_CHECKING:
    from guard.judge.llm import JudgeModel, LLMJudge

__all__ = ["Case", "Judge", "JudgeCall", "JudgeModel", "LLMJudge", "Ruling", "Verdict"]

_LAZY = ("JudgeModel", "LLMJudge")


def __getattr__(name: str) -> Any:
    """Import the model's judge on first use, because it imports HTTP and TLS."""
    if name not in _LAZY:
        raise AttributeError(f"module 'guard.judge' has no attribute {name!r}")
    return getattr(importlib.import_module("guard.judge.llm"), name)
