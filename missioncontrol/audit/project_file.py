"""One project in a file of JSON Lines: written here, read and verified by another installation.

A signed `header`, the file of heads, a line for each row of each table, and an `end` with the
number of rows. What belongs to an installation stays there: people, keys, channels, devices,
deliveries, saved views, shared links, the search index. An import is kept only if its audit log
verifies.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.db.models import AutoField, Model
from pydantic_core import to_json

from missioncontrol.accounts import people
from missioncontrol.accounts.models import Membership, Project, Role
from missioncontrol.audit import anchors, checking, signing
from missioncontrol.audit.checking import iterate_ordered
from missioncontrol.audit.signing import record_amendment
from missioncontrol.costs.models import Spend
from missioncontrol.costs.spending import ORGANISATION
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
from missioncontrol.detection.old_policies import upgrade_policy, upgrade_text
from missioncontrol.errors import InvalidRequest
from missioncontrol.proof import GENESIS, canonical, is_signed
from missioncontrol.reports.models import CostReport
from missioncontrol.runs.lifecycle import NEVER_HELD, ON_HOLD, Source
from missioncontrol.runs.models import (
    Hold,
    JournalRow,
    ModelCall,
    Run,
    RunMeters,
    TelemetryRecord,
    Turn,
)

ROW_BATCH = 500
FORMAT = 1
# Each kind of line, its table, and how a row leads to its project. Tables come after those they
# refer to: an import inserts in this order, and foreign keys hold at each step. People, keys and
# channels are left out: they are the installation's.
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
# The kind of a row, and its columns.
ExportedRow = tuple[str, dict[str, Any]]

# What the columns of a hold were called when they were part of its run.
OLD_HOLD_COLUMNS = {
    "held_since": "since",
    "hold_seq": "from_seq",
    "hold_expires_at": "expires_at",
    "waiting_at": "waiting_at",
    "waiting_since": "waiting_since",
    "gave_up_at": "gave_up_at",
    "hold_stands": "stands",
}
# Columns by their former names.
RENAMED_COLUMNS = {"budget_told": "notified_budgets", "kin_forgotten": "lineage_forgotten"}
KINDS_WITH_POLICY = {"project", "run", "policy_version", "backtest"}
METERS = {field.attname for field in RunMeters._meta.concrete_fields if not field.primary_key}
# Rows made from columns of their runs are inserted this many at once, after the runs.
KEPT_BACK = 500


def export_lines(project_id: UUID, *, at: datetime) -> Iterator[bytes]:
    """Yield the lines of a project as it is at one moment; agents may write meanwhile."""
    # Before the database, which then includes all of them.
    known = list(anchors.read_heads(project_id))
    count = 0
    header = {
        "kind": "header",
        "format": FORMAT,
        "version": settings.VERSION,
        "project": str(project_id),
        "at": at.isoformat(),
        # The end of its own chain: the imported rows must include it, even if little else is
        # signed.
        "head": Project.objects.values_list("head", flat=True).get(pk=project_id),
        "key": signing.public_key(),
        "trusted": list(signing.trusted_keys()),
    }
    # Signed, because the header names the keys that an import is asked to trust.
    yield _line({**header, "signature": signing.sign(canonical(header))})
    for head in known:
        yield _line({"kind": "head", "line": head})
    with _read_snapshot():
        for kind, (model, lookup) in TABLES.items():
            names = list(columns_of(model))
            found = model._meta.base_manager.filter(**{lookup: project_id})
            for row in iterate_ordered(found, "pk"):
                count += 1
                yield _line({"kind": kind, "row": {name: getattr(row, name) for name in names}})
    # The number of rows, so that an interrupted download is not taken for a complete one.
    yield _line({"kind": "end", "rows": count})


@contextmanager
def _read_snapshot() -> Iterator[None]:
    """Read the database as it is now, whatever is written meanwhile, without locking anything."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")  # Django's own would take the write lock
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # It holds no lock, and may spend longer writing the file between two reads.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            yield


def _line(entry: dict[str, Any]) -> bytes:
    return to_json(entry) + b"\n"


def columns_of(model: type[Model]) -> dict[str, Any]:
    """Return a table's columns by name, without an id that the database numbers itself."""
    fields = model._meta.concrete_fields
    return {field.attname: field for field in fields if not isinstance(field, AutoField)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """The project, and how many rows of all kinds were imported with it."""

    project: Project
    rows: int


class UntrustedKey(InvalidRequest):
    """Nobody here has said that they trust the key of the export."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The export is signed with the key {key}, which is not trusted here: compare it with"
            " `verify_audit --public-key` where it was made, then name it with --trust."
        )


def import_project(path: Path, *, owner: User, trust: str = "", at: datetime) -> ImportResult:
    """Import a project in one transaction: all of it, with a valid audit log, or nothing.

    The exporter's key is trusted for what was imported, and for nothing written here.

    Raises:
        InvalidRequest: the file is no complete export, is of newer code, its audit log does not
            hold, or the project is here already.
        UntrustedKey: its key is neither trusted here nor equal to `trust`.
    """
    try:
        with path.open("rb") as lines, transaction.atomic():
            return _import(map(json.loads, lines), owner=owner, trust=trust, at=at)
    # A line may be any JSON: a list instead of an object has no keys to look up.
    except (AttributeError, KeyError, TypeError, ValueError, ValidationError) as fault:
        raise InvalidRequest(f"{path} cannot be read as an export: {fault!r}.") from None
    except DatabaseError as fault:
        raise InvalidRequest(f"{path} does not fit this database: {fault}.") from None


def _import(lines: Iterator[Any], *, owner: User, trust: str, at: datetime) -> ImportResult:
    header: dict[str, Any] = next(lines, {})
    if header.get("kind") != "header" or header.get("format") != FORMAT:
        raise InvalidRequest("The file is not an export, or its version is not supported.")
    key = header["key"]
    fields = {name: value for name, value in header.items() if name != "signature"}
    if not is_signed(canonical(fields), header["signature"], key):
        raise InvalidRequest("The export's first line was changed: its signature is invalid.")
    # Anybody can make an export that is valid under a key of their own.
    if key not in {trust, *signing.trusted_keys()}:
        raise UntrustedKey(key)
    project_id = UUID(header["project"])
    # Even a file of heads alone, because it would contradict what is imported.
    if Project.objects.filter(pk=project_id).exists() or anchors.heads_path(project_id).exists():
        raise InvalidRequest("The project or its heads file exists here already.")
    known = settings.AUDIT_KEYS
    # For this import's verification; they are stored only if it succeeds.
    settings.AUDIT_KEYS = [*known, *header["trusted"]]
    try:
        counts = _insert_rows(lines, project_id)
        # Earlier exports do not state their head.
        _check_imported_rows(counts, project_id, head=header.get("head", GENESIS))
        project = Project.objects.get(pk=project_id)
        # The people of the other installation stay there, so somebody here must own it.
        Membership.objects.create(project=project, user=owner, role=Role.OWNER, joined_at=at)
        record_amendment(
            project_id,
            "imported",
            by=people.name_of(owner),
            reason=f"exported {header['at']}",
            at=at,
            former=None if key == signing.public_key() else key,
        )
        _check_log(project_id)
    except BaseException:
        # On interruption too: a rollback does not restore a setting or a file.
        settings.AUDIT_KEYS = known
        anchors.heads_path(project_id).unlink(missing_ok=True)
        raise
    # Last: a key is trusted permanently only once everything it signed was verified.
    signing.trust_keys(header["trusted"])
    return ImportResult(project=project, rows=counts.total())


def _check_imported_rows(counts: Counter[str], project_id: UUID, *, head: str) -> None:
    """Raise unless every row is this project's, fits the others, and none is missing."""
    # Without a project there is no chain to verify, so an empty one would seem to hold.
    if not counts["project"]:
        raise InvalidRequest("The export has no line of the project itself.")
    for kind, count in counts.items():
        model, path = TABLES[kind]
        # No row was this project's before, so a different count means another project's id.
        if model._meta.base_manager.filter(**{path: project_id}).count() != count:
            raise InvalidRequest(f"The export contains lines of another project: {kind}.")
    # What was spent elsewhere, even today, must not count against a limit here.
    Spend.objects.filter(project=project_id, scope=ORGANISATION).delete()
    connection.check_constraints()  # now: an error at the commit would leave the file of heads
    # Whoever had the file may have cut the audit log off, and continued it as they liked.
    own = JournalRow.objects.filter(project=project_id, run=None)
    if head != GENESIS and not own.filter(hash=head).exists():
        raise InvalidRequest("Its audit log is damaged: rows are missing.")


def _check_log(project_id: UUID) -> None:
    found = checking.verify(projects=[project_id])
    if not found.ok:
        raise InvalidRequest(f"Its audit log is damaged: {found.faults[0].words}")


def _insert_rows(lines: Iterator[Any], project_id: UUID) -> Counter[str]:
    """Insert every row; write the file of heads beside them. Return the number of rows by kind."""
    batch: list[Any] = []
    counts: Counter[str] = Counter()
    kind = ""
    for now, row in _upgrade_rows(_read_rows(lines, project_id)):
        # Lines of one kind are adjacent, so that a batch belongs to one table.
        if now != kind or len(batch) == ROW_BATCH:
            _insert_batch(batch, kind)
            batch, kind = [], now
        if kind not in TABLES:
            raise InvalidRequest(f"The export contains lines of an unknown kind: {kind!r}.")
        model, _ = TABLES[kind]
        columns = columns_of(model)
        # An unknown column would be lost silently if it were ignored.
        if unknown := row.keys() - columns.keys():
            raise InvalidRequest(f"The export was made by newer code: {kind} has {min(unknown)!r}.")
        batch.append(model(**{name: columns[name].to_python(value) for name, value in row.items()}))
        counts[kind] += 1
    _insert_batch(batch, kind)
    return counts


def _read_rows(lines: Iterator[Any], project_id: UUID) -> Iterator[ExportedRow]:
    """Yield each row and its kind; raise unless all are there."""
    count = 0
    for line in lines:
        if line["kind"] == "head":
            anchors.append_imported_head(project_id, line["line"])
        elif line["kind"] != "end":
            count += 1
            yield line["kind"], line["row"]
        elif line["rows"] != count:
            raise InvalidRequest(f"The export tells of {line['rows']} rows and has {count}.")
        else:
            return
    raise InvalidRequest("The export is incomplete: its last line is missing.")


def _insert_batch(batch: list[Any], kind: str) -> None:
    if batch:
        TABLES[kind][0]._meta.base_manager.bulk_create(batch)


def _upgrade_rows(rows: Iterable[ExportedRow]) -> Iterator[ExportedRow]:
    """Yield rows of earlier versions in today's form; today's own are unchanged.

    Policies used other words; before that, a run's meters were columns of its row; before that,
    its hold was too, and an answer said only that it ended one.
    """
    began: dict[str, int] = {}
    meters: list[ExportedRow] = []
    holds: list[ExportedRow] = []
    for kind, row in rows:
        # After the rows of their runs, which they refer to.
        if kind != "run" or len(meters) == KEPT_BACK:
            yield from (*meters, *holds)
            meters, holds = [], []
        if kind == "run" and "hold_seq" in row:
            began[row["id"]] = row["hold_seq"]
            hold = {name: row.pop(was) for was, name in OLD_HOLD_COLUMNS.items()}
            is_held = row["status"] in ON_HOLD or hold["stands"]
            if is_held and row["status"] not in NEVER_HELD:
                # The earliest exports do not say since when.
                hold["since"] = hold["since"] or row["last_turn_at"] or row["started_at"]
                holds.append(("hold", {**hold, "run_id": row["id"]}))
        for was in RENAMED_COLUMNS.keys() & row.keys():
            row[RENAMED_COLUMNS[was]] = row.pop(was)
        if kind == "run" and "source" not in row:
            # Formerly flags; the earliest exports had none.
            observed, imported = row.pop("observed_only", False), row.pop("imported", False)
            source = Source.TELEMETRY if observed else Source.AGENT
            row["source"] = Source.RECORDING if imported else source
        if kind == "run" and "last_seq" in row:
            own = {name: row.pop(name) for name in METERS & row.keys()}
            meters.append(("run_meters", {**own, "run_id": row["id"]}))
        if kind == "intervention" and "lifted" in row:
            row["held_from"] = began.get(row["run_id"]) if row.pop("lifted") else None
        if kind in KINDS_WITH_POLICY:
            _upgrade_policies(row)
        yield kind, row
    yield from (*meters, *holds)


def _upgrade_policies(row: dict[str, Any]) -> None:
    for name in {"policy", "today"} & row.keys():
        was, row[name] = row[name], upgrade_policy(row[name])
        if row.get("text") and row[name] != was:
            row["text"] = upgrade_text(row[name], row["text"])
