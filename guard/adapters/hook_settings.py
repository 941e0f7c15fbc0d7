"""An agent's settings file: our hooks put in, taken out, found again. Pure.

Hooks lie as Claude Code introduced them and others took over: event -> groups -> hooks. A
group may have a `matcher`, and has `hooks`.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from guard.sdk.keys import Connection

Settings = dict[str, Any]
Hooks = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring(Connection):
    """What a settings file needs to know to reach us.

    `forwarder` is the command that runs `guard`, by absolute path: an agent's hooks run
    with whatever `PATH` its own shell has.
    """

    forwarder: Sequence[str]


class HookSettings(abc.ABC):
    """The settings of one agent; what is there and not ours is kept as it is, however odd."""

    # The events that `guard connect` subscribes to.
    events: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def path(self, project: Path | None) -> Path:
        """Name the file in a project's directory; None: the person's own."""

    @abc.abstractmethod
    def group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        """Write what stands under an event for us."""

    @abc.abstractmethod
    def is_ours(self, hook: Any) -> bool:
        """Whether `guard connect` wrote this entry, for whatever server."""

    def connected(self, settings: Settings, wiring: Wiring) -> Settings:
        """Return settings with our hooks in, whatever else they hold kept."""
        # Ours out first: twice is as once, and another forwarder, server or key replaces ours.
        return self.added(self.disconnected(settings), wiring)

    def added(self, settings: Settings, wiring: Wiring) -> Settings:
        """Put our hooks into settings that have none of ours."""
        hooks = settings.setdefault("hooks", {})
        for event in self.events:
            hooks.setdefault(event, []).append(self.group(event, wiring))
        return settings

    def disconnected(self, settings: Settings) -> Settings:
        """Return settings without our hooks; groups and events of ours alone go with them."""
        written = copy.deepcopy(settings)
        hooks = written.get("hooks")
        if not isinstance(hooks, dict):
            return written
        for event, groups in list(hooks.items()):
            if not isinstance(groups, list):
                continue
            kept = []
            for group in groups:
                others = [hook for hook in self.hooks_of(group) if not self.is_ours(hook)]
                # One that holds none of ours stays the very object it was, however odd.
                if len(others) == len(self.hooks_of(group)):
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

    def subscribed(self, settings: Settings) -> Hooks:
        """Return event -> our hook, for the events that reach us."""
        hooks = settings.get("hooks")
        return {
            self.event_of(event, hook): hook
            for event, groups in (hooks if isinstance(hooks, dict) else {}).items()
            for group in (groups if isinstance(groups, list) else ())
            for hook in self.hooks_of(group)
            if self.is_ours(hook)
        }

    def event_of(self, event: str, hook: Any) -> str:
        """Name what a hook of ours is told of, where it stands under an event."""
        return event

    def hooks_of(self, group: Any) -> list[Any]:
        """Give the hooks of a group."""
        hooks = group.get("hooks") if isinstance(group, dict) else None
        return hooks if isinstance(hooks, list) else []
