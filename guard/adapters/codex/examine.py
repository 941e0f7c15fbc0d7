"""What `guard doctor codex` tries: the forwarder as Codex calls it, and Codex's trust."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

from guard.adapters.base import Finding
from guard.adapters.codex.hooks import HOOKS
from guard.adapters.hook import PROBING
from guard.adapters.hook_settings import Hooks
from guard.adapters.reading import text
from guard.errors import GuardError

TRIES_S = 30

TRUSTED = frozenset({"trusted", "managed"})

REVIEW = "start `codex`, type /hooks and trust Mission Control's; only you can do that"


def try_forwarder(hook: Hooks) -> Finding:
    """Call our hook as Codex does, with a body that stores nothing."""
    command = text(hook, "command")
    probe = json.dumps({**PROBING, "cwd": str(Path.cwd())})
    if not command:
        return Finding("forwarder", False, "no hook before a tool runs")
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=probe,
            capture_output=True,
            text=True,
            timeout=TRIES_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("forwarder", False, str(error))
    # The forwarder exits with 0 whatever goes wrong, and says it on stderr.
    fault = done.stderr.strip().splitlines()[-1:] or ([] if done.returncode == 0 else ["it failed"])
    return Finding("forwarder", not fault, fault[0] if fault else "answers as Codex calls it")


def ask_trust() -> Finding:
    """Ask Codex whether its person has reviewed our hooks."""
    program = shutil.which("codex")
    if program is None:
        return Finding("review", False, f"no `codex` is on the PATH to ask; if in doubt, {REVIEW}")
    try:
        # Only the doctor asks; a hook, before every tool, loads this module too.
        from guard.running.app_server import AppServer

        inbox = queue.SimpleQueue[object]()
        server = AppServer([program, "app-server"], env=os.environ, inbox=inbox, quiet=True)
        with closing(server):
            server.begin()
            hooks = server.our_hooks(str(Path.cwd()))
    except (GuardError, OSError) as error:
        return Finding("review", False, f"Codex does not say: {error}")
    unread = [hook for hook in hooks if hook.get("trustStatus") not in TRUSTED]
    if len(hooks) < len(HOOKS) or unread:
        return Finding("review", False, f"Codex runs none of them yet: {REVIEW}")
    return Finding("review", True, "you have trusted our hooks in Codex")
