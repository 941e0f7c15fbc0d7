"""How an agent that another agent started finds the run it belongs to.

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
# A session of our SDK joins the run of this key, where `guard run` set it.
OWN_VARIABLE = "MISSIONCONTROL_RUN_KEY"
# Characters of a run's key; the server takes no more.
LONGEST_KEY = 200

_RESUMED = re.compile(
    r"(?:--resume|-r)[ =]([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b"
)


def parent_named_in(environ: Mapping[str, str]) -> str | None:
    """Give the parent that an environment names, None where it names none.

    >>> parent_named_in({"MISSIONCONTROL_PARENT_RUN": "claude-code:7f3a"})
    'claude-code:7f3a'
    """
    named = environ.get(PARENT_VARIABLE, "").strip()
    return named if 0 < len(named) <= LONGEST_KEY else None


def environment_under(run: str | None) -> dict[str, str]:
    """Give what to add to the environment of a process that this run starts.

    It opens runs of its own: it does not join this one.

    >>> environment_under("0192-run")
    {'MISSIONCONTROL_PARENT_RUN': '0192-run', 'MISSIONCONTROL_RUN_KEY': ''}
    """
    return {PARENT_VARIABLE: run, OWN_VARIABLE: ""} if run else {}


def opening_under(opening: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Add the parent that the environment names to the opening of a run."""
    named = parent_named_in(environ)
    # None is its own parent, though a process below it inherits the name.
    if named is None or named == opening.get("key"):
        return dict(opening)
    return {**opening, "parent_key": named}


def with_parent(client: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Add to the body of a session's first hook whom the session belongs to."""
    around = os.environ.get(OWN_VARIABLE, "").strip()[:LONGEST_KEY]
    # A fork gets a new session id; only its command line still names the old one.
    process = os.environ.get("CLAUDE_PID", "")
    forked_from = None
    if body.get("source") == "fork" and process.isdigit():
        asked = ["ps", "-o", "args=", "-p", process]
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True)
            if found := _RESUMED.search(done.stdout):
                forked_from = f"{client}:{found[1]}"
    # A fork stems from the session it left, whatever else stands around both.
    named = forked_from or parent_named_in(os.environ) or around or None
    if named is None or named == _own_key(client, body):
        return dict(body)
    return {**body, "parent_run": named}


def hand_on(client: str, body: Mapping[str, Any]) -> None:
    """Have what this session starts from its shell name the session as its parent.

    Claude Code reads the file it names in `CLAUDE_ENV_FILE` before each command.
    """
    file, key = os.environ.get("CLAUDE_ENV_FILE"), _own_key(client, body)
    if not file or not key:
        return
    added = environment_under(key).items()
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in added]
    try:
        with Path(file).open("a", encoding="utf-8") as script:
            script.write("".join(lines))
    except OSError:
        return  # a child that is not linked is watched all the same


def parent_of(body: Mapping[str, Any]) -> tuple[str | None, Literal["child", "forked"]]:
    """Read from a hook body the parent it names, and how the session belongs to it.

    >>> parent_of({"parent_run": "claude-code:7f3a", "source": "fork"})
    ('claude-code:7f3a', 'forked')
    >>> parent_of({"source": "startup"})
    (None, 'child')
    """
    named = body.get("parent_run")
    is_named = isinstance(named, str) and 0 < len(named) <= LONGEST_KEY
    return (named if is_named else None), "forked" if body.get("source") == "fork" else "child"


def _own_key(client: str, body: Mapping[str, Any]) -> str | None:
    session = body.get("session_id")
    return f"{client}:{session}" if isinstance(session, str) and session else None
