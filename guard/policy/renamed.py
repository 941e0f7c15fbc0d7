"""Policies as they were written before there were five rules, in today's words.

Databases keep them: of projects, of runs, of every version that stays readable.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The registry's names, spelled here because the rules import this package.
DEFAULT_DETECTORS = ("budget", "repeat", "errors", "stagnation", "talk", "stall")
CONTRIB = ("broker", "fingerprint", "ralph", "loopguard")
FITTED_AT = 0.8
"""The stuck score at which people are asked where its weights were fitted."""
_EVIDENCE = 5.0
"""What `stall.evidence` was where people were asked from `FITTED_AT`."""
_OLD = tomllib.loads(Path(__file__).with_name("renamed.toml").read_text("utf-8"))


def renewed(mapping: Any) -> Any:
    """Give a policy, or a table of one, in today's words; what it says in them wins."""
    if not isinstance(mapping, Mapping):
        return mapping
    new = {name: _today(name, value) for name, value in mapping.items()}
    for name, value in mapping.items():
        if name in CONTRIB:
            _move(new.pop(name), f"contrib.{name}", new)
        elif name in _OLD["fields"] and isinstance(value, Mapping):
            for field, one in new.pop(name).items():
                # One that never was stays where it is, and is told as unknown.
                _move(one, _OLD["fields"][name].get(field, f"{name}.{field}"), new)
    return new


def _today(name: str, value: Any) -> Any:
    match name, value:
        case "detectors", [*names] if all(isinstance(one, str) for one in names):
            order = (*DEFAULT_DETECTORS, *names)
            return sorted(_renamed(dict.fromkeys(names)), key=order.index)
        case "ladder", Mapping():
            return _renamed(value)
        case "task_type" | "tool" | "agent", Mapping():
            return {key: renewed(table) for key, table in value.items()}
        case _, Mapping():
            return dict(value)  # ours to change
    return value


def _renamed(detectors: Mapping[str, Any]) -> dict[str, Any]:
    new: dict[str, Any] = {}
    for name, value in detectors.items():
        if today := _OLD["detectors"].get(name, name):
            new.setdefault(today, value)
    return new


def _move(value: Any, path: str, new: dict[str, Any]) -> None:
    if path == "sensitivity" and isinstance(value, int | float):
        score = 1.0 - (1.0 - FITTED_AT) ** (min(max(value, 0), 100) / _EVIDENCE)
        value = min(0.99, max(0.5, round(score, 3)))
    # At the first dot: an unknown field may have one in its own name.
    section, _, field = path.partition(".") if "." in path else ("", "", path)
    table = new.setdefault(section, {}) if section else new
    if field and isinstance(table, dict):
        table.setdefault(field, value)
