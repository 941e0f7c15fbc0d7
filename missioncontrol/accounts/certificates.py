"""The certificate this machine made for itself, as those who are to trust it read it.

`up --https` writes it (missioncontrol/up/tls.py); nothing here sees a private key.
"""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

AUTHORITY = "https/ca.crt"


def authority(data: Path) -> bytes | None:
    """Return the certificate in DER, as phones take it; None: there is none."""
    path = data / AUTHORITY
    return ssl.PEM_cert_to_DER_cert(path.read_text()) if path.is_file() else None


def fingerprint(data: Path) -> str | None:
    """Return its SHA-256, to be compared with what the terminal printed."""
    found = authority(data)
    if found is None:
        return None
    digest = hashlib.sha256(found).hexdigest().upper()
    # In pairs with colons, as browsers and phones show it.
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
