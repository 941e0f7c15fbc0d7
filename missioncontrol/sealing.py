"""Encrypt stored secrets that must be read again: the key follows SECRET_KEY, not the database."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class UnsealFailed(Exception):
    """The text was sealed with another SECRET_KEY; says what to do."""

    def __init__(self) -> None:
        super().__init__("It was kept with another secret key: enter its address again.")


def seal(text: str) -> str:
    """Return an encrypted text that reveals nothing without the key; different each time."""
    return _cipher(settings.SECRET_KEY).encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Return what was sealed, with the current secret or a former one that is still known.

    Raises:
        UnsealFailed: the key is unknown, or the text was tampered with.
    """
    # The current one first, then the former ones: after a change of secret, until all is resealed.
    ciphers = [_cipher(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    try:
        return MultiFernet(ciphers).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise UnsealFailed from None


def fingerprint(text: str) -> str:
    """Return a digest that distinguishes texts and cannot be reversed without the key."""
    return hmac.new(_derive_key(settings.SECRET_KEY), text.encode(), hashlib.sha256).hexdigest()


@cache
def _cipher(secret_key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(_derive_key(secret_key)))


def _derive_key(secret_key: str) -> bytes:
    # Part of the key: with another label nothing that is stored could be unsealed.
    return hmac.new(secret_key.encode(), b"notify addresses", hashlib.sha256).digest()
