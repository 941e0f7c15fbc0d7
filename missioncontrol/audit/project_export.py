"""Write everything of one project as JSON Lines; `project_tables` says what that is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from pydantic_core import to_json

from missioncontrol.audit import heads, signing
from missioncontrol.audit.checking import pages
from missioncontrol.audit.project_tables import FORMAT, TABLES, columns_of
from missioncontrol.proof import canonical

ROWS_AT_ONCE = 500


def export_lines(project_id: UUID, *, at: datetime) -> Iterator[bytes]:
    """Yield the lines of a project as it stands at one moment; agents go on meanwhile."""
    known = list(heads.lines_of(project_id))  # before the database, which then knows them all
    count = 0
    header = {
        "kind": "header",
        "format": FORMAT,
        "version": settings.VERSION,
        "project": str(project_id),
        "at": at.isoformat(),
        "key": signing.public_key(),
        "trusted": list(signing.trusted_keys()),
    }
    # Signed: the header names the keys that an import is asked to trust.
    yield _line({**header, "signature": signing.sign(canonical(header))})
    for head in known:
        yield _line({"kind": "head", "line": head})
    with _one_moment():
        for kind, (model, lookup) in TABLES.items():
            names = list(columns_of(model))
            found = model._meta.base_manager.filter(**{lookup: project_id})
            for row in pages(found, "pk", at_once=ROWS_AT_ONCE):
                count += 1
                yield _line({"kind": kind, "row": {name: getattr(row, name) for name in names}})
    # How many there were: a download that broke off must not be taken for the whole.
    yield _line({"kind": "end", "rows": count})


@contextmanager
def _one_moment() -> Iterator[None]:
    """Read the database as it stands now, whatever is written meanwhile; lock nothing."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")  # Django's own would take the writers' lock
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # It holds no lock, and between two reads it may write for longer.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            yield


def _line(entry: dict[str, Any]) -> bytes:
    return to_json(entry) + b"\n"
