"""The adapter for Gemini CLI: its settings, and whether and how its hooks run.

Each hook is a shell command with the body on its stdin; times are in milliseconds. Any exit status
but 0 and 1 blocks the hook's subject, even the 127 of a missing script (0.61.0; its documentation
says 2 alone): our commands therefore end in such a way that a missing forwarder has the effect of
fail-open or fail-closed. In a folder that is not trusted no hook runs, not even the user's own
(`packages/core/src/utils/trust.ts` and the settings' schema of 0.61.0).
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from guard.adapters.base import Adapter, Body, CheckResult, Hooks, HookSettings, Wiring, hold_reason
from guard.adapters.gemini import hooks as gemini
from guard.adapters.parsing import last_rows, mapping, newest_files
from guard.sdk.connections import HOOK_HOLD_S, REPORT_HOOK_S

HOOK_NAME = "mission-control"
FORWARD_COMMAND = f" hook {gemini.CLIENT}"
# Gemini CLI's own default is a minute; then the tool runs.
HOLD_TIMEOUT_MS = HOOK_HOLD_S * 1000
REPORT_TIMEOUT_MS = REPORT_HOOK_S * 1000
FAIL_OPEN = "|| exit 0"
FAIL_CLOSED = "|| { echo 'Mission Control is away, and this project fails closed.' >&2; exit 2; }"
# AfterModel comes with every piece of a streamed answer, and Gemini CLI waits for it: Python is
# started only for the last piece, which contains the reason for the end.
ONLY_LAST_PIECE = (
    'b=$(cat); case $b in *\'"finishReason"\'*) printf %s "$b" | {forward} || exit 0;; esac'
)
TRUST = (
    "Gemini CLI runs hooks only in folders you trust: it asks when you start it there, "
    "or say /permissions."
)
SHARED = (
    "The settings name the forwarder by its path on this machine: in a project that others "
    "share, leave out --project-dir, or keep .gemini/settings.json to yourself."
)
# Bytes read from a transcript: the last call is at its very end.
TAIL_BYTES = 512 * 1024

# Reported again with each hook, so that a lost report is made good.
MAX_CALLS = 8

MAX_SUBAGENTS = 4


def check_machine(folder: Path) -> tuple[CheckResult, ...]:
    """Check the user's and the folder's settings."""
    trusted = is_trusted(folder.resolve())
    state = "is trusted" if trusted else "is not trusted, so no hook runs: start gemini there once"
    trust = CheckResult("trust", trusted, f"{folder.resolve()} {state}")
    # Hooks can be switched off, all or by name, in either file.
    for file in (SETTINGS.path(None), SETTINGS.path(folder)):
        config = mapping(_read_json(file).get("hooksConfig"))
        disabled = config.get("disabled")
        off = isinstance(disabled, list) and HOOK_NAME in disabled
        if config.get("enabled") is False or off:
            reason = f"hooks are disabled in {file}"
            return (trust, CheckResult("switch", False, reason))
    return (trust, CheckResult("switch", True, "hooks are not disabled"))


def is_trusted(folder: Path) -> bool:
    """Return whether Gemini CLI trusts a folder: the longest matching rule decides."""
    # The environment takes precedence over the files.
    forced = os.environ.get("GEMINI_CLI_TRUST_WORKSPACE")
    if forced in {"true", "false"}:
        return forced == "true"
    own = _read_json(SETTINGS.path(None))
    if mapping(mapping(own.get("security")).get("folderTrust")).get("enabled") is False:
        return True
    rules = _read_json(SETTINGS.path(None).with_name("trustedFolders.json"))
    covering = []
    for path, level in rules.items():
        covered = Path(path).parent if level == "TRUST_PARENT" else Path(path)
        if folder.is_relative_to(covered.resolve()):
            covering.append(path)
    return bool(covering) and rules[max(covering, key=len)] in ("TRUST_FOLDER", "TRUST_PARENT")


def _read_json(file: Path) -> dict[str, Any]:
    try:
        return mapping(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError):
        return {}


class GeminiSettings(HookSettings):
    """Settings whose file contains no key: the forwarder knows it."""

    events = gemini.HOOKS

    def path(self, project: Path | None) -> Path:
        home = project or Path(os.environ.get("GEMINI_CLI_HOME") or Path.home())
        return home / ".gemini" / "settings.json"

    def hook_group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        forward = f"{shlex.join(wiring.forwarder)}{FORWARD_COMMAND}"
        if os.name == "nt":  # PowerShell, which has none of this
            command = forward
        elif event == "AfterModel":
            command = ONLY_LAST_PIECE.replace("{forward}", forward)
        else:
            closed = event in gemini.HOLDING and wiring.fail == "closed"
            command = f"{forward} {FAIL_CLOSED if closed else FAIL_OPEN}"
        hook = {
            "type": "command",
            "name": HOOK_NAME,
            "command": command,
            "timeout": wiring.hold_s * 1000 if event in gemini.HOLDING else REPORT_TIMEOUT_MS,
            "description": "Mission Control",
        }
        return {"hooks": [hook]}

    def is_ours(self, hook: Any) -> bool:
        return isinstance(hook, dict) and FORWARD_COMMAND in str(hook.get("command", ""))


SETTINGS = GeminiSettings()


def forwarder_of(hook: Hooks) -> str:
    """Return the program that one of our entries starts, as it was written."""
    try:
        words = shlex.split(str(hook.get("command", "")).partition(FORWARD_COMMAND)[0])
    except ValueError:  # not as we wrote it
        return ""
    return words[0] if words else ""


def check_hooks(hooks: Hooks) -> tuple[CheckResult, ...]:
    """Return what these hooks can do once the server answers."""
    holding = hooks.get("BeforeTool") or {}
    # In milliseconds here; other agents' settings use seconds.
    is_long_enough = int(holding.get("timeout") or 0) >= HOLD_TIMEOUT_MS
    minutes = HOLD_TIMEOUT_MS // 60_000
    blocks = FAIL_CLOSED in str(holding.get("command"))
    holds = hold_reason(holding, minutes=minutes, over=", over a restart", blocks=blocks)
    # A missing forwarder would block every tool, or watch none.
    program = forwarder_of(holding)
    runs = os.access(program, os.X_OK) and Path(program).is_absolute()
    fault = f"{program} cannot be run" if program else "none is set"
    missing = f"{fault}; run `guard connect gemini` again"
    return (
        CheckResult("forwarder", runs, program if runs else missing),
        CheckResult("observe", "AfterTool" in hooks, "each tool call"),
        CheckResult("hold", is_long_enough, holds),
        CheckResult("inject", bool(holding), "at next tool, at stop"),
        CheckResult("terminate", bool(holding), "at the next hook"),
        CheckResult(
            "cost",
            "AfterModel" in hooks and "BeforeTool" in hooks,
            "each model call, with its cached tokens, from the transcript",
        ),
    )


def local_facts(body: Body) -> dict[str, Any]:
    """Return what our forwarder adds to a body: the transcript's last model calls.

    There are none without a transcript; its texts are never sent.
    """
    path = Path(str(body.get("transcript_path") or ""))
    if not path.is_file():
        return {"guard": {}}
    session, files = str(body.get("session_id") or ""), [path]
    # Subagents write into a folder named after their session. The name comes from outside: if it
    # leads elsewhere, it is not followed.
    if session and "/" not in session and not session.startswith("."):
        files = [*newest_files(path.parent / session, "*.jsonl", limit=MAX_SUBAGENTS), path]
    calls = []
    for file in files:
        # By id, since a growing answer is written again; without its text.
        last: dict[str, dict[str, Any]] = {}
        for row in last_rows(file, max_bytes=TAIL_BYTES):
            if row.get("type") == "gemini" and row.get("tokens") and row.get("id"):
                kept = {name: row.get(name) for name in ("id", "model", "tokens", "timestamp")}
                last[str(row["id"])] = kept
        calls += list(last.values())[-MAX_CALLS:]
    return {"guard": {"model_calls": calls}}


ADAPTER = Adapter(
    client=gemini.CLIENT,
    title="Gemini CLI",
    holding_events=gemini.HOLDING,
    start_events=frozenset({"SessionStart"}),
    read=gemini.read,
    answer=gemini.answer,
    capabilities=gemini.capabilities,
    program="gemini",
    settings=SETTINGS,
    check_hooks=check_hooks,
    advice=(TRUST, SHARED),
    local_facts=local_facts,
    reports_missing_path=gemini.reports_missing_path,
    check_machine=check_machine,
)
