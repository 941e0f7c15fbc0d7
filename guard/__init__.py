"""The engine that notices stuck agents, and the SDK that lives inside them.

>>> from guard import Engine, Role, Turn
>>> Engine().observe(Turn(role=Role.ASSISTANT, content="Hello")).signals
()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guard.budget import Budget, Spent
    from guard.engine import Correction, Engine
    from guard.errors import GuardError, PolicyInvalid, Stopped
    from guard.nature import Retry, ToolNature
    from guard.policy import DEFAULT_POLICY, Policy
    from guard.sdk.aio import AsyncSession
    from guard.sdk.conversation import Go
    from guard.sdk.session import Session
    from guard.sdk.watch import watch
    from guard.signals import Assessment, Evidence, Kind, Signal
    from guard.turn import ActionClass, Phase, Role, Turn, Usage
    from guard.wire import Escalation

# Module -> names, loaded on first use: a hook that runs before every tool call pays only for what
# it uses.
_BY_MODULE: dict[str, tuple[str, ...]] = {
    "guard.budget": ("Budget", "Spent"),
    "guard.engine": ("Correction", "Engine"),
    "guard.errors": ("GuardError", "PolicyInvalid", "Stopped"),
    "guard.nature": ("Retry", "ToolNature"),
    "guard.policy": ("DEFAULT_POLICY", "Policy"),
    "guard.sdk.aio": ("AsyncSession",),
    "guard.sdk.conversation": ("Go",),
    "guard.sdk.session": ("Session",),
    "guard.sdk.watch": ("watch",),
    "guard.signals": ("Assessment", "Evidence", "Kind", "Signal"),
    "guard.turn": ("ActionClass", "Phase", "Role", "Turn", "Usage"),
    "guard.wire": ("Escalation",),
}
_LAZY = {name: module for module, names in _BY_MODULE.items() for name in names}

__all__ = [
    "DEFAULT_POLICY",
    "ActionClass",
    "Assessment",
    "AsyncSession",
    "Budget",
    "Correction",
    "Engine",
    "Escalation",
    "Evidence",
    "Go",
    "GuardError",
    "Kind",
    "Phase",
    "Policy",
    "PolicyInvalid",
    "Retry",
    "Role",
    "Session",
    "Signal",
    "Spent",
    "Stopped",
    "ToolNature",
    "Turn",
    "Usage",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'guard' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
