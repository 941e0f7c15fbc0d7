"""`guard connect AGENT`: write the hooks that report an agent to Mission Control."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from guard.adapters import ADAPTERS, adapter_of
from guard.adapters.base import Adapter, Wiring
from guard.adapters.hook import PROBE_BODY
from guard.connect.settings_file import diff_of, keep_out_of_git, settings_file, undoable
from guard.connect.setup_code import exchange_code
from guard.errors import ConnectRefused, NotTheServer, ServerAway, ServerRefused
from guard.hooks.forwarding import forward
from guard.sdk.connections import (
    HOLD_MARGIN_S,
    HOOK_HOLD_S,
    USER_WIDE,
    Connection,
    delete_connection,
    read_connections,
    resolve_server,
    save_connection,
)

EXIT_OK, EXIT_REFUSED = 0, 1
UNKNOWN_KEY_STATUS = 401

CONNECTED_TWICE = (
    "It is also connected for all projects, and {title} runs both sets of hooks: "
    "`guard disconnect {client}` removes the other one."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `guard connect`."""
    add_place_arguments(parser)
    parser.add_argument("--url", help="Mission Control's address; default $MISSIONCONTROL_URL")
    parser.add_argument("--key", help="the project's agent key; default $MISSIONCONTROL_KEY")
    parser.add_argument("--once", metavar="CODE", help="a set-up code from Mission Control's board")
    parser.add_argument(
        "--fail",
        choices=("open", "closed"),
        help="while Mission Control is down: let tools run (open) or block them (closed); "
        "default: as set in the project",
    )
    parser.add_argument(
        "--via",
        choices=("http", "command"),
        help="use the agent's own HTTP hooks, or our forwarder, which keeps waiting "
        "over a restart of Mission Control",
    )
    parser.add_argument(
        "--defer-after",
        type=int,
        metavar="SECONDS",
        help="park a headless session that was paused this long, until it is resumed",
    )


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the agent, the place, and whether to ask."""
    known = ", ".join(ADAPTERS)
    parser.add_argument("client", choices=ADAPTERS, metavar="AGENT", help=f"which agent: {known}")
    parser.add_argument("--project-dir", help="only in this directory; default: everywhere")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(args: argparse.Namespace) -> int:
    """Connect an agent; return the exit status."""
    adapter = adapter_of(args.client)
    file = settings_file(adapter.settings, args.project_dir)
    # Read before a set-up code is used up.
    before = file.read_to_connect(adapter.settings.events)
    connection, unverified_reason = find_connection(args, adapter, file.place)
    wiring = Wiring(**asdict(connection), forwarder=forwarder())
    after = adapter.settings.with_hooks(before, wiring)
    if not confirm_change(file.path, before, after, yes=args.yes):
        return EXIT_REFUSED
    # Before the file is written: git must never have a chance to take a file with a key.
    if adapter.settings_hold_key and (excluded := keep_out_of_git(file.path)):
        print_sentence(excluded)
    existing = _connection_at(connection.client, connection.place)
    try:
        with undoable(file.path, is_theirs=not adapter.settings.hooks_by_event(before)):
            # Before the hooks: a hook that must fail closed would let tools run without its key.
            save_connection(connection)
            try:
                file.write(after)
            except OSError:
                save_connection(existing) if existing else delete_connection(
                    connection.client, connection.place
                )
                raise
    except OSError as error:
        raise ConnectRefused(f"Nothing is connected: {error}.") from error
    away = (
        "its tools run (fail open)"
        if connection.fail == "open"
        else "its tools are blocked (fail closed)"
    )
    print_sentence(
        f"{adapter.title} is connected ({file.path}). While Mission Control is down, {away}. "
        "Restart open sessions to connect them."
    )
    if unverified_reason:
        print_sentence(
            f"{connection.url} {unverified_reason}; `guard doctor {adapter.client}` tries again."
        )
    for sentence in adapter.advice:
        print_sentence(sentence)
    if file.place != USER_WIDE and _connection_at(connection.client, USER_WIDE):
        print_sentence(CONNECTED_TWICE.format(title=adapter.title, client=adapter.client))
    return EXIT_OK


def find_connection(
    args: argparse.Namespace, adapter: Adapter, place: str
) -> tuple[Connection, str]:
    """Find the connection: from arguments, environment, an earlier `connect`, or the project.

    Returns it, and why Mission Control did not describe the project; empty if it did.

    Raises:
        ConnectRefused: No address or no key was given, or they are unusable; or the server does not
            know the key; or the agent has no hooks of this kind.
    """
    # First: a set-up code works only once.
    if args.via and args.via not in adapter.vias:
        raise ConnectRefused(f"{adapter.title} has no hooks of that kind (--via {args.via}).")
    # What was connected before fills in what is not given now: a second `connect` changes only what
    # is given.
    existing = _connection_at(args.client, place)
    by_code = partial(exchange_code, code=args.once, name=args.client) if args.once else None
    url, key = resolve_server(args.url, args.key, existing, exchange_code=by_code)
    draft = Connection(client=args.client, place=place, url=url, key=key)
    # Fill in what was not given: from the project first, then from the earlier connection.
    project, unverified_reason = None, "answers, but not what this guard asks; it may be older"
    try:
        project = read_project(draft)
        is_other = project is None
    except ServerRefused as refusal:
        # With a mistyped or revoked key every hook would fail without anybody noticing.
        if refusal.status == UNKNOWN_KEY_STATUS:
            raise ConnectRefused(
                f"{url} does not know this key, so nothing is written. Keys are made there under "
                "Settings, Keys."
            ) from None
        is_other, unverified_reason = True, f"{unverified_reason} ({refusal})"
    except ServerAway as away:
        is_other = isinstance(away, NotTheServer)
        unverified_reason = (
            f"is not Mission Control now ({away})" if is_other else f"does not answer now ({away})"
        )
    parts = urlsplit(url)
    if is_other and parts.path.strip("/"):
        raise ConnectRefused(
            f"Mission Control does not answer at {url}, so nothing is written. Give its address "
            f"alone, without a page's path, such as {parts.scheme}://{parts.netloc}."
        )
    fail = args.fail or (project.fail if project else existing.fail if existing else "open")
    longest_s = project.hold_limit + HOLD_MARGIN_S if project else 0
    connection = replace(
        draft,
        fail=fail,
        via=args.via or adapter.vias[0],
        # If an agent's time-out ended before the server's hold, the call would run.
        hold_s=max(HOOK_HOLD_S, longest_s),
        defer_s=args.defer_after,
    )
    return connection, "" if project else unverified_reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSettings:
    """The server's settings of the project that a key belongs to."""

    fail: Literal["open", "closed"]
    hold_limit: int


def read_project(connection: Connection) -> ProjectSettings | None:
    """Ask the server for our project's settings; return None if it does not send them.

    Raises:
        ServerAway: Nobody answered.
        ServerRefused: It does not accept our key.
        ValueError: The address or the key is unusable.
    """
    answer = forward(connection, PROBE_BODY)
    # Another program at this address may answer, too, and an older server sends less.
    project = answer.get("missioncontrol") if isinstance(answer, dict) else None
    if not isinstance(project, dict) or not isinstance(project.get("hold_limit"), int):
        return None
    fail: Literal["open", "closed"] = "closed" if project.get("fail") == "closed" else "open"
    return ProjectSettings(fail=fail, hold_limit=project["hold_limit"])


def _connection_at(client: str, place: str) -> Connection | None:
    return next((c for c in read_connections() if (c.client, c.place) == (client, place)), None)


def forwarder() -> list[str]:
    """Return the command that runs `guard`, with its absolute path.

    It is the console script beside this Python or, without one, this Python.
    """
    # Absolute: hooks run with the PATH with which their agent was started.
    for name in ("guard", "guard.exe"):
        script = Path(sys.executable).parent / name
        if script.is_file():
            return [str(script)]
    return [sys.executable, "-P", "-m", "guard.cli"]


def install_source() -> str:
    """Return what `pip install` needs to install this very guard elsewhere on this machine.

    The folder it runs from, or what it was installed from; a name is enough only for a registry.
    """
    folder = Path(__file__).resolve().parents[1]
    if (folder / "pyproject.toml").is_file():
        return str(folder)
    from importlib.metadata import distribution

    # Its metadata says where pip got it from (PEP 610); without an entry, from a registry.
    ours = distribution("missioncontrol-guard")
    origin = json.loads(ours.read_text("direct_url.json") or "{}")
    if "vcs_info" not in origin:
        return origin.get("url") or f"missioncontrol-guard=={ours.version}"
    vcs = origin["vcs_info"]
    return f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}#subdirectory={origin['subdirectory']}"


def confirm_change(path: Path, before: dict[str, Any], after: dict[str, Any], *, yes: bool) -> bool:
    """Show what changes; ask if a person is at a terminal."""
    shown = diff_of(path, before, after)
    print_sentence(shown or f"{path} stays as it is.")
    # A script cannot be asked; its call counts as consent.
    if not shown or yes or not sys.stdin.isatty():
        return True
    sys.stdout.write("Write this? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def print_sentence(sentence: str) -> None:
    """Print a sentence on standard output."""
    sys.stdout.write(f"{sentence}\n")
