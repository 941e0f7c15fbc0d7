"""`guard outbox`: list what waits for a server that was away, and send it now."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from guard.errors import ServerAway, ServerRefused
from guard.sdk.base_session import server_address
from guard.sdk.delivery import deliver_ownerless_files
from guard.sdk.outbox import count_pending, outbox_root, project_folder
from guard.sdk.transport import HttpTransport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "action", nargs="?", choices=("list", "send"), default="list", help="default: list"
    )
    parser.add_argument("--url", help="the server; default $MISSIONCONTROL_URL")
    parser.add_argument("--key", help="the project's agent key; default $MISSIONCONTROL_KEY")
    parser.add_argument(
        "--dir", type=Path, help="where outboxes lie; default $MISSIONCONTROL_OUTBOX, else at home"
    )


def run(args: argparse.Namespace) -> int:
    """List or send; return 1 if not everything could be sent, 2 for a wrong address."""
    root = outbox_root(args.dir)
    if root is None:
        # Not an error: somebody switched it off on purpose.
        sys.stderr.write("guard outbox: it is switched off\n")
        return 0
    if args.action == "list":
        sys.stdout.write(list_pending(root))
        return 0
    try:
        return send_pending(root, *server_address(args.url, args.key))
    except ValueError as error:
        sys.stderr.write(f"guard outbox: {error}\n")
        return 2


def list_pending(root: Path) -> str:
    """Print what waits, one line for each project."""
    folders = [count_pending(folder) for folder in sorted(root.glob("*")) if folder.is_dir()]
    lines = [
        f"{found.folder.name}  {found.files} files  {found.turns} turns  {found.size} bytes\n"
        for found in folders
        if found.files
    ]
    return "".join(lines) or "Nothing is queued.\n"


def send_pending(root: Path, url: str, key: str) -> int:
    """Deliver what the sessions of one project left behind.

    Raises:
        ValueError: The address or the key is invalid.
    """
    transport = HttpTransport(url, key)
    delivered = files = 0
    try:
        for turns in deliver_ownerless_files(transport.send, project_folder(root, url, key)):
            files, delivered = files + 1, delivered + turns
    except (ServerAway, ServerRefused) as error:
        sys.stderr.write(f"guard outbox: {error}; what is left is kept\n")
        return 1
    finally:
        transport.close()
    sys.stdout.write(f"{files} files with {delivered} new turns were delivered.\n")
    return 0
