"""Claude Code's settings file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from guard.adapters.claude_code import telemetry
from guard.adapters.claude_code.hooks import CLIENT, HOLDING, HOOKS, IDLE
from guard.adapters.claude_code.usage import EVENT
from guard.adapters.hook_settings import Hooks, HookSettings, Settings, Wiring
from guard.adapters.hook_wiring import HEADER, HookWiring
from guard.sdk.keys import USER_WIDE
from guard.sdk.timing import REPORT_HOOK_S

HOOK_PATH = f"/api/v1/hooks/{CLIENT}/"

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


FORWARD_ARGS = ["hook", CLIENT]
AT_REST, FOR_USAGE = "--idle", "--usage"
# What a hook of ours does beside forwarding, under a name of our own: it hangs on an event whose
# forwarding hook stands there already.
BESIDE = {AT_REST: IDLE, FOR_USAGE: EVENT}


class ClaudeCodeSettings(HookSettings):
    """Two of our hooks may stand beside a forwarding one, and telemetry beside them all.

    The key is written literally, so that no variable needs to be set.
    """

    events = HOOKS

    def path(self, project: Path | None) -> Path:
        if project is not None:
            return project / ".claude" / "settings.local.json"
        home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
        return home / "settings.json"

    def connected(self, settings: Settings, wiring: Wiring) -> Settings:
        written = self.disconnected(settings)
        # Claude Code ignores telemetry settings in a project (2.1.330).
        if wiring.place == USER_WIDE:
            written = telemetry.put_in(written, wiring)
        written = self.added(written, wiring)
        if wiring.via == "http" and not telemetry.is_on(written):
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
        return super().disconnected(telemetry.taken_out(settings))

    def subscribed(self, settings: Settings) -> Hooks:
        # Telemetry tells of the money in the place of our hook for it.
        tells = {EVENT: {"type": "telemetry"}} if telemetry.is_on(settings) else {}
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
