"""What a hook told us, in one shape for every agent, and how it is wired.

The server cannot see an agent's settings. What they say of waiting and of failing travels with
each request, in one header that `guard connect` writes, so that cards never promise what the
settings do not keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from guard.turn import Turn, Usage

HEADER = "X-MissionControl-Hook"
# The event name `guard doctor` sends; no agent has one of this name.
PROBE = "Probe"
# The body that asks whether anyone is there.
PROBING = {"hook_event_name": PROBE, "session_id": ""}
# The event name of our own process that stands by a session (`guard.hooks.watcher`).
BESIDE = "Beside"
NAME_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class HookWiring:
    """What one hook request says of its wiring; empty where it says nothing.

    Attributes:
        via: "http" (the agent asks by itself) or "command" (our forwarder asks).
        fail: "open" or "closed": what happens to a call while the server is away.
        timeout_s: Seconds after which the agent gives up on this hook.
        entry: How the agent was started, in its own word: "cli", "sdk-cli".
        defer_s: Seconds of holding after which a headless session is parked.
        answer_s: Seconds that the hook of a permission question waits for an answer; None:
            it only reports.
    """

    via: str = ""
    fail: str = ""
    timeout_s: float | None = None
    entry: str = ""
    defer_s: float | None = None
    answer_s: float | None = None

    @property
    def is_headless(self) -> bool:
        """No person sits at it: its process may end and be resumed."""
        # Claude Code's own word for `claude -p` and its SDKs.
        return self.entry == "sdk-cli"

    @classmethod
    def read(cls, header: str) -> HookWiring:
        """Read the header's text; what cannot be read is as if unsaid.

        >>> HookWiring.read("via=http; fail=closed; timeout=3900; entry=cli").timeout_s
        3900.0
        """
        # Names that are not known are passed over: a newer forwarder may say more.
        parts = (part.partition("=") for part in header.split(";"))
        fields = {name.strip(): value.strip() for name, _, value in parts}
        return cls(
            via=fields.get("via", ""),
            fail=fields.get("fail", ""),
            timeout_s=_seconds(fields.get("timeout")),
            entry=fields.get("entry", ""),
            defer_s=_seconds(fields.get("defer")),
            answer_s=_seconds(fields.get("answer")),
        )

    def headers(self) -> dict[str, str]:
        """Write it as a request's header."""
        return {HEADER: self.header()}

    def header(self) -> str:
        """Write it as the header's text.

        >>> HookWiring(via="command", fail="open", timeout_s=3900, entry="cli").header()
        'via=command; fail=open; timeout=3900; entry=cli'
        """
        fields = {
            "via": self.via,
            "fail": self.fail,
            "timeout": "" if self.timeout_s is None else f"{self.timeout_s:g}",
            "entry": self.entry,
            "defer": "" if self.defer_s is None else f"{self.defer_s:g}",
            "answer": "" if self.answer_s is None else f"{self.answer_s:g}",
        }
        return "; ".join(f"{name}={value}" for name, value in fields.items() if value)


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    # float() reads "inf" and "nan", too.
    return seconds if 0 < seconds < float("inf") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A model call that a hook tells of, apart from any turn.

    `source` is where it was read: "transcript", or "turns" where the hook itself
    says it. `agent` is whose it was; empty: who speaks. `turn_key` names the first tool
    call its answer asked for. A call told twice under one
    `call_id` counts once.
    """

    call_id: str
    # Where two sources tell of the same call, the server believes one of them by this.
    source: str
    usage: Usage
    agent: str = ""
    turn_key: str | None = None
    model: str | None = None
    provider: str | None = None
    made_at: datetime | None = None


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
        calls: Model calls it tells of, to be counted once each.
        holds: The agent waits for this answer: a verdict may take its time.
        takes_messages: A message in this answer reaches the model.
        denial_is_read: The model reads why a call was not run: that answer takes
            messages even where one that lets the call run cannot.
        ends: The session is over.
        asks: The call whose permission the agent asks for.
        idles: The agent is at rest; this answer waits until there is a message for it.
        wiring: How this hook is wired.
        grant: Set by the server where `asks`: people allow this call, for once or for
            the rest of the session.
        answered: Set by the server where `asks`: what people said to this very question.
        answer_text: With "deny": what the model is to read.
        stop_hook_active: The agent goes on only because a stop hook made it.
        outcome_of: This is how a call ended, and the agent gives calls no id: what
            the key of its proposal begins with.
        shown_to_model: The result as the model reads it, where an answer cannot add
            to it but only stand in its place.
        forwarded: Our forwarder sent it: it goes on waiting over a server's restart.
        agent_pid: The session's own process, which the forwarder may signal.
        parent_key: The run this session belongs to, by key or id, where our forwarder
            knows it.
        relation: How: that run's agent started it, or a person went on from there.
        kept: It runs under `guard run`, which ends it.
        steered: `guard run` puts messages before its model; hooks need not.
        presence: What the session does from now on, where this event tells it and its
            turns do not: rest until a prompt, or wait for its person's permission.
        daemon: Our process beside it can speak to the server that holds the session.
    """

    client: str
    name: str
    session: str
    cwd: str = ""
    prompt: str | None = None
    subagent: str | None = None
    workspace: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    holds: bool = False
    takes_messages: bool = False
    denial_is_read: bool = False
    ends: bool = False
    stop_hook_active: bool = False
    outcome_of: str = ""
    shown_to_model: str = ""
    # An agent that asks by itself gives up when the server restarts; the forwarder asks again.
    forwarded: bool = False
    agent_pid: int | None = None
    asks: Turn | None = None
    idles: bool = False
    # It travels with each request: settings of an older `guard connect` are still out there.
    wiring: HookWiring = field(default_factory=HookWiring)
    grant: Literal["once", "session"] | None = None
    answered: Literal["allow_once", "deny"] | None = None
    answer_text: str = ""
    parent_key: str | None = None
    relation: Literal["child", "forked"] = "child"
    kept: bool = False
    steered: bool = False
    presence: Literal["idle", "waiting"] | None = None
    daemon: bool = False

    @property
    def is_probe(self) -> bool:
        """`guard doctor` asks whether anyone is there: answer, store nothing."""
        return self.name == PROBE

    @property
    def stands_by(self) -> bool:
        """Our process beside the session speaks, not the session."""
        return self.name == BESIDE

    @property
    def parks_after_s(self) -> float | None:
        """Seconds of holding after which this call is put off and the agent's process
        ends; resumed, the session asks again. None: never.
        """
        # Where a person sits at the terminal, they see the wait and may end it themselves.
        return self.wiring.defer_s if self.holds and self.wiring.is_headless else None

    @property
    def run_key(self) -> str:
        """The run's `key`, the same for hook, OTLP and SDK."""
        # The client too: two agents count their sessions alike.
        return f"{self.client}:{self.session}"

    @property
    def run_name(self) -> str:
        """A name a person knows the run by: its folder and what was asked."""
        # An agent on Windows names it with backslashes.
        folder = self.cwd.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or self.client
        # One line: it stands in lists and notices.
        asked = " ".join((self.prompt or "").split())
        if not asked:
            return folder
        return f"{folder}: {asked if len(asked) <= NAME_CHARS else asked[: NAME_CHARS - 1] + '…'}"

    @property
    def call(self) -> str | None:
        """The key of the call this event is about, where there is one."""
        return self.turns[0].key if self.turns and self.turns[0].tool else None
