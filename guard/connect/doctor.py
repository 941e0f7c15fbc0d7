"""`guard doctor AGENT`: is it connected, and what really works?"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from guard.adapters import adapter_of
from guard.adapters.base import CheckResult, Hooks
from guard.connect.command import ProjectSettings, add_place_arguments, read_project
from guard.connect.settings_file import settings_file
from guard.errors import GuardError, ServerAway, ServerRefused
from guard.sdk.connections import FORWARDER_EARLY_S, USER_WIDE, Connection, connection_for

add_arguments = add_place_arguments

EXIT_OK, EXIT_FAILED = 0, 1


def run(args: argparse.Namespace) -> int:
    """Check every link of the chain and show it; return the exit status."""
    try:
        results = check_agent(args.client, args.project_dir)
    except GuardError as error:
        results = [CheckResult("settings", False, str(error))]
    sys.stdout.write("".join(f"{result.format_line()}\n" for result in results))
    return (
        EXIT_OK if all(result.works for result in results if result.name != "cost") else EXIT_FAILED
    )


def check_agent(client: str, project_dir: str | None) -> list[CheckResult]:
    """Check the settings, make a real round trip, and return what follows from them.

    Raises:
        ConnectRefused: The settings file cannot be read.
    """
    adapter = adapter_of(client)
    # Agents merge the user's settings with the project's.
    hooks: Hooks = {}
    for place in (None, project_dir or str(Path.cwd())):
        hooks |= adapter.settings.hooks_by_event(settings_file(adapter.settings, place).read())
    connection, project = connection_for(client, project_dir or Path.cwd()), None
    if connection is None:
        server = CheckResult("server", False, "no address and key are known here")
    else:
        place = "everywhere" if connection.place == USER_WIDE else f"in {connection.place}"
        reason = f"{connection.url} takes our key, {place}"
        try:
            project = read_project(connection)
            server = CheckResult("server", True, reason)
        except (ServerAway, ServerRefused, ValueError) as error:
            server = CheckResult("server", False, f"{connection.url}: {error}")
    # Whatever the settings say, no hook has an effect without a server that answers. The directory
    # decides which connection a hook finds, and what its agent trusts.
    with contextlib.chdir(project_dir or "."):
        hook_checks = [
            check._replace(works=check.works and server.works)
            for check in adapter.check_hooks(hooks)
        ]
    agreed = _check_agreement(connection, project) if connection and project else []
    local = adapter.check_machine(Path(project_dir or Path.cwd()))
    wanted = adapter.settings.events
    missing = [event for event in wanted if event not in hooks]
    reason = f"{len(wanted)} hooks are set"
    if missing:
        reason = f"no hook for {', '.join(missing)}; run `guard connect {adapter.client}`"
    settings = CheckResult("settings", not missing, reason)
    return [settings, *local, server, *agreed, *hook_checks]


def _check_agreement(connection: Connection, project: ProjectSettings) -> list[CheckResult]:
    """Check that no time-out ends a hold before the server does, and what happens on failure."""
    forwarder_s = connection.hold_s - FORWARDER_EARLY_S
    away = "runs" if connection.fail == "open" else "is blocked"
    asked = "" if connection.fail == project.fail else f", but the project says {project.fail}"
    is_too_short = forwarder_s <= project.hold_limit
    return [
        CheckResult(
            "time-outs",
            not is_too_short,
            f"hook {connection.hold_s} s, forwarder {forwarder_s} s, the server's "
            f"longest hold {project.hold_limit} s{_reconnect_hint(is_too_short)}",
        ),
        CheckResult(
            "fail",
            not asked,
            f"{connection.fail}: a call {away} while the server is away{asked}"
            f"{_reconnect_hint(bool(asked))}",
        ),
    ]


def _reconnect_hint(is_needed: bool) -> str:
    return "; run `guard connect` again" if is_needed else ""
