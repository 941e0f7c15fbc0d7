"""Policies as they were written before there were five rules, in today's words.

Databases keep them: of projects, of runs, of every version that stays readable.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# The registry's names, spelled here because the rules import this package.
DEFAULT_DETECTORS = ("budget", "repeat", "errors", "stagnation", "talk", "stall")
CONTRIB = ("broker", "fingerprint", "ralph", "loopguard")
SCOPES = ("task_type", "tool", "agent")
FITTED_AT = 0.8  # the stuck score at which people are asked where its weights were fitted
_EVIDENCE = 5.0  # what `stall.evidence` was where people were asked from `FITTED_AT`
_OLD = tomllib.loads(Path(__file__).with_name("renamed.toml").read_text("utf-8"))


def renewed(policy: Any) -> Any:
    """Give a policy, or a table of one, in today's words; what it says in them wins."""
    if not isinstance(policy, Mapping):
        return policy
    new = {name: dict(one) if isinstance(one, Mapping) else one for name, one in policy.items()}
    tables = {name: table for name, table in new.items() if isinstance(table, dict)}
    for name in tables.keys() & SCOPES:
        new[name] = {key: renewed(table) for key, table in tables[name].items()}
    if isinstance(evidence := tables.get("stall", {}).get("evidence"), int | float):
        score = 1.0 - (1.0 - FITTED_AT) ** (min(max(evidence, 0), 100) / _EVIDENCE)
        tables["stall"]["evidence"] = min(0.99, max(0.5, round(score, 3)))
    for name in [one for one in tables if one in _OLD]:
        for field in [one for one in tables[name] if one in _OLD[name]]:
            _put(new, _OLD[name][field], tables[name].pop(field))
        if not tables[name]:  # a field that never was stays, and is told as unknown
            del new[name]
    for name in [one for one in new if one in CONTRIB]:
        _put(new, ("contrib", name), new.pop(name))
    names = new.get("detectors")
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        today = {one for name in names for one in _OLD["ladder"].get(name, [name])[-1:]}
        new["detectors"] = sorted(today, key=(*DEFAULT_DETECTORS, *names).index)
    return new


def _put(policy: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set what is not said yet; an empty path: it is no longer asked for."""
    for section in path[:-1]:
        policy = policy.setdefault(section, {})
    if path and isinstance(policy, dict):  # else it is no table, and told so
        policy.setdefault(path[-1], value)
