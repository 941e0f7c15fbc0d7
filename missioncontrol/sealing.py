"""What is read again and holds secrets, sealed: the key follows SECRET_KEY, not the database."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """It was sealed with another SECRET_KEY; says what to do."""

    def __init__(self) -> None:
        super().__init__("It was kept with another secret key: enter its address again.")


def seal(text: str) -> str:
    """Return a text that says nothing without the key; each time another."""
    return _box(settings.SECRET_KEY).encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Return what was sealed, with today's secret or a former one that is still known.

    Raises:
        Unreadable: with an unknown key, or it was tampered with.
    """
    # Today's first, then the former ones: after a change of secret, until all is resealed.
    boxes = [_box(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    try:
        return MultiFernet(boxes).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unreadable from None


def fingerprint(text: str) -> str:
    """Return what tells a text from others and cannot be turned back without the key."""
    return hmac.new(_key(settings.SECRET_KEY), text.encode(), hashlib.sha256).hexdigest()


@cache
def _box(secret_key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(_key(secret_key)))


def _key(secret_key: str) -> bytes:
    # Part of the key: with another text nothing that is kept could be unsealed.
    return hmac.new(secret_key.encode(), b"notify addresses", hashlib.sha256).digest()
