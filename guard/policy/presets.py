"""Policies by name: what stands in `presets.toml`, each read."""

from __future__ import annotations

import tomllib
from pathlib import Path

from guard.errors import PolicyInvalid
from guard.policy import Policy
from guard.policy.fields import expected, holds, one_of

_TABLES = tomllib.loads(Path(__file__).with_name("presets.toml").read_text("utf-8"))
PRESETS = {name: Policy.from_mapping(table) for name, table in _TABLES.items()}
_KNOWN = PRESETS | {"conservative": PRESETS["quiet"], "strict": PRESETS["watchful"]}


def find_preset(name: object) -> Policy:
    """Give a policy by its name, or by the one it had before; PolicyInvalid: there is none."""
    if not holds(one_of(_KNOWN), name):
        raise PolicyInvalid("", expected(one_of(PRESETS)), name)
    return _KNOWN[str(name)]
