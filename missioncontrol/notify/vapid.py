"""Who we are to push services: one key of this installation, kept outside the database.

Browsers subscribe with its public half; every push carries a token signed with it
(RFC 8292). With another key, every browser would have to subscribe again.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from functools import cache
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from py_vapid import Vapid02
from py_vapid.jwt import sign

from missioncontrol.notify.contact import Contact, contact_of

# Push services take at most 24 hours.
TOKEN_LIFE = timedelta(hours=12)


class NoKey(Exception):
    """There is no key: `up` makes one; elsewhere VAPID_PRIVATE_KEY holds it."""

    def __init__(self) -> None:
        super().__init__("This installation has no VAPID key: set VAPID_PRIVATE_KEY.")


def new_private_key() -> str:
    """Make a key: 32 bytes in base64url, as VAPID_PRIVATE_KEY holds it."""
    # The bare number, as `web-push` and py-vapid exchange keys.
    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _text(number.to_bytes(32, "big"))


def public_key() -> str:
    """Return what a browser subscribes with.

    Raises:
        NoKey: this installation has none.
    """
    point = _key(settings.VAPID_PRIVATE_KEY).public_key.public_bytes(
        Encoding.X962, PublicFormat.UncompressedPoint
    )
    return _text(point)


def authorization(endpoint: str, *, at: datetime) -> str:
    """Return the Authorization header of a push to this endpoint.

    Raises:
        NoKey: this installation has none.
    """
    service = urlsplit(endpoint)
    claims = {
        # RFC 8292, 2: the service alone, so that the token is worth nothing at another.
        "aud": f"{service.scheme}://{service.netloc}",
        "exp": int((at + TOKEN_LIFE).timestamp()),
    }
    if subject := contact().subject:
        claims["sub"] = subject
    token = sign(claims, _key(settings.VAPID_PRIVATE_KEY).private_key)
    return f"vapid t={token},k={public_key()}"


def contact() -> Contact:
    """Return whom our pushes name."""
    return contact_of(settings.VAPID_SUBJECT, settings.PUBLIC_URL)


# Read once a process: each push asks for it.
@cache
def _key(private_key: str) -> Vapid02:
    if not private_key:
        raise NoKey
    return Vapid02.from_raw(private_key.encode())


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
