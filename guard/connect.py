"""`guard connect AGENT`: write the hooks that report an agent to Mission Control."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from guard.adapters import ADAPTERS, adapter_of
from guard.adapters.base import Adapter, Wiring
from guard.errors import ConnectRefused, GuardError
from guard.keys import USER_WIDE, Connection, connections, remember
from guard.sdk.transport import Endpoint
from guard.settings_file import SettingsFile, change, keep_out_of_git, settings_file

DONE, REFUSED = 0, 1

TWICE = (
    "It is connected everywhere as well, and {title} runs the hooks of both: "
    "`guard disconnect {client}` takes that one out."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `guard connect`."""
    add_place_arguments(parser)
    parser.add_argument("--url", help="Mission Control's address; default $MISSIONCONTROL_URL")
    parser.add_argument("--key", help="the project's agent key; default $MISSIONCONTROL_KEY")
    parser.add_argument(
        "--fail",
        choices=("open", "closed"),
        default="open",
        help="while Mission Control is away: let tools run (open) or block them (closed)",
    )


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which agent, where, and whether to ask."""
    known = ", ".join(ADAPTERS)
    parser.add_argument("client", choices=ADAPTERS, metavar="AGENT", help=f"which agent: {known}")
    parser.add_argument("--project-dir", help="only in this directory; default: everywhere")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(args: argparse.Namespace) -> int:
    """Connect an agent; answers the exit status."""
    try:
        adapter = adapter_of(args.client)
        file = settings_file(adapter.settings, args.project_dir)
        return _connect(adapter, file, wanted(args, file.place), yes=args.yes)
    except GuardError as error:
        return refuse(error)


def wanted(args: argparse.Namespace, place: str) -> Connection:
    """Take the connection from arguments, environment, or what stands there.

    Raises:
        ConnectRefused: No address or no key was given, or they are unusable.
    """
    standing = _connection_at(args.client, place)
    url = args.url or os.environ.get("MISSIONCONTROL_URL") or (standing.url if standing else "")
    key = args.key or os.environ.get("MISSIONCONTROL_KEY") or (standing.key if standing else "")
    if not url or not key:
        raise ConnectRefused("Say where: --url and --key, or MISSIONCONTROL_URL and _KEY.")
    try:
        Endpoint.of(url, key)
    except ValueError as error:
        raise ConnectRefused(f"{error}.") from error
    return Connection(client=args.client, place=place, url=url, key=key, fail=args.fail)


def _connection_at(client: str, place: str) -> Connection | None:
    return next((c for c in connections() if (c.client, c.place) == (client, place)), None)


def forwarder() -> list[str]:
    """The command that runs `guard`, by its absolute path.

    The console script beside this Python; where there is none, this Python.
    """
    for name in ("guard", "guard.exe"):
        script = Path(sys.executable).parent / name
        if script.is_file():
            return [str(script)]
    return [sys.executable, "-m", "guard.cli"]


def _connect(adapter: Adapter, file: SettingsFile, connection: Connection, *, yes: bool) -> int:
    before = file.read()
    after = adapter.settings.connected(before, _wiring(connection))
    if not agreed(file.path, before, after, yes=yes):
        return REFUSED
    if adapter.settings.holds_key and (excluded := keep_out_of_git(file.path)):
        say(excluded)
    remember(connection)
    file.write(after)
    _say_connected(adapter, file, connection)
    return DONE


def _wiring(connection: Connection) -> Wiring:
    return Wiring(
        url=connection.url, key=connection.key, fail=connection.fail, forwarder=forwarder()
    )


def _say_connected(adapter: Adapter, file: SettingsFile, connection: Connection) -> None:
    away = "its tools run on" if connection.fail == "open" else "its tools are blocked"
    say(
        f"{adapter.title} is connected ({file.path}). While Mission Control is away, {away}. "
        "Sessions that are open now pick it up when they start anew."
    )
    for sentence in adapter.advice:
        say(sentence)
    if file.place != USER_WIDE and _connection_at(connection.client, USER_WIDE):
        say(TWICE.format(title=adapter.title, client=adapter.client))


def agreed(path: Path, before: dict[str, Any], after: dict[str, Any], *, yes: bool) -> bool:
    """Show what changes; ask where a person sits at a terminal."""
    shown = change(path, before, after)
    say(shown or f"{path} stays as it is.")
    if not shown or yes or not sys.stdin.isatty():
        return True
    sys.stdout.write("Write this? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def refuse(error: Exception) -> int:
    """Say why nothing was done; answers the exit status."""
    sys.stderr.write(f"{error}\n")
    return REFUSED


def say(sentence: str) -> None:
    """Tell the person at the terminal."""
    sys.stdout.write(f"{sentence}\n")
