"""Policies by name: how patient to be, and the rules of other systems.

`balanced` is the default. `quiet` asks later and of fewer things, for agents that
must not be disturbed. `watchful` asks earlier, tells the agent before it asks a person,
and ends what goes on regardless.
"""

from __future__ import annotations

from typing import Any

from guard.policy import Policy

_TABLES: dict[str, dict[str, Any]] = {
    "default": {},
    "quiet": {
        "sensitivity": 0.9,
        "repeat": {"calls": 4, "without_results": 6, "polls": 12, "rounds": 3, "cycles": 4},
        "errors": {"same": 7, "near": 6, "variants": 10, "refused": 6},
        "stagnation": {"questions": 8, "near": 7, "known": 10},
        "talk": {"messages": 5, "rounds": 4},
    },
    "balanced": {},
    "watchful": {
        "sensitivity": 0.7,
        "errors": {"same": 4, "near": 3, "variants": 5, "refused": 3},
        "stagnation": {"questions": 4, "near": 4, "known": 6},
        "ladder": {"every": {"nudge": "tell", "stop_at": 12}},
    },
    "broker": {"detectors": ["broker"], "judged": False},
    "fingerprint": {"detectors": ["fingerprint"], "judged": False},
    "ralph": {
        "detectors": ["ralph"],
        "budget": {"turns": 100, "seconds": 4 * 3600, "usd": 10, "failures": 5},
        "judged": False,
    },
    "loopguard": {"detectors": ["budget", "loopguard"], "budget": {"calls": 30, "usd": 1}},
}
PRESETS = {name: Policy.from_mapping(table) for name, table in _TABLES.items()}
_OLD_NAMES = {"conservative": "quiet", "strict": "watchful"}


def find_preset(name: str) -> Policy | None:
    """Give a policy by its name, or by the one it had before.

    >>> find_preset("strict") is PRESETS["watchful"]
    True
    """
    return PRESETS.get(_OLD_NAMES.get(name, name))
