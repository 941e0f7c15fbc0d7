"""Write everything of one project as JSON Lines, to be read by another installation.

A signed `header`, the file of heads, a line for each row of each table, and an `end` with the
number of rows. What belongs to an installation stays there: people, keys, channels, devices,
what was delivered, saved views, shared links, the search index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import AutoField, Model
from pydantic_core import to_json

from missioncontrol.accounts.models import Project
from missioncontrol.audit import heads, signing
from missioncontrol.audit.checking import pages
from missioncontrol.costs.models import Spend
from missioncontrol.decisions.models import (
    AllowlistEntry,
    Autofix,
    ControllerNote,
    Decision,
    Intervention,
    LetGo,
    Message,
)
from missioncontrol.detection.models import (
    Backtest,
    BacktestRun,
    PolicyVersion,
    Question,
    Recording,
)
from missioncontrol.proof import canonical
from missioncontrol.reports.models import CostReport
from missioncontrol.runs.models import (
    Hold,
    JournalRow,
    ModelCall,
    Run,
    RunMeters,
    TelemetryRecord,
    Turn,
)

ROWS_AT_ONCE = 500
FORMAT = 1
# Each kind of line, its table, and how a row leads to its project.
# What refers stands below what it refers to: an import inserts in this order, and foreign keys
# hold at each step. People, keys and channels are left out: they are the installation's.
TABLES: Mapping[str, tuple[type[Model], str]] = {
    "project": (Project, "pk"),
    "policy_version": (PolicyVersion, "project"),
    "run": (Run, "project"),
    "run_meters": (RunMeters, "run__project"),
    "hold": (Hold, "run__project"),
    "turn": (Turn, "run__project"),
    "model_call": (ModelCall, "run__project"),
    "telemetry": (TelemetryRecord, "run__project"),
    "event": (JournalRow, "project"),
    "decision": (Decision, "run__project"),
    "question": (Question, "run__project"),
    "intervention": (Intervention, "run__project"),
    "message": (Message, "run__project"),
    "controller_note": (ControllerNote, "run__project"),
    "autofix": (Autofix, "run__project"),
    "allowlist_entry": (AllowlistEntry, "project"),
    "spend": (Spend, "project"),
    "cost_report": (CostReport, "project"),
    "let_go": (LetGo, "project"),
    "backtest": (Backtest, "project"),
    "recording": (Recording, "project"),
    "backtest_run": (BacktestRun, "backtest__project"),
}


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


def columns_of(model: type[Model]) -> dict[str, Any]:
    """Return a table's columns by name; a number that the database counts up is its own."""
    fields = model._meta.concrete_fields
    return {field.attname: field for field in fields if not isinstance(field, AutoField)}
