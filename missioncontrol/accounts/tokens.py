"""Bearer secrets: how they are made, stored (hashed), and kept out of logs."""

from __future__ import annotations

import hashlib
import logging
import re

# With these prefixes, repository scanners and our own masking recognise a leaked secret.
AGENT_PREFIX = "mc_"
PERSON_PREFIX = "mcu_"
_LINK = re.compile(r"(/(?:login|shared)/)[\w-]{8,}")


def digest(text: str) -> str:
    """Hash a secret for storage and look-up; 256 random bits need no salt."""
    return hashlib.sha256(text.encode()).hexdigest()


def bearer_of(authorization: str) -> str:
    """Return the secret of an `Authorization: Bearer` header; empty: another scheme, or none."""
    kind, _, token = authorization.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


class HideLoginLinks(logging.Filter):
    """Mask the secret of `/login/<secret>` and `/shared/<secret>` in every record that passes."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        # Cleared too: a handler would insert them again.
        if _LINK.search(text):
            record.msg, record.args = _LINK.sub(r"\1…", text), ()
        return True
