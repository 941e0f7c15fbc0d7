"""Tie runs' chains into their project's, and verify all of them.

A `chain.anchored` row on the project's chain names `seq` and hash of each head
that moved since the last one, signed with a key outside the database, so that a
missing run or a cut tail shows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from uuid import UUID

from django.core.signing import Signer
from django.db import transaction
from django.db.models import F

from missioncontrol.accounts.models import Project
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow, Run
from missioncontrol.runs.selectors import broken_row
from missioncontrol.wire.audit import Verification
from missioncontrol.wire.events import ChainAnchored

Heads = dict[str, tuple[int, str]]


def anchor_heads(*, at: datetime) -> None:
    """Write the heads that moved into each project's chain."""
    moved: dict[UUID, Heads] = defaultdict(dict)
    unanchored = Run.objects.filter(event_seq__gt=F("anchored_seq")).order_by("id")
    for run in unanchored.only("project_id", "event_seq", "head"):  # in the order of locks
        moved[run.project_id][str(run.id)] = (run.event_seq, run.head)
    for project_id, heads in moved.items():
        _anchor(project_id, heads, at=at)


def verify(*, projects: Collection[UUID]) -> Verification:
    """Walk every chain of these projects."""
    total, head, broken = 0, "", None
    for project in Project.objects.filter(pk__in=projects).order_by("id"):
        head = project.head
        for count, fault in _walk(project):
            total += count
            broken = broken or fault
    anchors = JournalRow.objects.filter(project_id__in=projects, type="chain.anchored")
    last = anchors.order_by("-id").values_list("at", flat=True).first()
    return Verification(
        ok=broken is None, rows=total, head=head, broken_at=broken, anchored_at=last
    )


def _anchor(project_id: UUID, heads: Heads, *, at: datetime) -> None:
    with transaction.atomic():
        journal.record_for_project(
            project_id, ChainAnchored, by="policy", at=at, heads=heads,
            signature=_sign(project_id, heads),
        )  # fmt: skip
        for run_id, (seq, _) in heads.items():
            Run.objects.filter(pk=run_id).update(anchored_seq=seq)


def _walk(project: Project) -> Iterator[tuple[int, str | None]]:
    own = JournalRow.objects.filter(project=project, run__isnull=True)
    yield broken_row(own, head=project.head, last_seq=project.event_seq)
    for run in Run.objects.filter(project=project).order_by("id"):
        yield broken_row(JournalRow.objects.filter(run=run), head=run.head, last_seq=run.event_seq)
    for anchor in own.filter(type="chain.anchored", payload__isnull=False).order_by("seq"):
        yield 0, _anchor_fault(project, anchor)


def _anchor_fault(project: Project, anchor: JournalRow) -> str | None:
    said = json.loads(anchor.payload or "{}")
    heads = {run: (seq, hash_) for run, (seq, hash_) in said["heads"].items()}
    if said["signature"] != _sign(project.id, heads):
        return str(anchor.id)
    for run_id, (seq, hash_) in heads.items():
        if not JournalRow.objects.filter(run_id=run_id, seq=seq, hash=hash_).exists():
            return str(anchor.id)
    return None


def _sign(project_id: UUID, heads: Heads) -> str:
    listed = {run: list(head) for run, head in heads.items()}
    return Signer(salt="audit.anchor").signature(journal.canonical([str(project_id), listed]))
