"""Claude Code's settings file: our hooks put in and taken out. Pure."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from guard.adapters import matcher_groups
from guard.adapters.base import Hooks, Settings, Wiring
from guard.adapters.claude_code import telemetry
from guard.adapters.claude_code.hooks import CLIENT, HOLDING, HOOKS, IDLE
from guard.adapters.claude_code.usage import EVENT
from guard.adapters.hook_wiring import HEADER, HookWiring
from guard.sdk.keys import USER_WIDE

HOOK_PATH = f"/api/v1/hooks/{CLIENT}/"

REPORT_TIMEOUT_S = 30
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


def path(project: Path | None) -> Path:
    """Name the file Claude Code reads: a project's local one, or the person's."""
    if project is not None:
        return project / ".claude" / "settings.local.json"
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    return home / "settings.json"


def connected(settings: Settings, wiring: Wiring) -> Settings:
    """Return the settings with our hooks in, whatever else they hold kept.

    Doing it twice changes nothing more; another URL or key replaces ours. The
    key is written literally, so that no variable needs to be set.
    """
    written = disconnected(settings)
    # Claude Code ignores telemetry settings in a project (2.1.330).
    if wiring.place == USER_WIDE:
        written = telemetry.put_in(written, wiring)
    tells_usage = wiring.via == "http" and not telemetry.is_on(written)
    hooks = written.setdefault("hooks", {})
    for event in HOOKS:
        group = {"matcher": "*"} if event in WITH_MATCHER else {}
        ours = [_hook(event, wiring)]
        # Both run beside the session, which waits for neither: one rests with it, and what it
        # ends with wakes the model; one reads what the last calls used.
        if event == "Stop":
            waking = {"asyncRewake": True, "timeout": WAKE_TIMEOUT_S}
            ours.append(_command(wiring, AT_REST) | waking)
        if tells_usage and event in USAGE_AFTER:
            ours.append(_command(wiring, FOR_USAGE) | {"async": True, "timeout": REPORT_TIMEOUT_S})
        hooks.setdefault(event, []).append({**group, "hooks": ours})
    return written


def disconnected(settings: Settings) -> Settings:
    """Return the settings without our hooks; empty groups of ours go with them."""
    return matcher_groups.without(telemetry.taken_out(settings), is_ours)


def subscribed(settings: Settings) -> Hooks:
    """Return event -> our hook, for the events that reach us.

    `IDLE` is the waking one; `EVENT` stands where something tells of the money.
    """
    found = matcher_groups.found(settings, partial(_is_beside, flag=""))
    # Under names of our own: they hang on events whose forwarding hook stands here already.
    for name, flag in BESIDE.items():
        ours = matcher_groups.found(settings, partial(_is_beside, flag=flag))
        found |= dict(zip((name,), ours.values(), strict=False))
    return found | ({EVENT: {"type": "telemetry"}} if telemetry.is_on(settings) else {})


def _is_beside(hook: Any, *, flag: str) -> bool:
    """Whether an entry of ours does this beside forwarding; empty: nothing beside."""
    if not is_ours(hook):
        return False
    flags = [word for word in hook.get("args") or () if word in BESIDE.values()]
    return flags == ([flag] if flag else [])


def is_ours(hook: Any) -> bool:
    """Whether `guard connect` wrote this entry, for whatever server."""
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "http":
        return str(hook.get("url", "")).endswith(HOOK_PATH)
    # By what it calls: wherever that `guard` lies, and whatever it does beside forwarding.
    args = hook.get("args")
    words = [str(arg) for arg in args] if isinstance(args, list) else []
    return [word for word in words if word not in BESIDE.values()][-2:] == FORWARD_ARGS


FORWARD_ARGS = ["hook", CLIENT]
AT_REST, FOR_USAGE = "--idle", "--usage"
BESIDE = {IDLE: AT_REST, EVENT: FOR_USAGE}


def _hook(event: str, wiring: Wiring) -> dict[str, Any]:
    """Write what an event calls, and what becomes of it where that fails."""
    # A dialog stands at the terminal meanwhile: not to be answered from here harms nobody.
    asks = event == ASKS and wiring.via == "http"
    timeout_s = START_TIMEOUT_S if event == "SessionStart" else REPORT_TIMEOUT_S
    timeout_s = wiring.hold_s if asks or event in HOLDING else timeout_s
    blocks = event in HOLDING and wiring.fail == "closed"
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
