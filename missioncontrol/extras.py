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

from guard.sdk.connections import write_private

FOLDER = "extras"
AUTHORITY_FILE = "https/ca.crt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRequest:
    """Whose demo runs, and the agent key of each of its projects."""

    owner: str
    keys: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneStatus:
    """The state of HTTPS for phones; with neither a `url` nor a `problem` it is starting."""

    url: str = ""
    problem: str = ""


def requested_demo(data: Path) -> DemoRequest | None:
    """Return the demo that should run; None if there is none."""
    content = _read_file(data, "demo.json")
    return DemoRequest(owner=content["owner"], keys=content["keys"]) if content else None


def request_demo(data: Path, request: DemoRequest | None) -> None:
    """Have `up` run a demo's agents, or with None end them."""
    _write_file(data, "demo.json", asdict(request) if request else None)


def is_phone_requested(data: Path) -> bool:
    """Say whether phones should reach this installation by HTTPS."""
    return _read_file(data, "phone.json") is not None


def request_phone(data: Path, *, on: bool) -> None:
    """Have `up` open HTTPS to the local network, or close it."""
    # Otherwise the screen would show the result of the previous request.
    record_phone_status(data, PhoneStatus())
    _write_file(data, "phone.json", {"on": True} if on else None)


def phone_status(data: Path) -> PhoneStatus:
    """Return the state that `up` recorded last."""
    content = _read_file(data, "phone-status.json") or {}
    return PhoneStatus(url=content.get("url", ""), problem=content.get("problem", ""))


def record_phone_status(data: Path, status: PhoneStatus) -> None:
    """Record the state of HTTPS for phones."""
    _write_file(data, "phone-status.json", asdict(status))


def _read_file(data: Path, name: str) -> dict[str, Any] | None:
    """Return a file's content; None if it is missing or unreadable."""
    try:
        content = json.loads((data / FOLDER / name).read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _write_file(data: Path, name: str, content: dict[str, Any] | None) -> None:
    file = data / FOLDER / name
    if content is None:
        # `up` reads a missing file as not asked for.
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Readable only by its owner, because it contains agent keys.
    write_private(file, json.dumps(content).encode())


def authority_certificate(data: Path) -> bytes | None:
    """Return the certificate in DER, as phones take it; None if there is none."""
    path = data / AUTHORITY_FILE
    return ssl.PEM_cert_to_DER_cert(path.read_text()) if path.is_file() else None


def authority_fingerprint(data: Path) -> str | None:
    """Return its SHA-256, to compare with what the terminal printed."""
    certificate = authority_certificate(data)
    if certificate is None:
        return None
    digest = hashlib.sha256(certificate).hexdigest().upper()
    # In pairs with colons, as browsers and phones show it.
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
