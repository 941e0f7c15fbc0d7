"""What a hook reported, in one form for every agent, and how the hook is configured.

The server cannot see an agent's settings. What they say about waiting and failing is sent with each
request, in one header that `guard connect` writes, so that cards never promise what the settings do
not keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from guard.turn import Turn, Usage

HOOK_HEADER = "X-MissionControl-Hook"
# Our forwarder sends it when it sends a body again, because nothing came back.
REPEAT_HEADER = "X-MissionControl-Repeat"
# The event name that `guard doctor` sends; no agent has one of this name.
PROBE_EVENT = "Probe"
# The body that asks whether a server is there.
PROBE_BODY = {"hook_event_name": PROBE_EVENT, "session_id": ""}
# The event name of our own process that watches a session (`guard.hooks.watcher`).
WATCHER_EVENT = "Beside"
MAX_NAME_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class HookWiring:
    """How one hook is configured, from its request; fields are empty where it says nothing.

    Attributes:
        via: "http" (the agent sends the request) or "command" (our forwarder sends it).
        fail: "open" or "closed": what happens to a call while the server is away.
        timeout_s: Seconds after which the agent gives up on this hook.
        entry: How the agent was started, in its own words: "cli", "sdk-cli".
        defer_s: Seconds of holding after which a headless session is parked.
        answer_s: Seconds that the hook of a permission question waits for an answer; None: it only
            reports.
    """

    via: str = ""
    fail: str = ""
    timeout_s: float | None = None
    entry: str = ""
    defer_s: float | None = None
    answer_s: float | None = None

    @property
    def is_headless(self) -> bool:
        """Whether no person uses it directly: its process may end and be resumed."""
        # Claude Code's own word for `claude -p` and its SDKs.
        return self.entry == "sdk-cli"

    @classmethod
    def read(cls, header: str) -> HookWiring:
        """Read the header's text; unreadable fields count as absent.

        >>> HookWiring.read("via=http; fail=closed; timeout=3900; entry=cli").timeout_s
        3900.0
        """
        # Unknown names are skipped: a newer forwarder may send more.
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
        """Return it as a request's header."""
        return {HOOK_HEADER: self.header()}

    def header(self) -> str:
        """Return it as the header's text.

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
    # float() accepts "inf" and "nan", too.
    return seconds if 0 < seconds < float("inf") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A model call that a hook reports apart from any turn.

    `source` is where it was read: "transcript", or "turns" if the hook itself reports it. `agent`
    is whose call it was; empty: the speaker's. `turn_key` names the first tool call that its answer
    asked for. A call reported twice under one `call_id` counts once.
    """

    call_id: str
    # If two sources report the same call, this decides which one the server believes.
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
        prompt: What the person asked, if this event says so.
        subagent: The speaker inside the session; None is the main agent.
        workspace: File names of `cwd`, if our forwarder listed them.
        turns: What to store, oldest first: none or one for the hooks we know.
        calls: Model calls it reports, each to be counted once.
        holds: The agent waits for this answer: a verdict may take its time.
        takes_messages: A message in this answer reaches the model.
        denial_is_read: The model reads why a call was not run: such an answer takes messages even
            if one that lets the call run cannot.
        ends_session: The session is over.
        permission_call: The call for which the agent asks for permission.
        waits_for_message: The agent is at rest; this answer waits until there is a message for it.
        wiring: How this hook is configured.
        permission_grant: Set by the server if `permission_call`: people allow this call, once or
            for the rest of the session.
        permission_answer: Set by the server if `permission_call`: people's answer to this very
            question.
        answer_text: With "deny": the text for the model.
        stop_hook_active: The agent continues only because of a stop hook.
        proposal_prefix: For an outcome of an agent that gives calls no id: the beginning of its
            proposal's key.
        is_repeat: Our forwarder may have reported it before.
        shown_to_model: The result as the model reads it, if an answer can only replace it and not
            add to it.
        forwarded: Our forwarder sent it, and keeps waiting across a restart of the server.
        agent_pid: The session's own process, which the forwarder may signal.
        parent_key: The run this session belongs to, by key or id, if our forwarder knows it.
        relation: In which way: that run's agent started it, or a person continued from there.
        is_supervised: It runs under `guard run`, which can end it.
        is_steered: `guard run` gives messages to its model; hooks need not.
        presence: What the session does from now on, if this event says so and its turns do not: it
            rests until a prompt, or waits for its person's permission.
        has_daemon: Our watcher can reach the server that holds the session.
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
    ends_session: bool = False
    stop_hook_active: bool = False
    proposal_prefix: str = ""
    is_repeat: bool = False
    shown_to_model: str = ""
    # An agent's own request fails when the server restarts; the forwarder asks again.
    forwarded: bool = False
    agent_pid: int | None = None
    permission_call: Turn | None = None
    waits_for_message: bool = False
    # Sent with each request: settings of an older `guard connect` are still in use.
    wiring: HookWiring = field(default_factory=HookWiring)
    permission_grant: Literal["once", "session"] | None = None
    permission_answer: Literal["allow_once", "deny"] | None = None
    answer_text: str = ""
    parent_key: str | None = None
    relation: Literal["child", "forked"] = "child"
    is_supervised: bool = False
    is_steered: bool = False
    presence: Literal["idle", "waiting"] | None = None
    has_daemon: bool = False

    @property
    def is_probe(self) -> bool:
        """Whether `guard doctor` asks if a server is there: answer, store nothing."""
        return self.name == PROBE_EVENT

    @property
    def is_from_watcher(self) -> bool:
        """Whether the sender is our watcher of the session, not the session."""
        return self.name == WATCHER_EVENT

    @property
    def parks_after_s(self) -> float | None:
        """Seconds of holding after which this call is put off and the agent's process
        ends; resumed, the session asks again. None: never.
        """
        # A person at the terminal sees the wait and may end it.
        return self.wiring.defer_s if self.holds and self.wiring.is_headless else None

    @property
    def run_key(self) -> str:
        """The run's `key`, the same for hook, OTLP and SDK."""
        # With the client: two agents may use the same session ids.
        return f"{self.client}:{self.session}"

    @property
    def run_name(self) -> str:
        """A name by which people recognize the run: its folder and what was asked."""
        # On Windows an agent sends backslashes.
        folder = self.cwd.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or self.client
        # On one line: it is shown in lists and notices.
        prompt = " ".join((self.prompt or "").split())
        if len(prompt) > MAX_NAME_CHARS:
            prompt = f"{prompt[: MAX_NAME_CHARS - 1]}…"
        return f"{folder}: {prompt}" if prompt else folder

    @property
    def call(self) -> str | None:
        """The key of the call that this event is about, if there is one."""
        return self.turns[0].key if self.turns and self.turns[0].tool else None
