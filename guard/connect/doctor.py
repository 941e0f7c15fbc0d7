"""`guard doctor AGENT`: is it connected, and what really works?"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from guard.adapters import adapter_of
from guard.adapters.base import Finding, Hooks
from guard.connect.command import ProjectSettings, add_place_arguments, read_project
from guard.connect.settings_file import settings_file
from guard.errors import GuardError, ServerAway, ServerRefused
from guard.sdk.connections import FORWARDER_EARLY_S, USER_WIDE, Connection, connection_for

add_arguments = add_place_arguments

EXIT_OK, EXIT_FAILED = 0, 1


def run(args: argparse.Namespace) -> int:
    """Check every link of the chain and show it; return the exit status."""
    try:
        findings = check_agent(args.client, args.project_dir)
    except GuardError as error:
        findings = [Finding("settings", False, str(error))]
    sys.stdout.write("".join(f"{finding.line()}\n" for finding in findings))
    return (
        EXIT_OK
        if all(finding.works for finding in findings if finding.what != "cost")
        else EXIT_FAILED
    )


def check_agent(client: str, project_dir: str | None) -> list[Finding]:
    """Check the settings, make a real round trip, and return what follows from them.

    Raises:
        ConnectRefused: The settings file cannot be read.
    """
    adapter = adapter_of(client)
    # Agents merge the user's settings with the project's.
    hooks: Hooks = {}
    for place in (None, project_dir or str(Path.cwd())):
        hooks |= adapter.settings.subscribed(settings_file(adapter.settings, place).read())
    connection, project = connection_for(client, project_dir or Path.cwd()), None
    if connection is None:
        server = Finding("server", False, "no address and key are known here")
    else:
        place = "everywhere" if connection.place == USER_WIDE else f"in {connection.place}"
        because = f"{connection.url} takes our key, {place}"
        try:
            project = read_project(connection)
            server = Finding("server", True, because)
        except (ServerAway, ServerRefused, ValueError) as error:
            server = Finding("server", False, f"{connection.url}: {error}")
    # Whatever the settings say, no hook has an effect without a server that answers. The directory
    # decides which connection a hook finds, and what its agent trusts.
    with contextlib.chdir(project_dir or "."):
        abilities = [
            ability._replace(works=ability.works and server.works)
            for ability in adapter.abilities(hooks)
        ]
    agreed = _check_agreement(connection, project) if connection and project else []
    local = adapter.examine(Path(project_dir or Path.cwd()))
    wanted = adapter.settings.events
    missing = [event for event in wanted if event not in hooks]
    because = f"{len(wanted)} hooks are set"
    if missing:
        because = f"no hook for {', '.join(missing)}; run `guard connect {adapter.client}`"
    settings = Finding("settings", not missing, because)
    return [settings, *local, server, *agreed, *abilities]


def _check_agreement(connection: Connection, project: ProjectSettings) -> list[Finding]:
    """Check that no time-out ends a hold before the server does, and what happens on failure."""
    forwarder_s = connection.hold_s - FORWARDER_EARLY_S
    away = "runs" if connection.fail == "open" else "is blocked"
    asked = "" if connection.fail == project.fail else f", but the project says {project.fail}"
    return [
        Finding(
            "time-outs",
            forwarder_s > project.hold_limit,
            f"hook {connection.hold_s} s, forwarder {forwarder_s} s, the server's "
            f"longest hold {project.hold_limit} s{_again(forwarder_s <= project.hold_limit)}",
        ),
        Finding(
            "fail",
            not asked,
            f"{connection.fail}: a call {away} while the server is away{asked}"
            f"{_again(bool(asked))}",
        ),
    ]


def _again(is_needed: bool) -> str:
    return "; run `guard connect` again" if is_needed else ""
