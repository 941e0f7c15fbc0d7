"""Sign what the audit log must not be able to claim by itself, record it, and change the key.

The key is derived from the server's secret, which is not in the database: somebody who can
write every table still cannot sign. Its public half is in each checkpoint. After a change of the
secret the former key is trusted for what it signed before, and for nothing after it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.core.signing import Signer
from django.db import transaction
from django.db.models import Model
from django.utils.crypto import constant_time_compare

from missioncontrol.accounts import credentials
from missioncontrol.accounts.models import Project
from missioncontrol.notify.models import Channel, Device
from missioncontrol.proof import amendment_statement, canonical
from missioncontrol.runs import journal
from missioncontrol.sealing import UnsealFailed, fingerprint, seal, unseal
from missioncontrol.wire.events import AuditAmended

# In the data directory: further public keys that are trusted, one per line.
KEYS_FILE = "audit.keys"


def sign(statement: str, *, secret: str | None = None) -> str:
    """Return the signature of a statement, in hex; by default with the current secret."""
    # A row of an older release may contain half of a surrogate pair: it is signed as it is.
    key = _private_key(secret or settings.SECRET_KEY)
    return key.sign(statement.encode("utf-8", "surrogatepass")).hex()


def public_key() -> str:
    """Return the public key that verifies what is signed now, in hex."""
    return public_key_of(settings.SECRET_KEY)


def public_key_of(secret: str) -> str:
    """Return the public key that verifies what a secret signs, in hex."""
    return _private_key(secret).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def trusted_keys() -> tuple[str, ...]:
    """Return our public key, and those of former secrets."""
    # What they signed stays valid; the chain says which may sign today.
    former = map(public_key_of, settings.SECRET_KEY_FALLBACKS)
    return tuple(dict.fromkeys((public_key(), *former, *settings.AUDIT_KEYS)))


def trust_keys(keys: Iterable[str]) -> None:
    """Trust public keys from now on: the next processes read them from a file."""
    known = settings.AUDIT_KEYS
    settings.AUDIT_KEYS = list(dict.fromkeys([*known, *keys]))
    path = settings.DATA_DIR / KEYS_FILE
    fresh = path.with_name(f"{KEYS_FILE}.new")
    fresh.write_text("".join(f"{key}\n" for key in settings.AUDIT_KEYS))
    fresh.replace(path)  # if this is interrupted, the file of trusted keys is unchanged


def is_signed_as_before(project_id: str, checkpoint: dict[str, Any]) -> bool:
    """Check a checkpoint from the time when the secret itself signed the runs' heads."""
    heads = canonical([project_id, checkpoint["heads"]])
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    signers = [Signer(key=secret, salt="audit.anchor") for secret in secrets]
    return any(
        constant_time_compare(checkpoint["signature"], one.signature(heads)) for one in signers
    )


@cache
def _private_key(secret: str) -> Ed25519PrivateKey:
    # A derived key, which reveals nothing of the secret and encrypts nothing else.
    seed = hmac.new(secret.encode(), b"missioncontrol audit checkpoints", hashlib.sha256).digest()
    return Ed25519PrivateKey.from_private_bytes(seed)


def record_amendment(
    project_id: UUID,
    change: str,
    *,
    by: str,
    reason: str,
    at: datetime,
    secret: str | None = None,
    **what: Any,
) -> None:
    """Record an `audit.amended` event, signed by default with the current secret."""
    key = public_key_of(secret or settings.SECRET_KEY)
    fields = {"change": change, "reason": reason, "key": key, **what}
    # In the form in which the event's JSON will contain it, because that is what is verified.
    plain = {
        name: str(value) if isinstance(value, UUID) else value for name, value in fields.items()
    }
    statement = amendment_statement(str(project_id), at.isoformat(), by, plain)
    signature = sign(statement, secret=secret)
    journal.record_for_project(
        project_id, AuditAmended, by=by, at=at, signature=signature, **fields
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationResult:
    """The result of a rotation."""

    projects: int
    resealed: int
    unreadable: int
    """Addresses of channels and devices, and second factors, that neither secret can decrypt."""


def rotate_secret(*, former: str, by: str, reason: str, at: datetime) -> RotationResult:
    """Retire a former secret: reseal what it sealed, and record the change in the audit log.

    The settings already have the new one, and know the former.

    One transaction. No process may run that still signs with the former one: what it
    signed afterwards would not be trusted.
    """
    with transaction.atomic():
        resealed, unreadable = _reseal_addresses()
        factors_sealed, factors_unreadable = credentials.reseal_factors()
        projects = Project.objects.order_by("pk").values_list("pk", flat=True)
        for project_id in projects:
            # Signed with the former secret, and names its successor: whoever trusts the one may
            # trust the other.
            record_amendment(
                project_id,
                "rotated",
                by=by,
                reason=reason,
                at=at,
                secret=former,
                successor=public_key(),
            )
    return RotationResult(
        projects=len(projects),
        resealed=resealed + factors_sealed,
        unreadable=unreadable + factors_unreadable,
    )


def _reseal_addresses() -> tuple[int, int]:
    """Seal every address with the current secret; return how many were, and how many cannot be."""
    # Locked, so that addresses entered meanwhile are not overwritten with what was read before.
    sealed: list[tuple[Model, tuple[str, ...]]] = [
        *((row, ("address",)) for row in Channel.objects.select_for_update().order_by("pk")),
        *(
            (row, ("endpoint", "p256dh", "auth"))
            for row in Device.objects.select_for_update().order_by("pk")
        ),
    ]
    unreadable = 0
    for row, columns in sealed:
        try:
            plain = {name: unseal(getattr(row, name)) for name in columns}
        except UnsealFailed:  # its owner is asked for it again, as before
            unreadable += 1
            continue
        for name, text in plain.items():
            setattr(row, name, seal(text))
        # The digest depends on the secret too: a browser would not be found by the old one.
        if isinstance(row, Device):
            row.endpoint_digest = fingerprint(plain["endpoint"])
        row.save()
    return len(sealed) - unreadable, unreadable
