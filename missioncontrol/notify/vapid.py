"""How this installation identifies itself to push services: one key, kept outside the database.

Browsers subscribe with its public half; every push carries a token signed with it
(RFC 8292). With another key, every browser would have to subscribe again.

The token's `sub` is the contact for the push service (RFC 8292, 2.1). It is optional, and
should be a `mailto:` or `https:` address. Apple's service answers 403 `BadJwtToken` to a
token without one, or with a host that cannot exist on the Internet (`localhost`, `.local`,
`.invalid`): an invented address is worse than none, because pushes then fail silently on
iPhones only.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from py_vapid import Vapid02
from py_vapid.jwt import sign

# Push services accept at most 24 hours.
TOKEN_LIFE = timedelta(hours=12)
Problem = Literal["none", "form", "local"]
MAILTO = re.compile(r"mailto:[^@\s<>,?]+@([^@\s<>,?/]+)")
# Top-level names that are not on the Internet: RFC 2606, 6762 and 7686, and home routers' names.
LOCAL_DOMAINS = frozenset(
    {
        "localhost",
        "local",
        "localdomain",
        "internal",
        "lan",
        "home",
        "corp",
        "test",
        "invalid",
        "example",
        "arpa",
        "onion",
    }
)
# Reserved for documentation (RFC 2606, 3).
EXAMPLE_DOMAINS = frozenset({"example.com", "example.org", "example.net"})


class NoKey(Exception):
    """There is no key: `up` and `prepare` make one, or VAPID_PRIVATE_KEY holds it."""

    def __init__(self) -> None:
        super().__init__("This installation has no VAPID key: set VAPID_PRIVATE_KEY.")


def new_private_key() -> str:
    """Make a key: 32 bytes in base64url, as VAPID_PRIVATE_KEY holds it."""
    # The bare number, the form in which `web-push` and py-vapid exchange keys.
    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _base64url(number.to_bytes(32, "big"))


def public_key() -> str:
    """Return the public key that browsers subscribe with.

    Raises:
        NoKey: this installation has no key.
    """
    point = _load_key(settings.VAPID_PRIVATE_KEY).public_key.public_bytes(
        Encoding.X962, PublicFormat.UncompressedPoint
    )
    return _base64url(point)


def authorization(endpoint: str, *, at: datetime) -> str:
    """Return the Authorization header of a push to this endpoint.

    Raises:
        NoKey: this installation has no key.
    """
    service = urlsplit(endpoint)
    claims = {
        # RFC 8292, 2: only for this service, so that the token is worthless at another.
        "aud": f"{service.scheme}://{service.netloc}",
        "exp": int((at + TOKEN_LIFE).timestamp()),
    }
    if subject := contact().subject:
        claims["sub"] = subject
    token = sign(claims, _load_key(settings.VAPID_PRIVATE_KEY).private_key)
    return f"vapid t={token},k={public_key()}"


def contact() -> Contact:
    """Return the contact that our pushes name."""
    return contact_of(settings.VAPID_SUBJECT, settings.PUBLIC_URL)


# Once for each process: each push needs it.
@cache
def _load_key(private_key: str) -> Vapid02:
    if not private_key:
        raise NoKey
    return Vapid02.from_raw(private_key.encode())


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """`subject`: a token's contact, "" for none; `problem`: why some services refuse it."""

    subject: str
    problem: Problem | None


def contact_of(configured: str, public_url: str) -> Contact:
    """Choose the contact: the configured one, otherwise this site's public https address.

    >>> contact_of("", "https://mc.acme.dev")
    Contact(subject='https://mc.acme.dev', problem=None)
    >>> contact_of("ops@acme.dev", "")
    Contact(subject='', problem='form')
    """
    if configured:
        problem = problem_of(configured)
        return Contact(subject="" if problem == "form" else configured, problem=problem)
    if public_url.startswith("https://") and problem_of(public_url) is None:
        return Contact(subject=public_url, problem=None)
    return Contact(subject="", problem="none")


def problem_of(subject: str) -> Problem | None:
    """Return what is wrong with a contact; None: every push service accepts it."""
    if mail := MAILTO.fullmatch(subject):
        host = mail[1].lower()
    elif not subject.startswith("https://") or not subject.isprintable() or " " in subject:
        host = ""
    else:
        try:
            host = (urlsplit(subject).hostname or "").lower()
        except ValueError:  # half an IPv6 address
            host = ""
    if not host:
        return "form"
    try:
        is_public = ipaddress.ip_address(host).is_global
    except ValueError:
        # A trailing dot means the same host.
        labels = host.rstrip(".").split(".")
        is_example = ".".join(labels[-2:]) in EXAMPLE_DOMAINS
        is_public = len(labels) > 1 and labels[-1] not in LOCAL_DOMAINS and not is_example
    return None if is_public else "local"
