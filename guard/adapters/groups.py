"""Hook entries in groups under their events, as several agents' settings have them. Pure.

`{"hooks": {event: [{"matcher": …, "hooks": [entry, …]}, …]}}`
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from guard.adapters.base import Hooks, Settings

IsOurs = Callable[[Any], bool]


def without(settings: Settings, is_ours: IsOurs) -> Settings:
    """Return settings without our entries; groups and events left empty go with them."""
    written = copy.deepcopy(settings)
    hooks = written.get("hooks")
    if not isinstance(hooks, dict):
        return written
    for event in list(hooks):
        hooks[event] = _without_ours(hooks[event], is_ours)
        if not hooks[event]:
            del hooks[event]
    if not hooks:
        del written["hooks"]
    return written


def found(settings: Settings, is_ours: IsOurs) -> Hooks:
    """Return event -> our entry, for the events that have one."""
    hooks = settings.get("hooks")
    return {
        event: hook
        for event, groups in (hooks if isinstance(hooks, dict) else {}).items()
        for group in (groups if isinstance(groups, list) else ())
        for hook in entries(group)
        if is_ours(hook)
    }


def entries(group: Any) -> list[Any]:
    """Return the entries of a group; a group of another form has none."""
    listed = group.get("hooks") if isinstance(group, dict) else None
    return listed if isinstance(listed, list) else []


def _without_ours(groups: Any, is_ours: IsOurs) -> Any:
    if not isinstance(groups, list):
        return groups
    kept = []
    for group in groups:
        others = [hook for hook in entries(group) if not is_ours(hook)]
        if len(others) == len(entries(group)):
            kept.append(group)
        elif others:
            kept.append({**group, "hooks": others})
    return kept
