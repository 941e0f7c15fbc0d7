"""The options of `up` on the command line."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from missioncontrol import env

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - only with --lan, which warns
PORT = 8765
MAX_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one start."""

    host: str
    port: int
    data: Path
    lan: bool
    https: bool
    https_port: int | None
    """None: the port after `port`."""
    json: bool
    demo: bool
    demo_model: str | None
    durable: bool
    public_url: str


def https_port(options: Options) -> int:
    """Return the port of HTTPS, such that two installations on one machine do not collide.

    0 finds a free one, as it does for `--port`.
    """
    if options.https_port is not None:
        return options.https_port
    # Next to `--port`, so that only one number has to be remembered.
    return options.port + 1 if 0 < options.port < MAX_PORT else 0


def default_data_dir() -> Path:
    """Return where data is stored by default: the same as settings.DATA_DIR."""
    return env.directory("MISSIONCONTROL_DATA", Path.home() / ".local/share/missioncontrol")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options on a parser."""
    add = parser.add_argument
    add("--host", default=None, help=f"address to listen on (default {LOOPBACK})")
    add("--lan", action="store_true", help="listen on all addresses and print a QR code")
    add("--https", action="store_true", help="serve phones over HTTPS, with a local certificate")
    add("--https-port", type=_port, metavar="N", help="default: the one after --port")
    add("--port", type=_port, default=PORT, help=f"default {PORT}; 0 finds a free one")
    add("--data", type=Path, default=None, metavar="DIR", help=f"default {default_data_dir()}")
    add("--json", action="store_true", help="print one line of JSON once it serves")
    add("--demo", action="store_true", help="start three demo agents")
    add("--demo-model", metavar="URL", help="OpenAI-compatible endpoint for the demo agents")
    add("--durable", action="store_true", help="survive power cuts too (SQLite, slower writes)")
    add(
        "--public-url",
        type=_web_address,
        default="",
        metavar="URL",
        help="the address people use, behind a proxy",
    )


def parse(argv: list[str]) -> Options:
    """Read the command line; an invalid one ends the process with the usage."""
    parser = argparse.ArgumentParser(prog="manage.py up", description="Start Mission Control.")
    add_arguments(parser)
    given = parser.parse_args(argv)
    # An explicit host wins: `--lan --host` then means that one address of the network.
    given.host = given.host or (EVERYWHERE if given.lan else LOOPBACK)
    # Absolute, because the banner shows it to people in whatever directory.
    given.data = (given.data or default_data_dir()).expanduser().absolute()
    # A model for the demo's agents is useless without them.
    given.demo = given.demo or bool(given.demo_model)
    given.public_url = given.public_url or env.web_address("MISSIONCONTROL_PUBLIC_URL")
    return Options(**vars(given))


def _port(value: str) -> int:
    # `int` would also accept "1_0" and other scripts' digits.
    if not (value.isascii() and value.isdecimal()) or int(value) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {MAX_PORT}")
    return int(value)


def _web_address(value: str) -> str:
    address = value.rstrip("/")
    if address and not env.is_web_address(address):
        raise argparse.ArgumentTypeError("it is an address like https://mc.example.org")
    return address
