"""`guard key`: exchange a set-up code for an agent key, once."""

from __future__ import annotations

import argparse
import platform
import sys

from guard.errors import ConnectRefused
from guard.sdk.flow import Request
from guard.sdk.responses import body_of
from guard.sdk.transport import HttpTransport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `guard key`."""
    parser.add_argument("--url", required=True, help="Mission Control's address")
    parser.add_argument("--once", required=True, metavar="CODE", help="a set-up code")
    parser.add_argument("--name", default="agent", help="what the key is to be called")


def run(args: argparse.Namespace) -> int:
    """Print the key alone, for use in a shell; return the exit status."""
    sys.stdout.write(f"{exchange_code(args.url, args.once, name=args.name)}\n")
    return 0


def exchange_code(url: str, code: str, *, name: str) -> str:
    """Return the agent key for a set-up code, which is then used up.

    Raises:
        ConnectRefused: The address is unusable.
        ServerAway: Nobody answered.
        ServerRefused: The code is unknown, used or expired.
    """
    here = platform.node() or "this machine"
    body = {"code": code, "name": f"{name} on {here}"[:100], "on": here[:100]}
    # Without a key: the code is exchanged for it.
    try:
        carrier = HttpTransport(url, "")
    except ValueError as error:
        raise ConnectRefused(f"{error}.") from error
    asked = Request(method="POST", path="setup-codes/exchange/", body=body)
    try:
        return str(body_of(carrier.send(asked))["key"])
    finally:
        carrier.close()
