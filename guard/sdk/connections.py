"""Which server and key each connected agent uses, and how long its hooks wait.

Stored in ~/.config/missioncontrol/keys.toml, never inside a project, where it could get into git.
The agent's hook waits longer than our forwarder, and the forwarder longer than the server's longest
hold: only a person or the project's `hold_limit` ends a hold, never a time-out that the agent would
take for a yes.
"""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from guard.errors import ConnectRefused
from guard.sdk.transport import Endpoint

# The place of a connection that applies in every directory.
USER_WIDE = "*"
# The time-out written into the agent's settings for the hook before a tool.
HOOK_HOLD_S = 3900

# How long before the hook's time-out our forwarder gives up and applies fail-open or fail-closed.
FORWARDER_EARLY_S = 120

# By how much a hook's time-out exceeds the server's longest hold, if that hold is the longer.
HOLD_MARGIN_S = 300

# Hooks that only report: the agent's time-out, and the forwarder's.
REPORT_HOOK_S = 30
REPORT_S = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One agent, connected in one project directory or everywhere.

    Attributes:
        client: Which agent.
        place: The project's directory, or `USER_WIDE`.
        url: Mission Control's address.
        key: The agent key.
        fail: "closed" blocks every tool while Mission Control is away.
        via: "http": the agent sends its hooks itself, if it can; "command": our forwarder sends
            them, and can add what only this machine knows.
        hold_s: The time-out of its hooks that may hold; a forwarder must give up earlier.
        defer_s: Seconds of holding after which a headless session is parked; None: never.
    """

    client: str
    place: str
    url: str
    key: str
    fail: Literal["open", "closed"] = "open"
    via: Literal["http", "command"] = "command"
    hold_s: int = HOOK_HOLD_S
    defer_s: int | None = None


def connections_path() -> Path:
    """Where connections are kept."""
    return Path.home() / ".config" / "missioncontrol" / "keys.toml"


def read_connections() -> list[Connection]:
    """Read every connection; none where there is no readable file."""
    try:
        document = tomllib.loads(connections_path().read_text("utf-8"))
    # RuntimeError: no home directory, as in a container that runs under any user number.
    except (OSError, RuntimeError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return []
    rows, read = document.get("connection"), []
    for row in rows if isinstance(rows, list) else ():
        fields = row if isinstance(row, dict) else {}
        texts = {name: str(fields.get(name) or "") for name in ("client", "place", "url", "key")}
        # People may edit the file: a row without a key must not cost the others their connections.
        if all(texts.values()):
            connection = Connection(
                **texts,
                fail="closed" if fields.get("fail") == "closed" else "open",
                via="http" if fields.get("via") == "http" else "command",
                hold_s=_positive_int(fields.get("hold_s")) or HOOK_HOLD_S,
                defer_s=_positive_int(fields.get("defer_s")),
            )
            read.append(connection)
    return read


def connection_for(client: str, cwd: str | Path) -> Connection | None:
    """Return the connection that applies in `cwd`: the innermost project's, else the user's."""
    folder = Path(cwd)
    here = [
        c
        for c in read_connections()
        if c.client == client and (c.place == USER_WIDE or folder.resolve().is_relative_to(c.place))
    ]
    # The connection for every directory counts as the outermost.
    return max(here, key=lambda c: 0 if c.place == USER_WIDE else len(c.place), default=None)


def resolve_server(
    url: str | None,
    key: str | None,
    existing: Connection | None,
    *,
    exchange_code: Callable[[str], str] | None = None,
) -> tuple[str, str]:
    """Find address and key: from arguments, then environment, then what `connect` wrote.

    Args:
        url: Mission Control's address, as it was given.
        key: The agent key, as it was given.
        existing: The connection that already applies here, if there is one.
        exchange_code: Fetches the key at the address, in place of all these sources.

    Raises:
        ConnectRefused: No address or no key is known, or they are unusable.
    """
    url = url or os.environ.get("MISSIONCONTROL_URL") or (existing.url if existing else "")
    if exchange_code is not None and url:
        key = exchange_code(url)
    # A key is a secret of the server that issued it: it is sent to no other address.
    known = existing.key if existing and existing.url.rstrip("/") == url.rstrip("/") else ""
    key = key or os.environ.get("MISSIONCONTROL_KEY") or known
    if not url or not key:
        raise ConnectRefused(
            "Give --url and --key, or set MISSIONCONTROL_URL and MISSIONCONTROL_KEY."
        )
    try:
        # Checked now: written into settings, it would fail at each hook, where nobody looks.
        Endpoint.of(url, key)
    except ValueError as error:
        raise ConnectRefused(f"{error}.") from error
    if set(url) & {"?", "#"}:
        raise ConnectRefused(f"{url!r} is a page's: give Mission Control's address alone.")
    return url, key


def save_connection(connection: Connection) -> None:
    """Store a connection; it replaces the one in the same place."""
    _write_connections([*_others_than(connection.client, connection.place), connection])


def delete_connection(client: str, place: str) -> None:
    """Delete the connection in this place, if there is one; the file goes with the last one."""
    if others := _others_than(client, place):
        _write_connections(others)
    else:
        connections_path().unlink(missing_ok=True)


def write_private(path: Path, content: bytes) -> None:
    """Replace a file atomically; only its owner can read it, from the first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the old file: a replacement is atomic only within one file system.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a power cut must not leave the name without what it names
        Path(temporary).replace(path)  # mkstemp made it 0600
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _others_than(client: str, place: str) -> list[Connection]:
    return [c for c in read_connections() if (c.client, c.place) != (client, place)]


def _positive_int(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _write_connections(kept: list[Connection]) -> None:
    # The standard library reads TOML and does not write it; a JSON string is a TOML basic string.
    head = "# Written by `guard connect`. Holds agent keys: keep it to yourself.\n"
    tables = (
        "\n[[connection]]\n"
        + "".join(
            f"{name} = {json.dumps(value)}\n"
            for name, value in asdict(c).items()
            if value is not None
        )
        for c in kept
    )
    write_private(connections_path(), (head + "".join(tables)).encode())
