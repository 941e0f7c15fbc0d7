"""Forget what became of old deliveries. The audit log keeps what was told, and is not touched.

A delivery that still waits stays, and so does what was told of a card that is still open: a
device that shows it has to be told when it is answered. A notice goes with its last
delivery, but for those of budgets: they remember that a ceiling's warning was given.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from missioncontrol.notify.models import Delivery, Notice

SETTLED = ("sent", "failed", "withdrawn", "skipped")
# In one transaction: nobody waits long for SQLite's lock.
AT_ONCE = 500
# At one beat; the next goes on.
MOST_BATCHES = 10
IS_OPEN = Q(decision__isnull=False, settled_at=None)


def prune(*, at: datetime, keep: timedelta) -> int:
    """Forget settled deliveries made longer ago than `keep`, the oldest first; count them."""
    before = at - keep
    is_shown = Exists(Notice.objects.filter(IS_OPEN, pk=OuterRef("notice")))
    # While its card is open it says who was told: that is not history yet.
    settled = Delivery.objects.filter(~is_shown, status__in=SETTLED, created_at__lt=before)
    gone = _in_batches(settled)
    is_kept = Exists(Delivery.objects.filter(notice=OuterRef("pk")))
    empty = Notice.objects.filter(~is_kept, at__lt=before).exclude(IS_OPEN)
    # A ceiling's notice stays: by it a run is told once, and not again after a month.
    _in_batches(empty.exclude(what="budget"))
    return gone


def _in_batches(old: QuerySet[Delivery] | QuerySet[Notice]) -> int:
    """Delete rows a batch a transaction; what changed since it was found is looked at again."""
    gone = 0
    for _ in range(MOST_BATCHES):
        found: list[UUID] = list(old.order_by("id").values_list("id", flat=True)[:AT_ONCE])
        gone += old.filter(pk__in=found).delete()[0]
        if len(found) < AT_ONCE:
            break
    return gone
