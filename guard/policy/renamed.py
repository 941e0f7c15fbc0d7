"""Policies as they were written before there were five rules, in today's words.

Databases keep them: of projects, of runs, of every version that stays readable.
"""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

# The registry's names, spelled here because the rules import this package.
DEFAULT_DETECTORS = ("budget", "repeat", "errors", "stagnation", "talk", "stall")
CONTRIB = ("broker", "fingerprint", "ralph", "loopguard")
SCOPES = ("task_type", "tool", "agent")
FITTED_AT = 0.8
"""The stuck score at which people are asked where its weights were fitted."""
_EVIDENCE = 5.0
"""What `stall.evidence` was where people were asked from `FITTED_AT`."""
_OLD = tomllib.loads(Path(__file__).with_name("renamed.toml").read_text("utf-8"))


def renewed(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Give a policy, or a table of one, in today's words; what it says in them wins."""
    new: dict[str, Any] = {}
    moved: dict[str, Any] = {}
    for name, value in mapping.items():
        if name in CONTRIB:
            moved[f"contrib.{name}"] = value
        elif name in _OLD["fields"] and isinstance(value, Mapping):
            today = _OLD["fields"][name]  # one that never was is told as unknown
            moved |= {today.get(field, f"{name}.{field}"): one for field, one in value.items()}
        else:
            new[name] = _today(name, value)
    level = moved.pop("sensitivity", None)
    if isinstance(level, int | float):
        score = 1.0 - (1.0 - FITTED_AT) ** (min(max(level, 0), 100) / _EVIDENCE)
        new.setdefault("sensitivity", min(0.99, max(0.5, round(score, 3))))
    for path, value in moved.items():
        section, _, field = path.partition(".")
        if section and isinstance(table := new.setdefault(section, {}), dict):
            table.setdefault(field, value)
    return new


def _today(name: str, value: Any) -> Any:
    is_list = isinstance(value, list | tuple) and all(isinstance(one, Hashable) for one in value)
    if name == "detectors" and is_list:
        order = (*DEFAULT_DETECTORS, *value)
        return sorted(_renamed(dict.fromkeys(value)), key=order.index)
    if not isinstance(value, Mapping):
        return value
    tables = {key: renewed(one) for key, one in value.items() if isinstance(one, Mapping)}
    if name in SCOPES:
        return {**value, **tables}
    return _renamed(value) if name == "ladder" else dict(value)


def _renamed(detectors: Mapping[str, Any]) -> dict[str, Any]:
    new: dict[str, Any] = {}
    for name, value in detectors.items():
        if today := _OLD["detectors"].get(name, name):
            new.setdefault(today, value)
    return new
