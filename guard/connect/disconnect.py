"""`guard disconnect AGENT`: undo `guard connect`."""

from __future__ import annotations

import argparse

from guard.adapters import adapter_of
from guard.connect.command import DONE, REFUSED, add_place_arguments, agreed, say
from guard.connect.settings_file import forget_before, put_back, settings_file, take_into_git
from guard.sdk.connections import delete_connection

add_arguments = add_place_arguments


def run(args: argparse.Namespace) -> int:
    """Remove our hooks and the key; return the exit status."""
    adapter = adapter_of(args.client)
    file = settings_file(adapter.settings, args.project_dir)
    before = file.read()
    after = adapter.settings.disconnected(before)
    if not agreed(file.path, before, after, yes=args.yes):
        return REFUSED
    # If nobody else changed it, restored byte for byte; otherwise only our entries are removed.
    if after != before and not put_back(file.path):
        file.write(after)
    if adapter.settings_hold_key:
        take_into_git(file.path)
    delete_connection(adapter.client, file.place)
    forget_before(file.path)
    say(f"{adapter.title} is disconnected.")
    return DONE
