"""Gemini CLI's settings file.

Each hook is a command for the shell, with the body on its stdin; times are
milliseconds. Any exit status but 0 and 1 blocks what the hook is about, a missing
script's 127 too (0.61.0; its documentation says 2 alone): the commands end so that
a forwarder that is gone does what fail-open or fail-closed says.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from guard.adapters.gemini.hooks import CLIENT, HOLDING, HOOKS
from guard.adapters.hook_settings import Hooks, HookSettings, Wiring
from guard.sdk.timing import HOOK_HOLD_S, REPORT_HOOK_S

NAME = "mission-control"
FORWARDS = f" hook {CLIENT}"

# Gemini CLI's own default is a minute, and then the tool runs.
HOLD_TIMEOUT_MS = HOOK_HOLD_S * 1000

REPORT_TIMEOUT_MS = REPORT_HOOK_S * 1000

OPEN = "|| exit 0"
CLOSED = "|| { echo 'Mission Control is away, and this project fails closed.' >&2; exit 2; }"

# AfterModel comes with every piece of a streamed answer, and Gemini CLI waits for it: only the
# last piece, which says why it ended, is worth starting Python for.
LAST_PIECE = (
    'b=$(cat); case $b in *\'"finishReason"\'*) printf %s "$b" | {forward} || exit 0;; esac'
)


class GeminiSettings(HookSettings):
    """No key stands in the file: the forwarder knows it."""

    events = HOOKS

    def path(self, project: Path | None) -> Path:
        home = project or Path(os.environ.get("GEMINI_CLI_HOME") or Path.home())
        return home / ".gemini" / "settings.json"

    def group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        forward = f"{shlex.join(wiring.forwarder)}{FORWARDS}"
        if os.name == "nt":  # PowerShell, which has none of this
            command = forward
        elif event == "AfterModel":
            command = LAST_PIECE.replace("{forward}", forward)
        else:
            closed = event in HOLDING and wiring.fail == "closed"
            command = f"{forward} {CLOSED if closed else OPEN}"
        hook = {
            "type": "command",
            "name": NAME,
            "command": command,
            "timeout": wiring.hold_s * 1000 if event in HOLDING else REPORT_TIMEOUT_MS,
            "description": "Mission Control",
        }
        return {"hooks": [hook]}

    def is_ours(self, hook: Any) -> bool:
        return isinstance(hook, dict) and FORWARDS in str(hook.get("command", ""))


SETTINGS = GeminiSettings()


def forwarder_of(hook: Hooks) -> str:
    """Return the program one of our entries starts, as it was written."""
    try:
        words = shlex.split(str(hook.get("command", "")).partition(FORWARDS)[0])
    except ValueError:  # not as we wrote it
        return ""
    return words[0] if words else ""
