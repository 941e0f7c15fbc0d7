"""`guard doctor AGENT`: is it connected, and what really works?"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard.adapters.claude_code import HOOKS, capabilities
from guard.adapters.claude_code_settings import HOLD_TIMEOUT_S, subscribed
from guard.adapters.hook import PROBE
from guard.connect import add_place_arguments
from guard.errors import GuardError, ServerAway, ServerRefused
from guard.hook import forward
from guard.keys import USER_WIDE, Connection, connection_for
from guard.settings_file import claude_code_file

add_arguments = add_place_arguments

WELL, UNWELL = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at: does it work, and how we know."""

    what: str
    works: bool
    because: str

    def line(self) -> str:
        """Show it in one line."""
        return f"{'ok' if self.works else 'NO':>3}  {self.what:<10} {self.because}"


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
    hooks = _effective_hooks(project_dir)
    connection = connection_for(client, project_dir or Path.cwd())
    server = _server(connection)
    return [_settings(hooks), server, *_abilities(hooks, answered=server.works)]


def _effective_hooks(project_dir: str | None) -> dict[str, Any]:
    """Claude Code merges the person's settings with the project's."""
    places = {None, project_dir or str(Path.cwd())}
    hooks: dict[str, Any] = {}
    for place in places:
        hooks |= subscribed(claude_code_file(place).read())
    return hooks


def _settings(hooks: dict[str, Any]) -> Finding:
    missing = [event for event in HOOKS if event not in hooks]
    if missing:
        because = f"no hook for {', '.join(missing)}; run `guard connect claude-code`"
        return Finding(what="settings", works=False, because=because)
    return Finding(what="settings", works=True, because=f"{len(HOOKS)} hooks are set")


def _server(connection: Connection | None) -> Finding:
    if connection is None:
        return Finding(what="server", works=False, because="no address and key are known here")
    try:
        forward(connection, {"hook_event_name": PROBE, "session_id": ""})
    except (ServerAway, ServerRefused, ValueError) as error:
        return Finding(what="server", works=False, because=f"{connection.url}: {error}")
    place = "everywhere" if connection.place == USER_WIDE else f"in {connection.place}"
    return Finding(what="server", works=True, because=f"{connection.url} takes our key, {place}")


def _abilities(hooks: dict[str, Any], *, answered: bool) -> list[Finding]:
    holding = hooks.get("PreToolUse") or {}
    patient = int(holding.get("timeout") or 0) >= HOLD_TIMEOUT_S
    away = "are blocked" if holding.get("onFailure") == "block" else "run on"
    inject = ", ".join(capabilities()["inject"]).replace("_", " ")
    return [
        Finding(
            what="observe", works=answered and "PostToolUse" in hooks, because="each tool call"
        ),
        Finding(
            what="hold",
            works=answered and patient,
            because=f"before a tool runs, up to {HOLD_TIMEOUT_S // 60} min; without the server, "
            f"tools {away}"
            if holding
            else "no hook before a tool runs",
        ),
        Finding(what="inject", works=answered and bool(holding), because=inject),
        Finding(what="terminate", works=answered and bool(holding), because="at the next hook"),
        Finding(
            what="cost",
            works=False,
            because="hooks carry no token counts; send Claude Code's OpenTelemetry logs for them",
        ),
    ]
