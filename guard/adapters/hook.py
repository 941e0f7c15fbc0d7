"""What a hook told us, in one shape for every agent."""

from __future__ import annotations

from dataclasses import dataclass

from guard.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One hook call of one agent.

    Attributes:
        client: Which agent speaks: "claude-code".
        name: The agent's own name of the event: "PreToolUse".
        session: The agent's session id; empty for a probe.
        cwd: The directory it works in.
        prompt: What the person asked, where this event says so.
        subagent: Who inside the session speaks; None is the main agent.
        workspace: File names of `cwd`, where our forwarder listed them.
        turns: What to store, oldest first: none or one for the hooks we know.
        holds: The agent waits for this answer: a verdict may take its time.
        takes_messages: A message in this answer reaches the model.
        ends: The session is over.
        stop_hook_active: The agent goes on only because a stop hook made it.
    """

    client: str
    name: str
    session: str
    cwd: str = ""
    prompt: str | None = None
    subagent: str | None = None
    workspace: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    holds: bool = False
    takes_messages: bool = False
    ends: bool = False
    stop_hook_active: bool = False

    @property
    def is_probe(self) -> bool:
        """`guard doctor` asks whether anyone is there: answer, store nothing."""
        return self.name == PROBE

    @property
    def run_key(self) -> str:
        """The run's `key`, the same for hook, OTLP and SDK."""
        return f"{self.client}:{self.session}"

    @property
    def run_name(self) -> str:
        """A name a person knows the run by: its folder and what was asked."""
        folder = self.cwd.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or self.client
        asked = " ".join((self.prompt or "").split())
        if not asked:
            return folder
        return f"{folder}: {asked if len(asked) <= NAME_CHARS else asked[: NAME_CHARS - 1] + '…'}"

    @property
    def call(self) -> str | None:
        """The key of the call this event is about, where there is one."""
        return self.turns[0].key if self.turns and self.turns[0].tool else None


PROBE = "Probe"
"""The event name `guard doctor` sends; no agent has one of this name."""

NAME_CHARS = 60
