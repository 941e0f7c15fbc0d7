"""`guard run -- COMMAND…`: run any agent command, kept by Mission Control."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
import tempfile
from pathlib import Path, PurePath

from guard.adapters import ADAPTERS
from guard.errors import GuardError, ServerAway
from guard.running import codex_exec, linking
from guard.running.child import Child
from guard.running.keeper import Keeper
from guard.running.run_client import RunClient
from guard.sdk.conversation import new_key
from guard.sdk.keys import USER_WIDE, Connection, address_and_key, connection_for
from guard.sdk.lineage import OWN_VARIABLE

# Agents that name their sessions themselves: each session is a run of its own.
PROGRAMS = {"claude": "claude-code", "codex": "codex", "gemini": "gemini", "cursor-agent": "cursor"}

# EX_UNAVAILABLE: to fail closed, and nobody watches.
NOT_STARTED = 69

# What a shell says of a command that is not there, and of one that is no program.
NOT_FOUND, NOT_RUNNABLE = 127, 126

# What a shell says of a command that SIGTERM ended, and of one that Ctrl-C did.
ENDED, INTERRUPTED = 143, 130

CAPABILITIES = {
    "hold": True,
    "inject": [],
    "terminate": "signal",
    "why": {"inject": "A command run under `guard run` that reports no turns takes no text."},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.usage = "guard run [options] -- COMMAND…"
    parser.add_argument("--name", help="name of the run; default: the command")
    parser.add_argument("--url", help="Mission Control's address; default $MISSIONCONTROL_URL")
    parser.add_argument("--key", help="the project's agent key; default $MISSIONCONTROL_KEY")
    parser.add_argument(
        "--fail",
        choices=("open", "closed"),
        help="without Mission Control: run anyway (open) or do not start (closed)",
    )
    parser.add_argument("command_line", nargs="+", metavar="COMMAND", help="what to run")


def run(args: argparse.Namespace) -> int:
    """Run the command; answers its exit status."""
    client = PROGRAMS.get(PurePath(args.command_line[0]).name)
    try:
        connection = wanted(args, client)
        try:
            with contextlib.closing(RunClient(connection)) as server:
                server.check()
        except ServerAway as error:
            # Where that was asked, nothing is started unwatched.
            if connection.fail == "closed":
                raise
            say(f"{connection.url} is away ({error}); running without it until it is back.")
        task = codex_exec.read(args.command_line) if client == "codex" else None
        if isinstance(task, codex_exec.Task):
            # Only who drives Codex waits for what that imports.
            from guard.running.codex_driver import drive

            return drive(task, connection, name=args.name)
        if isinstance(task, str):
            say(task)
        return keep(args, connection, is_one_run=client is None)
    except GuardError as error:
        say(str(error))
        return NOT_STARTED
    except KeyboardInterrupt:  # before the command began: from then on it is the command's own
        return INTERRUPTED
    except FileNotFoundError as error:
        say(f"{error.filename}: there is no such command.")
        return NOT_FOUND
    except OSError as error:
        say(f"{args.command_line[0]} cannot be run: {error.strerror or error}.")
        return NOT_RUNNABLE


def keep(args: argparse.Namespace, connection: Connection, *, is_one_run: bool) -> int:
    """Run the command under a keeper; answers its exit status."""
    own, opening = None, None
    # An agent that names its sessions has a run for each; any other command is one run.
    if is_one_run:
        own, line = f"run:{new_key()}", shlex.join(args.command_line)
        shown = line if len(line) <= NAME_CHARS else line[: NAME_CHARS - 1] + "…"
        opening = {
            "key": own,
            "name": args.name or shown,
            "agent": PurePath(args.command_line[0]).name,
            "capabilities": CAPABILITIES,
        }
    with tempfile.TemporaryDirectory(prefix="guard-run-") as notes:
        keeper = Keeper(RunClient(connection), notes=Path(notes), opening=opening)
        try:
            keeper.open()  # first: to fail closed, nothing starts whose run cannot be had
            child = Child(args.command_line, env=environment(connection, notes, own))
        except OSError:
            keeper.finish(NOT_FOUND)
            raise
        except KeyboardInterrupt:  # from the child on it is the command's own
            keeper.abandon()
            raise
        keeper.start(child)
        status = child.wait()
        keeper.finish(status)
    # Ended by us, whatever it made of the signal: a shell shall see that it was.
    return ENDED if keeper.ended_for else status


def wanted(args: argparse.Namespace, client: str | None) -> Connection:
    """Take the connection from arguments, environment, or what `connect` wrote.

    Raises:
        ConnectRefused: No address or no key is known, or they are unusable.
    """
    clients = [client] if client else list(ADAPTERS)
    found = (connection_for(name, Path.cwd()) for name in clients)
    standing = next((connection for connection in found if connection), None)
    url, key = address_and_key(args.url, args.key, standing)
    fail = args.fail or (standing.fail if standing else "open")
    return Connection(client=client or "run", place=USER_WIDE, url=url, key=key, fail=fail)


def environment(connection: Connection, notes: str, own: str | None) -> dict[str, str]:
    """The command's environment: what lets its hooks and sessions find us."""
    added = {
        "MISSIONCONTROL_URL": connection.url,
        "MISSIONCONTROL_KEY": connection.key,
        linking.NOTES: notes,
    }
    return os.environ | added | ({OWN_VARIABLE: own} if own else {})


NAME_CHARS = 80


def say(sentence: str) -> None:
    """Tell the person; what the command writes stays its own."""
    sys.stderr.write(f"guard run: {sentence}\n")
