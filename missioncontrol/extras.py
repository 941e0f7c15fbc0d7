"""What an owner turns on while Mission Control runs: demo agents, and HTTPS for phones.

A web process only asks, by a file in the data directory: it opens no port and starts no program.
`manage.py up` reads these files, starts or ends what they name, and records the result. The files
survive a restart, so that an extra stays on until somebody turns it off.
"""

from __future__ import annotations

import hashlib
import json
import ssl
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from guard.sdk.keys import write_private

FOLDER = "extras"
AUTHORITY = "https/ca.crt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAsked:
    """Whose demo runs, and the agent key of each of its projects."""

    owner: str
    keys: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneStatus:
    """The state of HTTPS for phones; with neither a `url` nor a `problem` it is starting."""

    url: str = ""
    problem: str = ""


def demo_asked(data: Path) -> DemoAsked | None:
    """Return the demo that should run; None if there is none."""
    kept = _read(data, "demo.json")
    return DemoAsked(owner=kept["owner"], keys=kept["keys"]) if kept else None


def ask_for_demo(data: Path, asked: DemoAsked | None) -> None:
    """Have `up` run a demo's agents, or with None end them."""
    _write(data, "demo.json", asdict(asked) if asked else None)


def phone_asked(data: Path) -> bool:
    """Say whether phones should reach this installation by HTTPS."""
    return _read(data, "phone.json") is not None


def ask_for_phone(data: Path, *, on: bool) -> None:
    """Have `up` open HTTPS to the local network, or close it."""
    # Otherwise the screen would show the result of the previous request.
    note_phone(data, PhoneStatus())
    _write(data, "phone.json", {"on": True} if on else None)


def phone_status(data: Path) -> PhoneStatus:
    """Return the state that `up` recorded last."""
    kept = _read(data, "phone-status.json") or {}
    return PhoneStatus(url=kept.get("url", ""), problem=kept.get("problem", ""))


def note_phone(data: Path, status: PhoneStatus) -> None:
    """Record the state of HTTPS for phones."""
    _write(data, "phone-status.json", asdict(status))


def _read(data: Path, name: str) -> dict[str, Any] | None:
    """Return a file's content; None if it is missing or unreadable."""
    try:
        kept = json.loads((data / FOLDER / name).read_text())
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) else None


def _write(data: Path, name: str, content: dict[str, Any] | None) -> None:
    file = data / FOLDER / name
    if content is None:
        # `up` reads a missing file as not asked for.
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Readable only by its owner, because it contains agent keys.
    write_private(file, json.dumps(content).encode())


def authority(data: Path) -> bytes | None:
    """Return the certificate in DER, as phones take it; None if there is none."""
    path = data / AUTHORITY
    return ssl.PEM_cert_to_DER_cert(path.read_text()) if path.is_file() else None


def fingerprint(data: Path) -> str | None:
    """Return its SHA-256, to compare with what the terminal printed."""
    found = authority(data)
    if found is None:
        return None
    digest = hashlib.sha256(found).hexdigest().upper()
    # In pairs with colons, as browsers and phones show it.
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
