"""How `guard run` learns which sessions its command has: the forwarder leaves a note.

A hooked agent names its sessions itself. Its hooks call our forwarder, which runs below `guard run`
and finds the directory for notes in its environment.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from urllib.parse import quote, unquote

# The directory for notes; the variable also shows that a supervisor runs above this process.
NOTES_VARIABLE = "MISSIONCONTROL_NOTES"

# Set if the supervisor itself gives messages to the model: then hooks give none.
STEERED_VARIABLE = "MISSIONCONTROL_STEERED"


def note_session(client: str, session: str) -> None:
    """Leave a note of a session, if a supervisor runs above us; once for each session."""
    folder = os.environ.get(NOTES_VARIABLE)
    if folder and session:
        with contextlib.suppress(OSError):
            # One file each, not one line: the hooks of several sessions run at once.
            (Path(folder) / quote(f"{client}:{session}", safe="")).touch(mode=0o600)


def noted_sessions(folder: Path) -> set[str]:
    """Return the run keys of the sessions that were noted."""
    try:
        return {unquote(entry.name) for entry in folder.iterdir()}
    except OSError:
        return set()


def guard_run_facts() -> dict[str, bool]:
    """Add to a hook body that a supervisor can end this agent, or speaks to its model."""
    marks = {"kept": NOTES_VARIABLE, "steered": STEERED_VARIABLE}
    return {fact: True for fact, variable in marks.items() if os.environ.get(variable)}
