"""Codex's `hooks.json`.

Codex reads the person's (`$CODEX_HOME`, else `~/.codex`) and a trusted project's
(`.codex`). Each hook is a command that gets the body on stdin; ours is the
forwarder, so no key stands in the file.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from guard.adapters.codex.hooks import CLIENT, HOLDING, HOOKS
from guard.adapters.hook_settings import HookSettings, Wiring
from guard.sdk.timing import REPORT_HOOK_S

WITH_MATCHER = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse"})
# Codex gives the hook at a session's end no longer.
END_S = 3

OURS = f" hook {CLIENT}"


class CodexSettings(HookSettings):
    """The command says nothing but where `guard` is.

    Codex asks for a new review of a hook whose text changed, so another server or key must
    not change it.
    """

    events = HOOKS

    def path(self, project: Path | None) -> Path:
        if project is not None:
            return project / ".codex" / "hooks.json"
        return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "hooks.json"

    def group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        timeout = wiring.hold_s if event in HOLDING else REPORT_HOOK_S
        hook = {
            "type": "command",
            "command": f"{shlex.join(wiring.forwarder)}{OURS}",
            "timeout": END_S if event == "SessionEnd" else timeout,
            "statusMessage": "Mission Control",
        }
        return ({"matcher": ".*"} if event in WITH_MATCHER else {}) | {"hooks": [hook]}

    def is_ours(self, hook: Any) -> bool:
        return isinstance(hook, dict) and str(hook.get("command", "")).endswith(OURS)


SETTINGS = CodexSettings()
