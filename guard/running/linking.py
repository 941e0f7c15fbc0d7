"""How `guard run` learns which sessions its command has: the forwarder leaves a note.

A hooked agent names its sessions itself. Its hooks call our forwarder, which runs
below `guard run` and finds in its environment where to note them.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from urllib.parse import quote, unquote

# The directory for notes; names who keeps the process this runs below.
NOTES = "MISSIONCONTROL_NOTES"

# Set where the keeper itself carries messages to the model: hooks carry none.
STEERED = "MISSIONCONTROL_STEERED"


def note_session(client: str, session: str) -> None:
    """Leave a note of a session, where somebody keeps us; done once."""
    folder = os.environ.get(NOTES)
    if folder and session:
        with contextlib.suppress(OSError):
            # A file for each, not a line: the hooks of several sessions run at once.
            (Path(folder) / quote(f"{client}:{session}", safe="")).touch(mode=0o600)


def noted(folder: Path) -> set[str]:
    """Return the run keys of the sessions that were noted."""
    try:
        return {unquote(entry.name) for entry in folder.iterdir()}
    except OSError:
        return set()


def kept_facts() -> dict[str, bool]:
    """Say in a hook body that a keeper can end this agent, or speaks to its model."""
    marks = {"kept": NOTES, "steered": STEERED}
    return {fact: True for fact, variable in marks.items() if os.environ.get(variable)}
