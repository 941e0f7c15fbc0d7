"""Somebody who can write every table, knows how rows are hashed, and has no secret key."""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from missioncontrol.accounts.models import Project
from missioncontrol.ids import new_id
from missioncontrol.proof import (
    GENESIS,
    amendment_statement,
    anchor_statement,
    canonical,
    payload_digest,
    row_hash,
)
from missioncontrol.runs import rows
from missioncontrol.runs.models import JournalRow, Run, RunMeters

OWN_KEY = Ed25519PrivateKey.from_private_bytes(b"an attacker's own key, 32 bytes.")
OWN_PUBLIC = OWN_KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def own_signature(statement: str) -> str:
    return OWN_KEY.sign(statement.encode()).hex()


def edit_payload(row: JournalRow, **changes: Any) -> None:
    """Change what a row says, and its digest with it."""
    payload = canonical({**json.loads(row.payload or ""), **changes})
    digest = payload_digest(payload, row.salt or "")
    JournalRow.objects.filter(pk=row.pk).update(payload=payload, digest=digest)


def rehash(owner: Run | Project) -> None:
    """Number and hash a chain anew, and set its head, as whoever wrote it honestly would."""
    is_run = isinstance(owner, Run)
    chain = JournalRow.objects.filter(
        **({"run": owner} if is_run else {"project": owner, "run": None})
    )
    previous, seq = GENESIS, -1
    for seq, row in enumerate(chain.order_by("seq")):
        row.seq, row.previous = seq, previous
        row.hash = row_hash(rows.header(row), previous=previous, digest=row.digest)
        row.save()
        previous = row.hash
    chained: RunMeters | Project = owner.meters if isinstance(owner, Run) else owner
    chained.head, chained.event_seq = previous, seq
    chained.save(update_fields=["head", "event_seq"])


def append(owner: Run | Project, kind: str, payload: dict[str, Any], *, at: Any) -> JournalRow:
    """Write a row at the end of a chain."""
    owner.refresh_from_db()
    run = owner if isinstance(owner, Run) else None
    chained: RunMeters | Project = owner.meters if isinstance(owner, Run) else owner
    text, salt = canonical(payload), "00" * 16
    row = JournalRow(
        id=new_id(),
        project_id=run.project_id if run else owner.pk,
        run=run,
        seq=chained.event_seq + 1,
        type=kind,
        at=at,
        by="policy",
        version=run.version if run else 0,
        status=run.status if run else None,
        payload=text,
        salt=salt,
        previous=chained.head,
        digest=payload_digest(text, salt),
    )
    row.hash = row_hash(rows.header(row), previous=row.previous, digest=row.digest)
    row.save(force_insert=True)
    chained.head, chained.event_seq = row.hash, row.seq
    chained.save(update_fields=["head", "event_seq"])
    return row


def forge_anchor(project: Project, *, at: Any, number: int, predecessor: str) -> JournalRow:
    """Write a checkpoint signed with a key of one's own."""
    project.refresh_from_db()
    payload: dict[str, Any] = {
        "heads": {},
        "key": OWN_PUBLIC,
        "head": project.head,
        "head_seq": project.event_seq,
        "number": number,
        "predecessor": predecessor,
    }
    signature = own_signature(anchor_statement(str(project.pk), at.isoformat(), payload))
    return append(project, "chain.anchored", {**payload, "signature": signature}, at=at)


def forge_erasure(run: Run, *, at: Any, key: str) -> JournalRow:
    """Write that erasing a run was allowed, signed with a key of one's own."""
    payload: dict[str, Any] = {
        "change": "erased",
        "reason": "asked for",
        "of_run": str(run.pk),
        "key": key,
        "through_seq": run.meters.event_seq,
        "turns_through": run.meters.last_seq,
    }
    statement = amendment_statement(str(run.project_id), at.isoformat(), "policy", payload)
    payload["signature"] = own_signature(statement)
    return append(run.project, "audit.amended", payload, at=at)
