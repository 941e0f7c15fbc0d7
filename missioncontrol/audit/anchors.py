"""Tie runs' chains into their project's, and report what `checking` finds in all of them.

A checkpoint (a `chain.anchored` row on the project's chain) names `seq` and hash of each
head that moved since the last one, the project's own head, the previous checkpoint and its own
number, signed with a key outside the database. `heads` also stores it in a file.
"""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import F, OuterRef, Subquery
from django.utils.dateparse import parse_datetime

from missioncontrol.accounts.models import Project
from missioncontrol.audit import checking, heads, signing
from missioncontrol.proof import ANCHOR_EVENT, Fault, anchor_statement
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow, RunMeters
from missioncontrol.runs.statements import update_columns
from missioncontrol.wire.events import ChainAnchored
from missioncontrol.wire.instance import AuditFault, Verification
from missioncontrol.wire.rows import row_of

logger = logging.getLogger(__name__)

Heads = dict[str, tuple[int, str]]

# Per checkpoint, so that nobody waits long for the project's lock, or for SQLite's.
RUN_BATCH = 500
MAX_FAULTS = 100


def anchor_heads(*, at: datetime, since: datetime | None = None) -> list[UUID]:
    """Write the heads that moved into each project's chain; return the projects that moved.

    A project of which only its own chain moved is anchored too. `since`: look only at runs with
    events since then, as all others were anchored; None: at every run.
    """
    last = JournalRow.objects.filter(project=OuterRef("pk"), run=None).order_by("-seq")
    projects = Project.objects.filter(event_seq__gte=0).annotate(
        last_type=Subquery(last.values("type")[:1]), last_text=Subquery(last.values("payload")[:1])
    )
    # Checkpoints of earlier versions have no number: a current one must follow them.
    going_on = projects.exclude(last_type=ANCHOR_EVENT, last_text__contains='"number":').order_by(
        "pk"
    )
    moved: dict[UUID, list[RunMeters]] = {pk: [] for pk in going_on.values_list("pk", flat=True)}
    unanchored = RunMeters.objects.filter(event_seq__gt=F("anchored_seq")).order_by("pk")
    unanchored = unanchored.annotate(project_id=F("run__project_id"))
    if since is not None:
        # The heads that move have no index, which every turn would write: the events have one.
        events = JournalRow.objects.filter(project__in=Project.objects.all(), at__gte=since)
        unanchored = unanchored.filter(pk__in=events.values("run"))
    for run in unanchored.only("event_seq", "head"):  # in the order in which they are locked
        moved.setdefault(run.project_id, []).append(run)
    for project_id, runs in moved.items():
        # At least once: a project of which only its own chain moved has no runs here.
        for first in range(0, len(runs) or 1, RUN_BATCH):
            _write_checkpoint(project_id, runs[first : first + RUN_BATCH], at=at)
        try:
            heads.append_heads(project_id)
        except (OSError, ValueError):  # a full disk must not keep the next project waiting
            logger.exception("project %s: its head was not filed", project_id)
    return list(moved)


def verify(*, projects: Collection[UUID]) -> Verification:
    """Verify every chain of these projects, and compare it with what is stored beside it."""
    verifier = checking.Verifier()
    head = ""
    faults: list[Fault] = []
    for project in Project.objects.filter(pk__in=projects).order_by("id"):
        head = project.head
        faults += itertools.islice(verifier.faults_of(project), MAX_FAULTS - len(faults))
    anchors = JournalRow.objects.filter(project_id__in=projects, type=ANCHOR_EVENT)
    last = anchors.order_by("-id").values_list("at", flat=True).first()
    return Verification(
        ok=not faults,
        rows=verifier.rows,
        head=head,
        broken_at=next((fault.row for fault in faults if fault.row), "missing") if faults else None,
        anchored_at=last,
        faults=tuple(
            row_of(
                AuditFault,
                fault,
                project=UUID(fault.project),
                run=UUID(fault.run) if fault.run else None,
                row=UUID(fault.row) if fault.row else None,
            )
            for fault in faults
        ),
        keys=signing.trusted_keys(),
        compared_since=parse_datetime(verifier.compared_since) if verifier.compared_since else None,
    )


def _write_checkpoint(project_id: UUID, runs: Collection[RunMeters], *, at: datetime) -> None:
    tied: Heads = {str(run.pk): (run.event_seq, run.head) for run in runs}
    with journal.lock_project(project_id) as project:
        # Under the lock, because two beats at once must not give one number twice.
        anchors = JournalRow.objects.filter(project=project, run=None, type=ANCHOR_EVENT)
        last = anchors.order_by("-seq").first()
        known = json.loads(last.payload or "{}") if last else {}
        # Older checkpoints have no number: count them.
        number = known.get("number") or anchors.count()
        fields = {
            "heads": {run: list(head) for run, head in tied.items()},
            "key": signing.public_key(),
            "head": project.head,
            "head_seq": project.event_seq,
            "predecessor": last.hash if last else "",
            "number": number + 1,
        }
        signature = signing.sign(anchor_statement(str(project_id), at.isoformat(), fields))
        journal.record_for_project(
            project_id,
            ChainAnchored,
            by="policy",
            at=at,
            **{**fields, "heads": tied},
            signature=signature,
        )
        for run in runs:
            run.anchored_seq = run.event_seq
        update_columns(RunMeters, ("anchored_seq",), runs)
