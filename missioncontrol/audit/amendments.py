"""Record what the audit log allows on a project's chain, signed."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from missioncontrol.audit import signing
from missioncontrol.proof import amendment_statement
from missioncontrol.runs import journal
from missioncontrol.wire.events import AuditAmended


def amend(
    project_id: UUID,
    change: str,
    *,
    by: str,
    reason: str,
    at: datetime,
    secret: str | None = None,
    **what: Any,
) -> None:
    """Record an `audit.amended` event; signed with today's secret unless told."""
    key = signing.public_key_of(secret or settings.SECRET_KEY)
    fields = {"change": change, "reason": reason, "key": key, **what}
    # As the event's JSON will hold it, for that is what is verified.
    plain = {
        name: str(value) if isinstance(value, UUID) else value for name, value in fields.items()
    }
    statement = amendment_statement(str(project_id), at.isoformat(), by, plain)
    signature = signing.sign(statement, secret=secret)
    journal.record_for_project(
        project_id, AuditAmended, by=by, at=at, signature=signature, **fields
    )
