"""Claude Code as one of our adapters: its settings, and what its hooks can do as they are set.

Its own telemetry tells what each model call cost, by its own figure. Claude Code (2.1.332) obeys
those settings in the person's file only: what a project's says of them is ignored, so that no
repository can send a person's telemetry elsewhere.

Where it takes none, our forwarder reads what model calls used from the transcript. That has a
record for each block of an answer, all with the answer's id and its usage; a subagent's stands in a
file of its own. When a tool has run, the call that asked for it is there; the last one is there at
the session's end. A forked session's file begins with a copy of the one it left.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guard.adapters.base import (
    Adapter,
    Body,
    Finding,
    Hooks,
    HookSettings,
    Settings,
    Wiring,
    hold_reason,
)
from guard.adapters.claude_code import hooks as claude_code
from guard.adapters.hook import HEADER, HookWiring
from guard.adapters.reading import mapping, newest, rows_at_end, text
from guard.sdk.keys import HOOK_HOLD_S, REPORT_HOOK_S, USER_WIDE

HOOK_PATH = f"/api/v1/hooks/{claude_code.CLIENT}/"

START_TIMEOUT_S = 15

# How long a session at rest can be reached by a message.
WAKE_TIMEOUT_S = 24 * 3600

# Claude Code refuses HTTP hooks at a session's start; where a path is missing, the forwarder
# lists the files again; at the end it tells what the last answer used.
THROUGH_FORWARDER = frozenset({"SessionStart", "PostToolUseFailure", "SessionEnd"})

# Where only the transcript tells what was used, it is read again after these.
USAGE_AFTER = frozenset({"PostToolUse", "Stop"})

WITH_MATCHER = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"})

# Where people may answer in the place of who sits at the terminal.
ASKS = "PermissionRequest"

# Claude Code sets it: "cli" where a person sits at it, "sdk-cli" for `claude -p`.
STARTED_BY = "CLAUDE_CODE_ENTRYPOINT"


FORWARD_ARGS = ["hook", claude_code.CLIENT]
AT_REST, FOR_USAGE = "--idle", "--usage"
# Our own event: what was used, and nothing else.
EVENT = "Usage"
# What a hook of ours does beside forwarding, under a name of our own: it hangs on an event whose
# forwarding hook stands there already.
BESIDE = {AT_REST: claude_code.IDLE, FOR_USAGE: EVENT}
ENDPOINT, HEADERS = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_HEADERS"
PATH = "/v1/logs"
SWITCH = "CLAUDE_CODE_ENABLE_TELEMETRY"
# Claude Code's own is 5 s: a budget should hear of money before the next tool.
EXPORT_EVERY_MS = 1000
CONNECT_AGAIN = "only at its terminal; run `guard connect claude-code` again"
NONE = "nothing tells of it; run `guard connect claude-code` again"
COSTS = {
    "telemetry": "from its own log, by its own figure",
    "command": "token counts from its transcript",
}
MISSING = re.compile(
    r"(?i)\b(no such file|does not exist|not found|ENOENT|cannot find|can't open)\b"
)
# The model of what Claude Code says itself, such as an error.
MADE_UP = "<synthetic>"
TAIL_BYTES = 1024 * 1024
# Told again with each hook, so that one that got lost is made good.
MOST_CALLS = 16
MOST_SUBAGENTS = 8


class ClaudeCodeSettings(HookSettings):
    """Two of our hooks may stand beside a forwarding one, and telemetry beside them all.

    The key is written literally, so that no variable needs to be set.
    """

    events = claude_code.HOOKS

    def path(self, project: Path | None) -> Path:
        if project is not None:
            return project / ".claude" / "settings.local.json"
        home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
        return home / "settings.json"

    def connected(self, settings: Settings, wiring: Wiring) -> Settings:
        written = self.disconnected(settings)
        # Claude Code ignores telemetry settings in a project (2.1.332).
        if wiring.place == USER_WIDE:
            written = with_telemetry(written, wiring)
        written = self.added(written, wiring)
        if wiring.via == "http" and not sends_telemetry(written):
            usage = _command(wiring, FOR_USAGE) | {"async": True, "timeout": REPORT_HOOK_S}
            for event in USAGE_AFTER:
                written["hooks"][event][-1]["hooks"].append(usage)
        return written

    def group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        ours = [_hook(event, wiring)]
        # It rests beside the session, which does not wait for it; what it ends with wakes the
        # model.
        if event == "Stop":
            waking = {"asyncRewake": True, "timeout": WAKE_TIMEOUT_S}
            ours.append(_command(wiring, AT_REST) | waking)
        return ({"matcher": "*"} if event in WITH_MATCHER else {}) | {"hooks": ours}

    def disconnected(self, settings: Settings) -> Settings:
        return super().disconnected(without_telemetry(settings))

    def subscribed(self, settings: Settings) -> Hooks:
        # Telemetry tells of the money in the place of our hook for it.
        tells = {EVENT: {"type": "telemetry"}} if sends_telemetry(settings) else {}
        return super().subscribed(settings) | tells

    def event_of(self, event: str, hook: Any) -> str:
        return next((BESIDE[word] for word in hook.get("args") or () if word in BESIDE), event)

    def is_ours(self, hook: Any) -> bool:
        if not isinstance(hook, dict):
            return False
        if hook.get("type") == "http":
            return str(hook.get("url", "")).endswith(HOOK_PATH)
        # By what it calls: wherever that `guard` lies, and whatever it does beside forwarding.
        args = hook.get("args")
        words = [str(arg) for arg in args] if isinstance(args, list) else []
        return [word for word in words if word not in BESIDE][-2:] == FORWARD_ARGS


SETTINGS = ClaudeCodeSettings()


def _hook(event: str, wiring: Wiring) -> dict[str, Any]:
    """Write what an event calls, and what becomes of it where that fails."""
    # A dialog stands at the terminal meanwhile: not to be answered from here harms nobody.
    asks = event == ASKS and wiring.via == "http"
    timeout_s = START_TIMEOUT_S if event == "SessionStart" else REPORT_HOOK_S
    timeout_s = wiring.hold_s if asks or event in claude_code.HOLDING else timeout_s
    blocks = event in claude_code.HOLDING and wiring.fail == "closed"
    rest = {
        "timeout": timeout_s,
        "statusMessage": "Mission Control",
        "onFailure": "block" if blocks else "continue",
    }
    if wiring.via == "command" or event in THROUGH_FORWARDER:
        return _command(wiring) | rest
    # Claude Code puts the variable's value in at each call, which this process cannot know.
    wired = HookWiring(
        via=wiring.via,
        fail=wiring.fail,
        timeout_s=wiring.hold_s,
        entry=f"${STARTED_BY}",
        defer_s=wiring.defer_s,
        answer_s=wiring.hold_s if asks else None,
    )
    return {
        "type": "http",
        "url": wiring.url.rstrip("/") + HOOK_PATH,
        "headers": {"Authorization": f"Bearer {wiring.key}", HEADER: wired.header()},
        "allowedEnvVars": [STARTED_BY],
        **rest,
    }


def _command(wiring: Wiring, *flags: str) -> dict[str, Any]:
    command, *first = wiring.forwarder
    return {"type": "command", "command": command, "args": [*first, *FORWARD_ARGS, *flags]}


def with_telemetry(settings: Settings, wiring: Wiring) -> Settings:
    """Return settings that send us its log; as they are, where it goes elsewhere."""
    ours, env = _variables(wiring.url, wiring.key), _env(settings)
    # Its log goes somewhere already: a collector of theirs is not taken from them.
    if any(name in env for name in ours if name != SWITCH):
        return settings
    return {**settings, "env": {**env, **ours}}


def without_telemetry(settings: Settings) -> Settings:
    """Return settings without what we put in."""
    if not sends_telemetry(settings):
        return settings
    written = copy.deepcopy(settings)
    # For the names alone: whatever server they lead to, they are ours.
    ours = _variables("", "")
    written["env"] = {name: one for name, one in _env(settings).items() if name not in ours}
    if not written["env"]:
        del written["env"]
    return written


def sends_telemetry(settings: Settings) -> bool:
    """Whether its log comes to a Mission Control: our path, and an agent key of ours."""
    env = _env(settings)
    endpoint, headers = str(env.get(ENDPOINT, "")), str(env.get(HEADERS, ""))
    return endpoint.endswith(PATH) and headers.startswith("Authorization=Bearer mc_")


def _variables(url: str, key: str) -> dict[str, str]:
    return {
        SWITCH: "1",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json",
        ENDPOINT: url.rstrip("/") + PATH,
        HEADERS: f"Authorization=Bearer {key}",
        "OTEL_LOGS_EXPORT_INTERVAL": str(EXPORT_EVERY_MS),
    }


def _env(settings: Settings) -> Mapping[str, Any]:
    env = settings.get("env")
    return env if isinstance(env, dict) else {}


def abilities(hooks: Hooks) -> tuple[Finding, ...]:
    """Say what these hooks can do once the server answers."""
    holding = hooks.get("PreToolUse") or {}
    hold_s = int(holding.get("timeout") or 0)
    blocks = holding.get("onFailure") == "block"
    because = hold_reason(holding, minutes=hold_s // 60, blocks=blocks)
    when_idle = ", when idle" if claude_code.IDLE in hooks else ""
    found = [
        Finding("observe", "PostToolUse" in hooks, "each tool call"),
        Finding("hold", hold_s >= HOOK_HOLD_S, because),
        Finding("inject", bool(holding), f"at next tool, at stop{when_idle}"),
        Finding("terminate", bool(holding), "at the next hook"),
    ]
    # Through the forwarder its permission questions cannot be answered from elsewhere, which is
    # no fault of the settings: nothing is said of it.
    asking = hooks.get(ASKS) or {}
    if asking.get("type") == "http":
        minutes = int(asking.get("timeout") or 0) // 60
        because = f"here or at its terminal, up to {minutes} min" if minutes else CONNECT_AGAIN
        found.append(Finding("permit", bool(minutes), because))
    # The usage hook tells of money where there is one; else the forwarder does with each tool.
    telling = hooks.get(EVENT) or hooks.get("PostToolUse") or {}
    cost = COSTS.get(str(telling.get("type")), "")
    return (*found, Finding("cost", bool(cost), cost or NONE))


def misses(body: Body) -> bool:
    """Say whether a tool failed because a path is not there."""
    return bool(MISSING.search(str(body.get("error") or "")))


def rests(environment: Mapping[str, str]) -> bool:
    """Say whether this session lives on after the model has stopped.

    `claude -p` waits for our hook before it ends, so there we must not wait; a host
    that keeps its session open (stream-json) says so itself.
    """
    asked = environment.get("MISSIONCONTROL_WAKE")
    return asked == "1" if asked else environment.get(STARTED_BY) == "cli"


def usage_body(body: Body) -> dict[str, Any]:
    """Return what a hook that is there for the money alone sends of its body."""
    kept = ("session_id", "cwd", "transcript_path")
    return {"hook_event_name": EVENT, **{name: body[name] for name in kept if name in body}}


def look_up(body: Body) -> dict[str, Any]:
    """Return what our forwarder adds to a body: the transcript's last model calls."""
    path = Path(text(body, "transcript_path"))
    if not path.is_file():
        return {}
    folder = path.with_suffix("") / "subagents"
    files = [*newest(folder, "agent-*.jsonl", most=MOST_SUBAGENTS), path]
    calls = [call for file in files for call in _last_calls(file)]
    return {"guard": {"model_calls": calls}} if calls else {}


def _last_calls(path: Path) -> list[dict[str, Any]]:
    """Return the last answers of the model, each once, without what they said."""
    calls: dict[str, dict[str, Any]] = {}
    # A subagent's kind stands beside its file, not in it; the session's own has no such file.
    try:
        kind = text(mapping(json.loads(path.with_suffix(".meta.json").read_bytes())), "agentType")
    except (OSError, ValueError):
        kind = ""
    for row in rows_at_end(path, most_bytes=TAIL_BYTES):
        message = mapping(row.get("message"))
        name, model = text(message, "id"), text(message, "model")
        # Each block of an answer is a record with the answer's id and usage: the last one counts.
        if not name or model == MADE_UP or not message.get("usage"):
            continue
        # A record holds one block of the answer: the first that calls a tool names its turn.
        content = message.get("content")
        blocks = [mapping(block) for block in content] if isinstance(content, list) else []
        tools = [text(block, "id") for block in blocks if text(block, "type") == "tool_use"]
        agent = text(row, "agentId")
        calls[name] = {
            "id": name,
            "model": model,
            "agent": f"{kind}:{agent}" if kind and agent else agent,
            "tool": calls.get(name, {}).get("tool") or (tools[0] if tools else ""),
            "usage": message["usage"],
            "timestamp": row.get("timestamp"),
        }
    return list(calls.values())[-MOST_CALLS:]


ADAPTER = Adapter(
    client=claude_code.CLIENT,
    title="Claude Code",
    holding=claude_code.HOLDING,
    starts=frozenset({"SessionStart"}),
    read=claude_code.read,
    answer=claude_code.answer,
    capabilities=claude_code.capabilities,
    program="claude",
    settings=SETTINGS,
    settings_hold_key=True,
    abilities=abilities,
    look_up=look_up,
    vias=("http", "command"),
    misses=misses,
    started_by=STARTED_BY,
    idle_event=claude_code.IDLE,
    asks_for_s=claude_code.asks_for_s,
    rests=rests,
)
