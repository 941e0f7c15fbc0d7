"""`guard disconnect AGENT`: undo `guard connect`."""

from __future__ import annotations

import argparse

from guard.adapters import adapter_of
from guard.connect.command import (
    EXIT_OK,
    EXIT_REFUSED,
    add_place_arguments,
    confirm_change,
    print_sentence,
)
from guard.connect.settings_file import (
    forget_original,
    restore_file,
    settings_file,
    undo_keep_out_of_git,
)
from guard.sdk.connections import delete_connection

add_arguments = add_place_arguments


def run(args: argparse.Namespace) -> int:
    """Remove our hooks and the key; return the exit status."""
    adapter = adapter_of(args.client)
    file = settings_file(adapter.settings, args.project_dir)
    before = file.read()
    after = adapter.settings.without_hooks(before)
    if not confirm_change(file.path, before, after, yes=args.yes):
        return EXIT_REFUSED
    # If nobody else changed it, restored byte for byte; otherwise only our entries are removed.
    if after != before and not restore_file(file.path):
        file.write(after)
    if adapter.settings_hold_key:
        undo_keep_out_of_git(file.path)
    delete_connection(adapter.client, file.place)
    forget_original(file.path)
    print_sentence(f"{adapter.title} is disconnected.")
    return EXIT_OK
