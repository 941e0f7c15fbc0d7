"""How an agent that another agent started finds its parent run.

A run's parent is named by its id or by its key (`claude-code:SESSION`) in one
environment variable, which every process that an agent starts inherits.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

PARENT_VARIABLE = "MISSIONCONTROL_PARENT_RUN"
# A session of our SDK joins the run with this key, where `guard run` set it.
RUN_KEY_VARIABLE = "MISSIONCONTROL_RUN_KEY"
# Characters of a run's key; the server accepts no more.
MAX_KEY_CHARS = 200

_RESUMED_SESSION = re.compile(
    r"(?:--resume|-r)[ =]([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b"
)


def parent_in_environment(environ: Mapping[str, str]) -> str | None:
    """Return the parent that an environment names, or None.

    >>> parent_in_environment({"MISSIONCONTROL_PARENT_RUN": "claude-code:7f3a"})
    'claude-code:7f3a'
    """
    named = environ.get(PARENT_VARIABLE, "").strip()
    return named if 0 < len(named) <= MAX_KEY_CHARS else None


def child_environment(run: str | None) -> dict[str, str]:
    """Return what to add to the environment of a process that this run starts.

    That process opens runs of its own; it does not join this one.

    >>> child_environment("0192-run")
    {'MISSIONCONTROL_PARENT_RUN': '0192-run', 'MISSIONCONTROL_RUN_KEY': ''}
    """
    return {PARENT_VARIABLE: run, RUN_KEY_VARIABLE: ""} if run else {}


def opening_with_parent(opening: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Add the parent named by the environment to the opening of a run."""
    named = parent_in_environment(environ)
    # No run is its own parent, although a process below it inherits its name.
    if named is None or named == opening.get("key"):
        return dict(opening)
    return {**opening, "parent_key": named}


def body_with_parent(client: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Add the session's parent to the body of its first hook."""
    surrounding = os.environ.get(RUN_KEY_VARIABLE, "").strip()[:MAX_KEY_CHARS]
    # A fork gets a new session id; only its command line still names the old one.
    process = os.environ.get("CLAUDE_PID", "")
    forked_from = None
    if body.get("source") == "fork" and process.isdigit():
        command = ["ps", "-o", "args=", "-p", process]
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
            if found := _RESUMED_SESSION.search(done.stdout):
                forked_from = f"{client}:{found[1]}"
    # A fork's parent is the session it left, whatever else the environment names.
    named = forked_from or parent_in_environment(os.environ) or surrounding or None
    if named is None or named == _run_key(client, body):
        return dict(body)
    return {**body, "parent_run": named}


def export_parent(client: str, body: Mapping[str, Any]) -> None:
    """Make what this session starts from its shell name the session as its parent.

    Claude Code reads the file named by `CLAUDE_ENV_FILE` before each command.
    """
    file, key = os.environ.get("CLAUDE_ENV_FILE"), _run_key(client, body)
    if not file or not key:
        return
    added = child_environment(key).items()
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in added]
    try:
        with Path(file).open("a", encoding="utf-8") as script:
            script.write("".join(lines))
    except OSError:
        return  # a child without a link is watched all the same


def parent_of(body: Mapping[str, Any]) -> tuple[str | None, Literal["child", "forked"]]:
    """Return the parent named by a hook body, and how the session is related to it.

    >>> parent_of({"parent_run": "claude-code:7f3a", "source": "fork"})
    ('claude-code:7f3a', 'forked')
    >>> parent_of({"source": "startup"})
    (None, 'child')
    """
    named = body.get("parent_run")
    is_named = isinstance(named, str) and 0 < len(named) <= MAX_KEY_CHARS
    return (named if is_named else None), "forked" if body.get("source") == "fork" else "child"


def _run_key(client: str, body: Mapping[str, Any]) -> str | None:
    session = body.get("session_id")
    return f"{client}:{session}" if isinstance(session, str) and session else None
