"""Signed web hooks: who receives one can tell that it is ours, and when it was made."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime
from uuid import UUID

from django.conf import settings


def secret_of(project_id: UUID) -> str:
    """Return the secret a project's web hooks are signed with; follows SECRET_KEY."""
    # A use of the key of its own: no other signature of ours can pass for a web hook's.
    meant = b"controller webhook " + project_id.bytes
    return hmac.new(settings.SECRET_KEY.encode(), meant, hashlib.sha256).hexdigest()


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Sign a body together with its moment: `v1=` and a hex HMAC-SHA256."""
    # `v1` names the scheme: another one can be added beside it.
    signed = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1={signed.hexdigest()}"


def headers(
    body: bytes, *, project: UUID, event: str, delivery: UUID, at: datetime
) -> dict[str, str]:
    """Return what a web hook is sent with; a repeat carries the same delivery."""
    # Signed with the body, so that whoever receives an old request again can tell.
    timestamp = str(int(at.timestamp()))
    return {
        "Content-Type": "application/json",
        "User-Agent": "MissionControl",
        "X-MissionControl-Event": event,
        "X-MissionControl-Delivery": str(delivery),
        "X-MissionControl-Timestamp": timestamp,
        "X-MissionControl-Signature": signature(secret_of(project), timestamp, body),
    }
