"""What an adapter offers: one agent's hooks read, answered, set up and examined; what all say.

In a settings file hooks lie as Claude Code introduced them and others took over: event -> groups
-> hooks. A group may have a `matcher`, and has `hooks`.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from guard.adapters.hook import HookEvent
from guard.sdk.keys import Connection
from guard.wire import CallAction, Directive, DirectiveAction

Settings = dict[str, Any]
Hooks = dict[str, Any]
NO_MORE = "This session has ended: call no more tools."
STOPPED = "Stopped by Mission Control."
# A hold that could not be waited out: the server is going down.
STILL_HELD = (
    "Mission Control still holds this session, so the call was not run. "
    "Make the same call again to go on waiting."
)
# A second held call: the correction stands in the first one's answer.
NOT_RUN = "Mission Control answered another call of yours instead; this one was not run."


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


Body = Mapping[str, Any]
Answer = dict[str, Any]


class Session(Protocol):
    """A session that can be spoken to from beside it, without its hooks.

    Each call answers whether it was done; nothing is raised.
    """

    def stop(self) -> bool: ...

    def say(self, words: str) -> bool: ...


class Finding(NamedTuple):
    """One thing looked at: does it work, and how we know."""

    what: str
    works: bool
    because: str

    def line(self) -> str:
        """Show it in one line."""
        return f"{'ok' if self.works else 'NO':>3}  {self.what:<10} {self.because}"


def hold_reason(holding: Hooks, *, minutes: int, over: str = "", blocks: bool | None = None) -> str:
    """Say how long a hook before a tool keeps it waiting, and what it does without us.

    Args:
        holding: The hook, as it stands in the settings; empty: there is none.
        minutes: The longest wait.
        over: What else the wait outlasts.
        blocks: Whether tools are blocked while the server is away; None: not in the settings.
    """
    if not holding:
        return "no hook before a tool runs"
    # Only where the settings tell it: a guess here would be read as a promise.
    does = {None: "", True: "are blocked", False: "run on"}[blocks]
    away = does and f"; without the server, tools {does}"
    return f"before a tool runs, up to {minutes} min{over}{away}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One agent that has hooks.

    Attributes:
        client: Its name in run keys, addresses and commands: "claude-code".
        title: Its name for a person: "Claude Code".
        holding: Those whose answer may take as long as a person does. Connected
            to fail closed, these alone are blocked while we are away.
        starts: The events that begin a session; our forwarder adds the names of
            the files there are.
        read: Read one hook body; raises `UnreadableHook`.
        answer: Say in the agent's words what the directive asks.
        capabilities: Say what can truly be done to the session of this event:
            `hold`, `inject` (where), `terminate` ("hook", "signal" or "not").
        settings: Its settings file.
        settings_hold_key: The agent key stands in that file, so git must never take it up.
        abilities: Say what its hooks, as set, can do; `guard doctor` shows it.
        advice: What is left to the person once it is connected; shown after
            `guard connect`.
        look_up: Say what our forwarder adds to a body from this machine's files:
            what the agent's own record tells and its hooks do not.
        examine: Look at what else must be right on this machine for the sessions in
            a folder; `guard doctor` shows it.
        vias: The ways its hooks can reach us, the usual one first.
        misses: Say whether a body tells of a path that is not there; our forwarder
            then lists the files again.
        started_by: The environment variable in which the agent says how it was started.
        program: Its executable's name, by which our forwarder finds it above itself; "":
            nobody stands by its sessions.
        reach: Return the session of a hook body where it can be spoken to from beside it.
        idle_event: Our name for the event `guard hook AGENT --idle` sends; "": it has none.
        asks_for_s: Say how many seconds a permission question may be kept open for an
            answer from here; None: the agent asks its own person only once we have answered.
        rests: Say from the environment whether a session lives on while it rests, so that
            our forwarder may wait beside it.
    """

    client: str
    title: str
    holding: frozenset[str]
    starts: frozenset[str]
    read: Callable[[Body], HookEvent]
    answer: Callable[[HookEvent, Directive], Answer]
    capabilities: Callable[[HookEvent], dict[str, Any]]
    settings: HookSettings
    abilities: Callable[[Hooks], tuple[Finding, ...]]
    settings_hold_key: bool = False
    advice: tuple[str, ...] = ()
    # Defaults are functions that do nothing, so that no caller asks whether there is one.
    look_up: Callable[[dict[str, Any]], dict[str, Any]] = lambda _body: {}
    examine: Callable[[Path], tuple[Finding, ...]] = lambda _folder: ()
    vias: tuple[Literal["http", "command"], ...] = ("command",)
    misses: Callable[[Body], bool] = lambda _body: False
    started_by: str = ""
    program: str = ""
    reach: Callable[[Body], Session | None] = lambda _body: None
    idle_event: str = ""
    asks_for_s: Callable[[HookEvent], float | None] = lambda _event: None
    rests: Callable[[Mapping[str, str]], bool] = lambda _environ: False


def texts_of(directive: Directive) -> str:
    """Return the texts of a directive's messages, one below the other."""
    return "\n\n".join(message.text for message in directive.messages)


def why_not_run(event: HookEvent, directive: Directive) -> str:
    """Say why a held call is not run, as its model reads it; "": it is, or nothing is held."""
    if event.holds and directive.action is DirectiveAction.HOLD:
        return STILL_HELD
    if event.holds and directive.call is CallAction.SKIP:
        return texts_of(directive) or directive.reason or NOT_RUN
    return ""


def deny(event: HookEvent, reason: str) -> dict[str, Any]:
    """Keep a call from running, as Claude Code and Codex are told; the model reads why."""
    return specific(event, permissionDecision="deny", permissionDecisionReason=reason)


def specific(event: HookEvent, **fields: str) -> dict[str, Any]:
    """Answer an event with fields of its own."""
    return {"hookSpecificOutput": {"hookEventName": event.name, **fields}}
