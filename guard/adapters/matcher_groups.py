"""Hooks as Claude Code introduced them and others took over: event -> groups -> hooks.

A group may have a `matcher`, and has `hooks`. Pure: what is there and not ours is
kept as it is, however odd.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from guard.adapters.base import Hooks, Settings

IsOurs = Callable[[Any], bool]


def without(settings: Settings, is_ours: IsOurs) -> Settings:
    """Return the settings without our hooks; empty groups of ours go with them."""
    written = copy.deepcopy(settings)
    hooks = written.get("hooks")
    if not isinstance(hooks, dict):
        return written
    for event in list(hooks):
        groups = hooks[event]
        if not isinstance(groups, list):
            continue
        kept = []
        for group in groups:
            others = [hook for hook in _entries(group) if not is_ours(hook)]
            # One that holds none of ours stays the very object it was, however odd.
            if len(others) == len(_entries(group)):
                kept.append(group)
            elif others:
                kept.append({**group, "hooks": others})
        hooks[event] = kept
        # What we alone had filled goes as well: disconnected, the file reads as before.
        if groups and not kept:
            del hooks[event]
    if settings["hooks"] and not hooks:
        del written["hooks"]
    return written


def found(settings: Settings, is_ours: IsOurs) -> Hooks:
    """Return event -> our hook, for the events that reach us."""
    hooks = settings.get("hooks")
    return {
        event: hook
        for event, groups in (hooks if isinstance(hooks, dict) else {}).items()
        for group in (groups if isinstance(groups, list) else ())
        for hook in _entries(group)
        if is_ours(hook)
    }


def _entries(group: Any) -> list[Any]:
    entries = group.get("hooks") if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []
