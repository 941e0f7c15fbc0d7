"""Translate policies from before the five rules into today's names; their meaning stays the same.

A migration upgrades stored ones; earlier exports and agents with an older SDK send theirs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Any other key must be quoted in TOML, as a JSON string is.
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
DETECTORS = ("budget", "repeat", "errors", "stagnation", "talk", "stall")
CONTRIB_DETECTORS = ("broker", "fingerprint", "ralph", "loopguard")
SCOPES = ("task_type", "tool", "agent")
PRESET_FIELDS = ("extends", "preset")  # an empty one named nothing
OLD_ASKING_SCORE, OLD_EVIDENCE = 0.8, 5.0  # the stuck score, and what `stall.evidence` was at it
# Old names of settings, and where each setting is today; (): it no longer exists.
RENAMED_SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "exact_repeat": {
        "repeats": ("repeat", "calls"),
        "without_results": ("repeat", "without_results"),
        "polls": ("repeat", "polls"),
    },
    "ping_pong": {
        "rounds": ("repeat", "rounds"),
        "without_results": (),
        "threshold": (),
    },
    "k_cycle": {
        "rounds": ("repeat", "cycles"),
        "longest": (),
    },
    "recurrence": {
        "repeats": (),
        "refused": (),
        "moved": (),
    },
    "same_error": {
        "in_a_row": ("errors", "same"),
        "near": ("errors", "near"),
        "variants": ("errors", "variants"),
        "refusals": ("errors", "refused"),
    },
    "relay": {
        "agents": (),
    },
    "semantic_repeat": {
        "embedding": ("talk", "embedding"),
        "window": (),
        "acts": (),
        "threshold": (),
    },
    "monologue": {
        "messages": ("talk", "messages"),
        "fresh": ("talk", "fresh"),
        "new_terms": ("talk", "new_terms"),
    },
    "hand_offs": {
        "rounds": ("talk", "rounds"),
        "fresh": (),
        "new_terms": (),
    },
    "reverification": {
        "checks": (),
    },
    "stall": {
        "without_results": ("stagnation", "without_results"),
        "evidence": ("sensitivity",),
    },
    "ladder": {
        "exact_repeat": ("ladder", "repeat"),
        "ping_pong": ("ladder", "repeat"),
        "k_cycle": ("ladder", "repeat"),
        "recurrence": ("ladder", "repeat"),
        "same_error": ("ladder", "errors"),
        "relay": ("ladder", "errors"),
        "semantic_repeat": ("ladder", "talk"),
        "monologue": ("ladder", "talk"),
        "hand_offs": ("ladder", "talk"),
        "reverification": (),
    },
}


def upgrade_policy(policy: Any) -> Any:
    """Return a policy, or a table of one, in today's names; settings that already have them win."""
    if not isinstance(policy, dict):
        return policy
    given = {name: one for name, one in policy.items() if name not in PRESET_FIELDS or one}
    new = {name: dict(one) if isinstance(one, dict) else one for name, one in given.items()}
    tables = {name: table for name, table in new.items() if isinstance(table, dict)}
    for name in tables.keys() & SCOPES:
        new[name] = {key: upgrade_policy(table) for key, table in tables[name].items()}
    if isinstance(evidence := tables.get("stall", {}).get("evidence"), int | float):
        score = 1.0 - (1.0 - OLD_ASKING_SCORE) ** (min(max(evidence, 0), 100) / OLD_EVIDENCE)
        tables["stall"]["evidence"] = min(0.99, max(0.5, round(score, 3)))
    for name in [one for one in tables if one in RENAMED_SETTINGS]:
        for field in [one for one in tables[name] if one in RENAMED_SETTINGS[name]]:
            _set_missing(new, RENAMED_SETTINGS[name][field], tables[name].pop(field))
        if not tables[name]:  # an unknown field stays, and is reported as unknown
            del new[name]
    for name in [one for one in new if one in CONTRIB_DETECTORS]:
        _set_missing(new, ("contrib", name), new.pop(name))
    names = new.get("detectors")
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        today = {one for name in names for one in RENAMED_SETTINGS["ladder"].get(name, [name])[-1:]}
        new["detectors"] = sorted(today, key=(*DETECTORS, *names).index)
    return new


def _set_missing(policy: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a value that is not set yet; an empty path: the setting no longer exists."""
    for section in path[:-1]:
        policy = policy.setdefault(section, {})
    if path and isinstance(policy, dict):  # otherwise it is no table, which is reported
        policy.setdefault(path[-1], value)


def upgrade_text(policy: dict[str, Any], text: str) -> str:
    """Return an upgraded policy as TOML, above the text as it was typed; no text stays none."""
    if not text:
        return ""
    typed = "".join(f"# {line}\n" for line in text.splitlines())
    return f"{write_toml(policy)}\n# As it was typed, in the words of that time:\n{typed}"


def write_toml(mapping: Mapping[str, Any]) -> str:
    """Write a policy's mapping as TOML text; what is None is left out.

    >>> print(write_toml({"tool": {"Bash": {"retry": "poll"}}, "extends": "strict"}))
    extends = "strict"
    <BLANKLINE>
    [tool.Bash]
    retry = "poll"
    <BLANKLINE>
    """
    return "\n\n".join(filter(None, _toml_blocks(mapping))) + "\n"


def _toml_blocks(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    tables = {name: value for name, value in table.items() if isinstance(value, Mapping)}
    values = {name: table[name] for name in table if name not in tables}
    lines = [
        # JSON's strings, numbers, booleans and lists of them are valid TOML, unless
        # characters beyond 16 bits are escaped.
        f"{_toml_key(name)} = {json.dumps(one, ensure_ascii=False)}"
        for name, one in values.items()
        if one is not None
    ]
    # Values before tables: below a table's header they would belong to it.
    yield "\n".join([f"[{path}]", *lines] if path and lines else lines)
    for name, inner in tables.items():
        yield from _toml_blocks(inner, f"{path}.{_toml_key(name)}" if path else _toml_key(name))


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)
