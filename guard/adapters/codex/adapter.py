"""The adapter for Codex CLI: its `hooks.json`, what its hooks can do as set, and trials of them.

Codex reads the user's file (`$CODEX_HOME`, else `~/.codex`) and that of a trusted project
(`.codex`). Each hook is a command that gets the body on stdin; ours is the forwarder, so the file
contains no key. `guard doctor codex` calls the forwarder as Codex does, and checks Codex's trust.

A rollout is the session's record, one JSON object a line, written as the session runs. When a
command's `PostToolUse` hook is called, the rollout has its exit code and the token counts of the
model call that made it (0.169.0; ordinals 10 and 11 before the hook, the model's view of the output
after it).
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from guard.adapters.base import Adapter, CheckResult, Hooks, HookSettings, Wiring, hold_reason
from guard.adapters.codex import hooks as codex
from guard.adapters.codex import rpc
from guard.adapters.hook import PROBE_BODY
from guard.adapters.parsing import last_rows, mapping, text
from guard.errors import GuardError
from guard.running.processes import session_process
from guard.running.session_notes import guard_run_facts
from guard.sdk.connections import HOOK_HOLD_S, REPORT_HOOK_S

TRY_TIMEOUT_S = 30

TRUSTED = frozenset({"trusted", "managed"})

REVIEW = "start `codex`, type /hooks and trust Mission Control's; only you can do that"
WITH_MATCHER = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse"})
# Codex gives the hook at a session's end only this many seconds.
END_TIMEOUT_S = 3
FORWARD_COMMAND = f" hook {codex.CLIENT}"
TRUST = (
    "Codex runs no hook that you have not reviewed: start `codex`, type /hooks, and trust "
    "Mission Control's. Only you can do that; we do not."
)
INJECT = (
    "at next tool, at stop; at once, and when idle, on Codex's own screen; at once under "
    "`guard run -- codex exec`"
)
TERMINATE = (
    "Codex's own screen at once, its turn is interrupted; `codex exec` by a signal to its process "
    "at the next hook, under `guard run` at once; not inside an IDE, whose sessions share a process"
)
# Bytes read from a rollout's end: a few turns, whatever the session's length.
TAIL_BYTES = 512 * 1024

MAX_CALLS = 16

# At these events no model call was made since the last hook.
_START_EVENTS = frozenset({"SessionStart", "UserPromptSubmit"})


def try_forwarder(hook: Hooks) -> CheckResult:
    """Call our hook as Codex does, with a body that is not stored."""
    command = text(hook, "command")
    probe = json.dumps({**PROBE_BODY, "cwd": str(Path.cwd())})
    if not command:
        return CheckResult("forwarder", False, "no hook before a tool runs")
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=probe,
            capture_output=True,
            text=True,
            timeout=TRY_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return CheckResult("forwarder", False, str(error))
    # The forwarder exits with 0 whatever goes wrong, and reports it on stderr.
    fault = done.stderr.strip().splitlines()[-1:] or ([] if done.returncode == 0 else ["it failed"])
    return CheckResult("forwarder", not fault, fault[0] if fault else "answers as Codex calls it")


def check_trust() -> CheckResult:
    """Ask Codex whether the user has reviewed our hooks."""
    program = shutil.which("codex")
    if program is None:
        return CheckResult(
            "review", False, f"no `codex` is on the PATH to ask; if in doubt, {REVIEW}"
        )
    try:
        # Imported here: only the doctor asks, but a hook before every tool loads this module, too.
        from guard.running.app_server import AppServer

        inbox = queue.SimpleQueue[object]()
        server = AppServer([program, "app-server"], env=os.environ, inbox=inbox, quiet=True)
        with closing(server):
            server.initialize()
            hooks = server.our_hooks(str(Path.cwd()))
    except (GuardError, OSError) as error:
        return CheckResult("review", False, f"Codex does not say: {error}")
    unread = [hook for hook in hooks if hook.get("trustStatus") not in TRUSTED]
    if len(hooks) < len(codex.HOOKS) or unread:
        return CheckResult("review", False, f"Codex runs none of them yet: {REVIEW}")
    return CheckResult("review", True, "you have trusted our hooks in Codex")


class CodexSettings(HookSettings):
    """Settings whose command contains only the path of `guard`.

    Codex asks for a new review of a hook whose text changed, so another server or key must not
    change it.
    """

    events = codex.HOOKS

    def path(self, project: Path | None) -> Path:
        if project is not None:
            return project / ".codex" / "hooks.json"
        return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "hooks.json"

    def hook_group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        timeout = wiring.hold_s if event in codex.HOLDING else REPORT_HOOK_S
        hook = {
            "type": "command",
            "command": f"{shlex.join(wiring.forwarder)}{FORWARD_COMMAND}",
            "timeout": END_TIMEOUT_S if event == "SessionEnd" else timeout,
            "statusMessage": "Mission Control",
        }
        return ({"matcher": ".*"} if event in WITH_MATCHER else {}) | {"hooks": [hook]}

    def is_ours(self, hook: Any) -> bool:
        return isinstance(hook, dict) and str(hook.get("command", "")).endswith(FORWARD_COMMAND)


SETTINGS = CodexSettings()


def local_facts(body: dict[str, Any]) -> dict[str, Any]:
    """Return the rollout's facts and the session's own process."""
    # An app-server holds many sessions: a signal to it would end them all.
    pid = session_process(codex.CLIENT, unless="app-server")
    facts: dict[str, Any] = {"pid": pid} if pid else {}
    # Codex's own screen uses a shared server, through which a session can be reached.
    if rpc.socket_of_daemon():
        facts["daemon"] = True
    return {"guard": rollout_facts(body) | facts | guard_run_facts()}


def check_hooks(hooks: Hooks) -> tuple[CheckResult, ...]:
    """Return what these hooks can do once the server answers; call the forwarder as a trial."""
    holding = hooks.get("PreToolUse") or {}
    hold_s = int(holding.get("timeout") or 0)
    reason = hold_reason(holding, minutes=hold_s // 60, over=", over a server's restart")
    # A hook that cannot be started, or that the user has not trusted, does nothing at all.
    forwarder, review = try_forwarder(holding), check_trust()
    runs = forwarder.works and review.works
    as_set = {
        "observe": ("PostToolUse" in hooks, "each tool call"),
        "hold": (hold_s >= HOOK_HOLD_S, reason),
        "inject": (bool(holding), INJECT),
        "terminate": (bool(holding), TERMINATE),
        "cost": ({"PostToolUse", "Stop"} <= hooks.keys(), "token counts from the rollout file"),
    }
    can = (CheckResult(name, runs and works, reason) for name, (works, reason) in as_set.items())
    return (forwarder, review, *can)


def rollout_facts(body: dict[str, Any]) -> dict[str, Any]:
    """Return the rollout's facts about the event in a hook body.

    Returns:
        `exit_code` of the command that ran, if recorded, and `model_calls`: the last ones, oldest
        first. They are reported again with each hook, so that those behind a call that never ran
        are not lost.
    """
    path = text(body, "transcript_path")
    if not path or body.get("hook_event_name") in _START_EVENTS:
        return {}
    records = list(last_rows(Path(path), max_bytes=TAIL_BYTES))
    payloads = [mapping(record.get("payload")) for record in records]
    facts: dict[str, Any] = {}
    call = text(body, "tool_use_id")
    # Backwards: the record of the call that has just ended is near the end.
    for item in (mapping(payload.get("item")) for payload in reversed(payloads)):
        if call and item.get("id") == call and isinstance(item.get("exit_code"), int):
            facts["exit_code"] = int(item["exit_code"])
            break
    # The usage of each answer of the model, without its text.
    calls = [
        {
            "id": payload.get("response_id"),
            "usage": payload.get("usage"),
            "timestamp": record.get("timestamp"),
        }
        for record, payload in zip(records, payloads, strict=True)
        if record.get("type") == "token_usage_record"
    ]
    return facts | {"model_calls": calls[-MAX_CALLS:]}


ADAPTER = Adapter(
    client=codex.CLIENT,
    title="Codex",
    holding_events=codex.HOLDING,
    start_events=frozenset({"SessionStart"}),
    read=codex.read,
    answer=codex.answer,
    capabilities=codex.capabilities,
    program="codex",
    reach_session=rpc.reach_session,
    settings=SETTINGS,
    check_hooks=check_hooks,
    advice=(TRUST,),
    local_facts=local_facts,
)
