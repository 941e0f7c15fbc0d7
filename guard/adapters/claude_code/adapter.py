"""The adapter for Claude Code: its settings, and what its hooks can do as they are set.

Its own telemetry reports the cost of each model call, as Claude Code calculates it. Claude Code
(2.1.332) reads these settings only from the user's file and ignores a project's, so that no
repository can send a person's telemetry elsewhere.

Without telemetry, our forwarder reads the usage of model calls from the transcript. It has a record
for each block of an answer, with the answer's id and its usage; a subagent's records are in a file
of its own. When a tool has run, the call that asked for it is in the transcript; the last call is
there at the session's end. A forked session's file begins with a copy of the original session's.
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
    CheckResult,
    Hooks,
    HookSettings,
    Settings,
    Wiring,
    hold_reason,
)
from guard.adapters.claude_code import hooks as claude_code
from guard.adapters.hook import HOOK_HEADER, HookWiring
from guard.adapters.parsing import last_rows, mapping, newest_files, text
from guard.sdk.connections import HOOK_HOLD_S, REPORT_HOOK_S, USER_WIDE

HOOK_PATH = f"/api/v1/hooks/{claude_code.CLIENT}/"

START_TIMEOUT_S = 15

# How long a message can reach a session at rest.
WAKE_TIMEOUT_S = 24 * 3600

# Claude Code refuses HTTP hooks at a session's start. If a path is missing, the forwarder lists the
# files again; at the end, it reports the last answer's usage.
THROUGH_FORWARDER = frozenset({"SessionStart", "PostToolUseFailure", "SessionEnd"})

# If only the transcript has the usage, it is read again after these events.
USAGE_AFTER = frozenset({"PostToolUse", "Stop"})

WITH_MATCHER = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"})

# The event in which people may answer in place of the person at the terminal.
PERMISSION_EVENT = "PermissionRequest"

# Set by Claude Code: "cli" if a person uses its terminal, "sdk-cli" for `claude -p`.
ENTRYPOINT_VARIABLE = "CLAUDE_CODE_ENTRYPOINT"


FORWARD_ARGS = ["hook", claude_code.CLIENT]
IDLE_FLAG, USAGE_FLAG = "--idle", "--usage"
# Our own event: it reports usage and nothing else.
USAGE_EVENT = "Usage"
# What our hooks do apart from forwarding, under names of our own: they belong to events that
# already have a forwarding hook.
EVENT_OF_FLAG = {IDLE_FLAG: claude_code.IDLE, USAGE_FLAG: USAGE_EVENT}
ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_LOGS_HEADERS"
LOGS_PATH = "/v1/logs"
TELEMETRY_VARIABLE = "CLAUDE_CODE_ENABLE_TELEMETRY"
# Claude Code's default is 5 s: a budget needs the cost before the next tool.
EXPORT_EVERY_MS = 1000
CONNECT_AGAIN = "only at its terminal; run `guard connect claude-code` again"
NO_COST = "nothing tells of it; run `guard connect claude-code` again"
COST_SOURCES = {
    "telemetry": "from its own log, by its own figure",
    "command": "token counts from its transcript",
}
MISSING_PATH = re.compile(
    r"(?i)\b(no such file|does not exist|not found|ENOENT|cannot find|can't open)\b"
)
# The model of Claude Code's own texts, such as an error.
SYNTHETIC_MODEL = "<synthetic>"
TAIL_BYTES = 1024 * 1024
# Reported again with each hook, so that a lost report is made good.
MAX_CALLS = 16
MAX_SUBAGENTS = 8


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

    def with_hooks(self, settings: Settings, wiring: Wiring) -> Settings:
        written = self.without_hooks(settings)
        # Claude Code ignores telemetry settings in a project (2.1.332).
        if wiring.place == USER_WIDE:
            written = with_telemetry(written, wiring)
        written = self.add_hooks(written, wiring)
        if wiring.via == "http" and not sends_telemetry(written):
            usage = _command_entry(wiring, USAGE_FLAG) | {"async": True, "timeout": REPORT_HOOK_S}
            for event in USAGE_AFTER:
                written["hooks"][event][-1]["hooks"].append(usage)
        return written

    def hook_group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        ours = [_hook_entry(event, wiring)]
        # It waits while the session rests, in the background; when it ends, its output wakes the
        # model.
        if event == "Stop":
            waking = {"asyncRewake": True, "timeout": WAKE_TIMEOUT_S}
            ours.append(_command_entry(wiring, IDLE_FLAG) | waking)
        return ({"matcher": "*"} if event in WITH_MATCHER else {}) | {"hooks": ours}

    def without_hooks(self, settings: Settings) -> Settings:
        return super().without_hooks(without_telemetry(settings))

    def hooks_by_event(self, settings: Settings) -> Hooks:
        # Telemetry replaces our usage hook.
        telemetry_hook = {USAGE_EVENT: {"type": "telemetry"}} if sends_telemetry(settings) else {}
        return super().hooks_by_event(settings) | telemetry_hook

    def event_of(self, event: str, hook: Any) -> str:
        return next(
            (EVENT_OF_FLAG[word] for word in hook.get("args") or () if word in EVENT_OF_FLAG), event
        )

    def is_ours(self, hook: Any) -> bool:
        if not isinstance(hook, dict):
            return False
        if hook.get("type") == "http":
            return str(hook.get("url", "")).endswith(HOOK_PATH)
        # Recognized by its command, wherever its `guard` is, and whatever it does besides
        # forwarding.
        args = hook.get("args")
        words = [str(arg) for arg in args] if isinstance(args, list) else []
        return [word for word in words if word not in EVENT_OF_FLAG][-2:] == FORWARD_ARGS


SETTINGS = ClaudeCodeSettings()


def _hook_entry(event: str, wiring: Wiring) -> dict[str, Any]:
    """Return what an event calls, and what happens if that fails."""
    # The terminal shows its dialog meanwhile: it does no harm if nobody answers here.
    asks = event == PERMISSION_EVENT and wiring.via == "http"
    timeout_s = START_TIMEOUT_S if event == "SessionStart" else REPORT_HOOK_S
    timeout_s = wiring.hold_s if asks or event in claude_code.HOLDING else timeout_s
    blocks = event in claude_code.HOLDING and wiring.fail == "closed"
    rest = {
        "timeout": timeout_s,
        "statusMessage": "Mission Control",
        "onFailure": "block" if blocks else "continue",
    }
    if wiring.via == "command" or event in THROUGH_FORWARDER:
        return _command_entry(wiring) | rest
    # Claude Code inserts the variable's value at each call; this process cannot know it.
    wired = HookWiring(
        via=wiring.via,
        fail=wiring.fail,
        timeout_s=wiring.hold_s,
        entry=f"${ENTRYPOINT_VARIABLE}",
        defer_s=wiring.defer_s,
        answer_s=wiring.hold_s if asks else None,
    )
    return {
        "type": "http",
        "url": wiring.url.rstrip("/") + HOOK_PATH,
        "headers": {"Authorization": f"Bearer {wiring.key}", HOOK_HEADER: wired.header()},
        "allowedEnvVars": [ENTRYPOINT_VARIABLE],
        **rest,
    }


def _command_entry(wiring: Wiring, *flags: str) -> dict[str, Any]:
    command, *first = wiring.forwarder
    return {"type": "command", "command": command, "args": [*first, *FORWARD_ARGS, *flags]}


def with_telemetry(settings: Settings, wiring: Wiring) -> Settings:
    """Return settings that send us Claude Code's log; unchanged if it already goes elsewhere."""
    ours, env = _telemetry_variables(wiring.url, wiring.key), _env(settings)
    # Its log already goes somewhere: the person's own collector keeps it.
    if any(name in env for name in ours if name != TELEMETRY_VARIABLE):
        return settings
    return {**settings, "env": {**env, **ours}}


def without_telemetry(settings: Settings) -> Settings:
    """Return settings without our telemetry."""
    if not sends_telemetry(settings):
        return settings
    written = copy.deepcopy(settings)
    # Only names are compared: they are ours, whatever server they lead to.
    ours = _telemetry_variables("", "")
    written["env"] = {name: one for name, one in _env(settings).items() if name not in ours}
    if not written["env"]:
        del written["env"]
    return written


def sends_telemetry(settings: Settings) -> bool:
    """Whether its log goes to a Mission Control: the path is ours, with one of our agent keys."""
    env = _env(settings)
    endpoint, headers = str(env.get(ENDPOINT_VARIABLE, "")), str(env.get(HEADERS_VARIABLE, ""))
    return endpoint.endswith(LOGS_PATH) and headers.startswith("Authorization=Bearer mc_")


def _telemetry_variables(url: str, key: str) -> dict[str, str]:
    return {
        TELEMETRY_VARIABLE: "1",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json",
        ENDPOINT_VARIABLE: url.rstrip("/") + LOGS_PATH,
        HEADERS_VARIABLE: f"Authorization=Bearer {key}",
        "OTEL_LOGS_EXPORT_INTERVAL": str(EXPORT_EVERY_MS),
    }


def _env(settings: Settings) -> Mapping[str, Any]:
    env = settings.get("env")
    return env if isinstance(env, dict) else {}


def check_hooks(hooks: Hooks) -> tuple[CheckResult, ...]:
    """Return what these hooks can do once the server answers."""
    holding = hooks.get("PreToolUse") or {}
    hold_s = int(holding.get("timeout") or 0)
    blocks = holding.get("onFailure") == "block"
    reason = hold_reason(holding, minutes=hold_s // 60, blocks=blocks)
    when_idle = ", when idle" if claude_code.IDLE in hooks else ""
    results = [
        CheckResult("observe", "PostToolUse" in hooks, "each tool call"),
        CheckResult("hold", hold_s >= HOOK_HOLD_S, reason),
        CheckResult("inject", bool(holding), f"at next tool, at stop{when_idle}"),
        CheckResult("terminate", bool(holding), "at the next hook"),
    ]
    # With the forwarder, its permission questions cannot be answered from elsewhere. This is not a
    # fault of the settings: nothing is reported.
    asking = hooks.get(PERMISSION_EVENT) or {}
    if asking.get("type") == "http":
        minutes = int(asking.get("timeout") or 0) // 60
        reason = f"here or at its terminal, up to {minutes} min" if minutes else CONNECT_AGAIN
        results.append(CheckResult("permit", bool(minutes), reason))
    # If there is a usage hook, it reports usage; otherwise the forwarder does with each tool.
    telling = hooks.get(USAGE_EVENT) or hooks.get("PostToolUse") or {}
    cost = COST_SOURCES.get(str(telling.get("type")), "")
    return (*results, CheckResult("cost", bool(cost), cost or NO_COST))


def reports_missing_path(body: Body) -> bool:
    """Return whether a tool failed because a path does not exist."""
    return bool(MISSING_PATH.search(str(body.get("error") or "")))


def stays_open(environment: Mapping[str, str]) -> bool:
    """Return whether this session lives on after the model has stopped.

    `claude -p` waits for our hook before it ends, so we must not wait there; a host that keeps its
    session open (stream-json) sets `MISSIONCONTROL_WAKE`.
    """
    forced = environment.get("MISSIONCONTROL_WAKE")
    return forced == "1" if forced else environment.get(ENTRYPOINT_VARIABLE) == "cli"


def usage_body(body: Body) -> dict[str, Any]:
    """Return the part of its body that a usage hook sends."""
    kept = ("session_id", "cwd", "transcript_path")
    return {"hook_event_name": USAGE_EVENT, **{name: body[name] for name in kept if name in body}}


def local_facts(body: Body) -> dict[str, Any]:
    """Return what our forwarder adds to a body: the transcript's last model calls."""
    path = Path(text(body, "transcript_path"))
    if not path.is_file():
        return {}
    folder = path.with_suffix("") / "subagents"
    files = [*newest_files(folder, "agent-*.jsonl", limit=MAX_SUBAGENTS), path]
    calls = [call for file in files for call in _last_calls(file)]
    return {"guard": {"model_calls": calls}} if calls else {}


def _last_calls(path: Path) -> list[dict[str, Any]]:
    """Return the model's last answers, each once, without their texts."""
    calls: dict[str, dict[str, Any]] = {}
    # A subagent's type is in a file beside its own; the session's file has none.
    try:
        kind = text(mapping(json.loads(path.with_suffix(".meta.json").read_bytes())), "agentType")
    except (OSError, ValueError):
        kind = ""
    for row in last_rows(path, max_bytes=TAIL_BYTES):
        message = mapping(row.get("message"))
        name, model = text(message, "id"), text(message, "model")
        # Each block of an answer is a record with the answer's id and usage: the last record
        # counts.
        if not name or model == SYNTHETIC_MODEL or not message.get("usage"):
            continue
        # A record holds one block of the answer: the first that calls a tool determines its turn.
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
    return list(calls.values())[-MAX_CALLS:]


ADAPTER = Adapter(
    client=claude_code.CLIENT,
    title="Claude Code",
    holding_events=claude_code.HOLDING,
    start_events=frozenset({"SessionStart"}),
    read=claude_code.read,
    answer=claude_code.answer,
    capabilities=claude_code.capabilities,
    program="claude",
    settings=SETTINGS,
    settings_hold_key=True,
    check_hooks=check_hooks,
    local_facts=local_facts,
    vias=("http", "command"),
    reports_missing_path=reports_missing_path,
    entrypoint_variable=ENTRYPOINT_VARIABLE,
    idle_event=claude_code.IDLE,
    permission_wait_s=claude_code.permission_wait_s,
    stays_open=stays_open,
)
