"""Gemini CLI's settings file: our hooks put in and taken out. Pure.

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

from guard.adapters import matcher_groups
from guard.adapters.base import Hooks, Settings, Wiring
from guard.adapters.gemini.hooks import CLIENT, HOLDING, HOOKS
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


def path(project: Path | None) -> Path:
    """Name the file Gemini CLI reads: a project's, or the person's."""
    if project is not None:
        return project / ".gemini" / "settings.json"
    home = os.environ.get("GEMINI_CLI_HOME")
    return Path(home or Path.home()) / ".gemini" / "settings.json"


def connected(settings: Settings, wiring: Wiring) -> Settings:
    """Return the settings with our hooks in, whatever else they hold kept.

    Doing it twice changes nothing more; another forwarder replaces ours. No key
    stands in the file: the forwarder knows it.
    """
    # Ours out first: so a second time changes nothing, and another forwarder takes its place.
    written = disconnected(settings)
    hooks = written.setdefault("hooks", {})
    for event in HOOKS:
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
        hooks.setdefault(event, []).append({"hooks": [hook]})
    return written


def disconnected(settings: Settings) -> Settings:
    """Return the settings without our hooks; empty groups of ours go with them."""
    return matcher_groups.without(settings, is_ours)


def subscribed(settings: Settings) -> Hooks:
    """Return event -> our hook, for the events that reach us."""
    return matcher_groups.found(settings, is_ours)


def is_ours(hook: Any) -> bool:
    """Whether `guard connect` wrote this entry, for whatever server."""
    return isinstance(hook, dict) and FORWARDS in str(hook.get("command", ""))


def forwarder_of(hook: Hooks) -> str:
    """Return the program one of our entries starts, as it was written."""
    try:
        words = shlex.split(str(hook.get("command", "")).partition(FORWARDS)[0])
    except ValueError:  # not as we wrote it
        return ""
    return words[0] if words else ""
