"""`guard doctor AGENT`: is it connected, and what really works?"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from guard.adapters import adapter_of
from guard.adapters.base import Adapter, Finding, Hooks
from guard.adapters.hook import PROBE
from guard.connect import add_place_arguments
from guard.errors import GuardError, ServerAway, ServerRefused
from guard.forwarding import forward
from guard.keys import USER_WIDE, Connection, connection_for
from guard.settings_file import settings_file

add_arguments = add_place_arguments

WELL, UNWELL = 0, 1


def run(args: argparse.Namespace) -> int:
    """Look at every link of the chain and show it; answers the exit status."""
    try:
        findings = examine(args.client, args.project_dir)
    except GuardError as error:
        findings = [Finding(what="settings", works=False, because=str(error))]
    sys.stdout.write("".join(f"{finding.line()}\n" for finding in findings))
    return WELL if all(finding.works for finding in findings if finding.what != "cost") else UNWELL


def examine(client: str, project_dir: str | None) -> list[Finding]:
    """Check the settings, make a real round trip, and tell what follows.

    Raises:
        ConnectRefused: The settings file cannot be read.
    """
    adapter = adapter_of(client)
    hooks = _effective_hooks(adapter, project_dir)
    server = _server(connection_for(client, project_dir or Path.cwd()))
    abilities = [
        replace(ability, works=ability.works and server.works)
        for ability in adapter.abilities(hooks)
    ]
    return [_settings(adapter, hooks), server, *abilities]


def _effective_hooks(adapter: Adapter, project_dir: str | None) -> Hooks:
    """Agents merge the person's settings with the project's."""
    hooks: Hooks = {}
    for place in (None, project_dir or str(Path.cwd())):
        hooks |= adapter.settings.subscribed(settings_file(adapter.settings, place).read())
    return hooks


def _settings(adapter: Adapter, hooks: Hooks) -> Finding:
    missing = [event for event in adapter.events if event not in hooks]
    if missing:
        because = f"no hook for {', '.join(missing)}; run `guard connect {adapter.client}`"
        return Finding(what="settings", works=False, because=because)
    return Finding(what="settings", works=True, because=f"{len(adapter.events)} hooks are set")


def _server(connection: Connection | None) -> Finding:
    if connection is None:
        return Finding(what="server", works=False, because="no address and key are known here")
    try:
        forward(connection, {"hook_event_name": PROBE, "session_id": ""})
    except (ServerAway, ServerRefused, ValueError) as error:
        return Finding(what="server", works=False, because=f"{connection.url}: {error}")
    place = "everywhere" if connection.place == USER_WIDE else f"in {connection.place}"
    return Finding(what="server", works=True, because=f"{connection.url} takes our key, {place}")
