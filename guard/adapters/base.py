"""The interface of an adapter: one agent's hooks read, answered, set up and examined.

A settings file lists hooks in the form that Claude Code introduced and others adopted: event ->
groups -> hooks. A group has `hooks`, and may have a `matcher`.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from guard.adapters.hook import HookEvent
from guard.sdk.connections import Connection
from guard.wire import CallAction, Directive, DirectiveAction

Settings = dict[str, Any]
Hooks = dict[str, Any]
SESSION_ENDED = "This session has ended: call no more tools."
STOPPED = "Stopped by Mission Control."
# For a hold that could not be waited out: the server is shutting down.
STILL_HELD = (
    "Mission Control still holds this session, so the call was not run. "
    "Make the same call again to go on waiting."
)
# For a second held call: the correction is in the first one's answer.
NOT_RUN = "Mission Control answered another call of yours instead; this one was not run."


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring(Connection):
    """What a settings file needs in order to reach us.

    `forwarder` is the command that runs `guard`, with its absolute path: an agent's hooks run with
    the `PATH` of its own shell.
    """

    forwarder: Sequence[str]


class HookSettings(abc.ABC):
    """The settings of one agent; entries that are not ours are kept as they are, however odd."""

    # The events that `guard connect` subscribes to.
    events: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def path(self, project: Path | None) -> Path:
        """Return the path of the file in a project's directory; None: the user's own."""

    @abc.abstractmethod
    def hook_group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        """Return our entry for an event."""

    @abc.abstractmethod
    def is_ours(self, hook: Any) -> bool:
        """Whether `guard connect` wrote this entry, for whatever server."""

    def with_hooks(self, settings: Settings, wiring: Wiring) -> Settings:
        """Return settings with our hooks added; everything else in them is kept."""
        # Ours are removed first: connecting twice changes nothing, and a new forwarder, server or
        # key replaces the old one.
        return self.add_hooks(self.without_hooks(settings), wiring)

    def add_hooks(self, settings: Settings, wiring: Wiring) -> Settings:
        """Add our hooks to settings that have none of ours."""
        hooks = settings.setdefault("hooks", {})
        for event in self.events:
            hooks.setdefault(event, []).append(self.hook_group(event, wiring))
        return settings

    def without_hooks(self, settings: Settings) -> Settings:
        """Return settings without our hooks, and without groups and events that held only ours."""
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
                # A group without hooks of ours stays the same object, however odd.
                if len(others) == len(self.hooks_of(group)):
                    kept.append(group)
                elif others:
                    kept.append({**group, "hooks": others})
            hooks[event] = kept
            # Events that held only our hooks are removed, too: the file reads as before.
            if groups and not kept:
                del hooks[event]
        if settings["hooks"] and not hooks:
            del written["hooks"]
        return written

    def hooks_by_event(self, settings: Settings) -> Hooks:
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
        """Return the event that a hook of ours, found under an event, is told of."""
        return event

    def hooks_of(self, group: Any) -> list[Any]:
        """Return the hooks of a group."""
        hooks = group.get("hooks") if isinstance(group, dict) else None
        return hooks if isinstance(hooks, list) else []


Body = Mapping[str, Any]
Answer = dict[str, Any]


class ReachableSession(Protocol):
    """A session that can be reached by other means than its hooks.

    Each call returns whether it succeeded; nothing is raised.
    """

    def stop(self) -> bool: ...

    def send_text(self, words: str) -> bool: ...


class CheckResult(NamedTuple):
    """The result of one check: whether it works, and how we know."""

    name: str
    works: bool
    reason: str

    def format_line(self) -> str:
        """Format it as one line."""
        return f"{'ok' if self.works else 'NO':>3}  {self.name:<10} {self.reason}"


def hold_reason(hook: Hooks, *, minutes: int, over: str = "", blocks: bool | None = None) -> str:
    """Say how long a hook before a tool makes it wait, and what happens without the server.

    Args:
        hook: The hook as it is in the settings; empty: there is none.
        minutes: The longest wait.
        over: What else the wait survives.
        blocks: Whether tools are blocked while the server is away; None: not in the settings.
    """
    if not hook:
        return "no hook before a tool runs"
    # Only if the settings say it: a guess here would be read as a promise.
    effect = {None: "", True: "are blocked", False: "run on"}[blocks]
    away = effect and f"; without the server, tools {effect}"
    return f"before a tool runs, up to {minutes} min{over}{away}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One agent that has hooks.

    Attributes:
        client: Its name in run keys, addresses and commands: "claude-code".
        title: Its name for a person: "Claude Code".
        holding_events: The events whose answer may take as long as a person does. If connected to
            fail closed, these alone are blocked while we are away.
        start_events: The events that begin a session; our forwarder adds the names of existing
            files.
        read: Reads one hook body; raises `UnreadableHook`.
        answer: Writes a directive as the agent's hook answer.
        capabilities: Returns what can really be done to this event's session: `hold`, `inject`
            (where), `terminate` ("hook", "signal" or "not").
        settings: Its settings file.
        settings_hold_key: Whether that file contains the agent key, so that git must never take it.
        check_hooks: Returns what its hooks, as set, can do; `guard doctor` shows it.
        advice: What the person still has to do after `guard connect`, which shows it.
        local_facts: Returns what our forwarder adds to a body from this machine's files: what the
            agent's own record contains and its hooks do not.
        check_machine: Checks what else must be right on this machine for the sessions in a folder;
            `guard doctor` shows it.
        vias: The ways in which its hooks can reach us, the usual one first.
        reports_missing_path: Returns whether a body reports a path that does not exist; then our
            forwarder lists the files again.
        entrypoint_variable: The environment variable in which the agent reports how it was started.
        program: Its executable's name, by which our forwarder finds it among its parent processes;
            "": its sessions have no watcher.
        reach_session: Returns a hook body's session if it can be reached by other means than its
            hooks.
        idle_event: Our name for the event that `guard hook AGENT --idle` sends; "": it has none.
        permission_wait_s: Returns how many seconds a permission question may wait for an answer
            from Mission Control; None: the agent asks its own person only after our answer.
        stays_open: Returns, from the environment, whether a session lives on while it rests, so
            that our forwarder may wait for messages to it.
    """

    client: str
    title: str
    holding_events: frozenset[str]
    start_events: frozenset[str]
    read: Callable[[Body], HookEvent]
    answer: Callable[[HookEvent, Directive], Answer]
    capabilities: Callable[[HookEvent], dict[str, Any]]
    settings: HookSettings
    check_hooks: Callable[[Hooks], tuple[CheckResult, ...]]
    settings_hold_key: bool = False
    advice: tuple[str, ...] = ()
    # The defaults do nothing, so that no caller needs to check for None.
    local_facts: Callable[[dict[str, Any]], dict[str, Any]] = lambda _body: {}
    check_machine: Callable[[Path], tuple[CheckResult, ...]] = lambda _folder: ()
    vias: tuple[Literal["http", "command"], ...] = ("command",)
    reports_missing_path: Callable[[Body], bool] = lambda _body: False
    entrypoint_variable: str = ""
    program: str = ""
    reach_session: Callable[[Body], ReachableSession | None] = lambda _body: None
    idle_event: str = ""
    permission_wait_s: Callable[[HookEvent], float | None] = lambda _event: None
    stays_open: Callable[[Mapping[str, str]], bool] = lambda _environ: False


def texts_of(directive: Directive) -> str:
    """Return the texts of a directive's messages, one below the other."""
    return "\n\n".join(message.text for message in directive.messages)


def refusal_reason(event: HookEvent, directive: Directive) -> str:
    """Return why a held call is not run, for its model; "": it is run, or nothing is held."""
    if event.holds and directive.action is DirectiveAction.HOLD:
        return STILL_HELD
    if event.holds and directive.call is CallAction.SKIP:
        return texts_of(directive) or directive.reason or NOT_RUN
    return ""


def deny(event: HookEvent, reason: str) -> dict[str, Any]:
    """Deny a call in the form of Claude Code and Codex; the model reads the reason."""
    return event_output(event, permissionDecision="deny", permissionDecisionReason=reason)


def event_output(event: HookEvent, **fields: str) -> dict[str, Any]:
    """Answer an event with its specific fields."""
    return {"hookSpecificOutput": {"hookEventName": event.name, **fields}}
