"""Erase the words of old turns where a project keeps them for so many days.

A run's turns go when it ended that long ago, with the telemetry they came by. Its events, figures
and cards stay. Each slice is a transaction with a signed `audit.amended` event, so that
the audit log verifies after every one.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F

from missioncontrol.accounts.models import Project
from missioncontrol.audit.amendments import amend
from missioncontrol.audit.erasing import WORDLESS, begin_afresh
from missioncontrol.detection.recordings import forget_words
from missioncontrol.runs import journal
from missioncontrol.runs.models import Run, TelemetryRecord, Turn

logger = logging.getLogger(__name__)

# In one transaction: nobody waits long for SQLite's lock.
TURNS_AT_ONCE = 500
# Of one project at one beat; the next goes on.
RUNS_AT_ONCE = 20
TELEMETRY_AT_ONCE = 5_000


def erase_old_words(*, at: datetime) -> int:
    """Erase a slice of each run whose time is over, the oldest first; count the runs."""
    slices = 0
    for project in Project.objects.exclude(keep_words_days=0).order_by("pk"):
        days = project.keep_words_days
        before = at - timedelta(days=days)
        over = Run.objects.filter(project=project, ended_at__lt=before)
        over = over.exclude(recording__at__gte=before)  # it ended long before it was imported
        old = over.filter(meters__erased_seq__lt=F("meters__last_seq"))
        for run_id in old.order_by("ended_at").values_list("pk", flat=True)[:RUNS_AT_ONCE]:
            try:
                slices += _erase_slice(project.id, run_id, days=days, at=at)
            except Exception:  # one run that resists must not keep every other's words
                logger.exception("the words of run %s could not be erased", run_id)
        # What came without turns, or after they had gone: the audit log does not hold it.
        done = over.filter(meters__erased_seq=F("meters__last_seq"))
        late = TelemetryRecord.objects.filter(run__in=done).values_list("pk", flat=True)
        TelemetryRecord.objects.filter(pk__in=list(late[:TELEMETRY_AT_ONCE])).delete()
    return slices


def _erase_slice(project_id: UUID, run_id: UUID, *, days: int, at: datetime) -> bool:
    """Erase the next turns of a run, unless it came back meanwhile."""
    # The project's lock first, as everywhere; the run was read before it, and may have come back.
    with journal.holding_project(project_id), journal.writing([run_id], at=at) as tx:
        run = tx.run(run_id)
        if run.ended_at is None or run.ended_at >= at - timedelta(days=days):
            return False
        first, last = (
            run.meters.erased_seq + 1,
            min(run.meters.erased_seq + TURNS_AT_ONCE, run.meters.last_seq),
        )
        amend(
            project_id,
            "erased",
            by="policy",
            reason=f"kept for {days} days",
            at=at,
            of_run=run.id,
            # No row of the chain: its figures and decisions stay.
            through_seq=-1,
            turns_through=last,
        )
        Turn.objects.filter(run=run, seq__gte=first, seq__lte=last).update(**WORDLESS)
        run.meters.erased_seq = last
        if last == run.meters.last_seq:
            TelemetryRecord.objects.filter(run=run).delete()
            forget_words(run)
            begin_afresh(run)  # it may come back
            if indexed := getattr(run, "indexed", None):
                indexed.delete()  # it is indexed anew, without the words
    return True
