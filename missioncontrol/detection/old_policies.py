"""Translate policies from before the five rules into today's names; their meaning stays the same.

A migration upgrades stored ones; earlier exports and agents with an older SDK send theirs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Any other key must be quoted in TOML, as a JSON string is.
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
DETECTORS = ("budget", "repeat", "errors", "stagnation", "talk", "stall")
CONTRIB_DETECTORS = ("broker", "fingerprint", "ralph", "loopguard")
SCOPES = ("task_type", "tool", "agent")
PRESET_FIELDS = ("extends", "preset")  # an empty one named nothing
OLD_ASKING_SCORE, OLD_EVIDENCE = 0.8, 5.0  # the stuck score, and what `stall.evidence` was at it
# Old names of settings, and where each setting is today; None: it no longer exists.
RENAMED_SETTINGS: dict[str, str | None] = {
    "exact_repeat.repeats": "repeat.calls",
    "exact_repeat.without_results": "repeat.without_results",
    "exact_repeat.polls": "repeat.polls",
    "ping_pong.rounds": "repeat.rounds",
    "ping_pong.without_results": None,
    "ping_pong.threshold": None,
    "k_cycle.rounds": "repeat.cycles",
    "k_cycle.longest": None,
    "recurrence.repeats": None,
    "recurrence.refused": None,
    "recurrence.moved": None,
    "same_error.in_a_row": "errors.same",
    "same_error.near": "errors.near",
    "same_error.variants": "errors.variants",
    "same_error.refusals": "errors.refused",
    "relay.agents": None,
    "semantic_repeat.embedding": "talk.embedding",
    "semantic_repeat.window": None,
    "semantic_repeat.acts": None,
    "semantic_repeat.threshold": None,
    "monologue.messages": "talk.messages",
    "monologue.fresh": "talk.fresh",
    "monologue.new_terms": "talk.new_terms",
    "hand_offs.rounds": "talk.rounds",
    "hand_offs.fresh": None,
    "hand_offs.new_terms": None,
    "reverification.checks": None,
    "stall.without_results": "stagnation.without_results",
    "stall.evidence": "sensitivity",
    "ladder.exact_repeat": "ladder.repeat",
    "ladder.ping_pong": "ladder.repeat",
    "ladder.k_cycle": "ladder.repeat",
    "ladder.recurrence": "ladder.repeat",
    "ladder.same_error": "ladder.errors",
    "ladder.relay": "ladder.errors",
    "ladder.semantic_repeat": "ladder.talk",
    "ladder.monologue": "ladder.talk",
    "ladder.hand_offs": "ladder.talk",
    "ladder.reverification": None,
}
OLD_SECTIONS = frozenset(name.partition(".")[0] for name in RENAMED_SETTINGS)


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
    for name in [one for one in tables if one in OLD_SECTIONS]:
        for field in [one for one in tables[name] if f"{name}.{one}" in RENAMED_SETTINGS]:
            value = tables[name].pop(field)
            if today := RENAMED_SETTINGS[f"{name}.{field}"]:
                _set_missing(new, today, value)
        if not tables[name]:  # an unknown field stays, and is reported as unknown
            del new[name]
    for name in [one for one in new if one in CONTRIB_DETECTORS]:
        _set_missing(new, f"contrib.{name}", new.pop(name))
    names = new.get("detectors")
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        found = {RENAMED_SETTINGS.get(f"ladder.{name}", f"ladder.{name}") for name in names}
        rules = [one.removeprefix("ladder.") for one in found if one is not None]
        new["detectors"] = sorted(rules, key=(*DETECTORS, *names).index)
    return new


def _set_missing(policy: dict[str, Any], path: str, value: Any) -> None:
    """Set a value that is not set yet."""
    section, _, field = path.rpartition(".")
    table = policy.setdefault(section, {}) if section else policy
    if isinstance(table, dict):  # otherwise it is no table, which is reported
        table.setdefault(field, value)


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
