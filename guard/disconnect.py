"""`guard disconnect AGENT`: undo `guard connect`."""

from __future__ import annotations

import argparse

from guard.adapters.claude_code_settings import disconnected
from guard.connect import DONE, REFUSED, add_place_arguments, agreed, refuse, say
from guard.errors import GuardError
from guard.keys import forget
from guard.settings_file import SettingsFile, claude_code_file

add_arguments = add_place_arguments


def run(args: argparse.Namespace) -> int:
    """Take our hooks and the key out again; answers the exit status."""
    try:
        file = claude_code_file(args.project_dir)
        return _disconnect(file, args.client, yes=args.yes)
    except GuardError as error:
        return refuse(error)


def _disconnect(file: SettingsFile, client: str, *, yes: bool) -> int:
    before = file.read()
    after = disconnected(before)
    if not agreed(file.path, before, after, yes=yes):
        return REFUSED
    if after != before:
        file.write(after)
    forget(client, file.place)
    say("Claude Code is disconnected.")
    return DONE
