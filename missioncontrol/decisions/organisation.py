"""The ceiling of all projects together: dollars a day, in UTC.

Locks: the installation's row, then every project's in id order (each project's chain records
the change), then live runs in id order. Any other code that locks several projects keeps to
that order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import ROUND_UP, Decimal
from typing import Any

from django.db import transaction

from guard.budget import Budget
from missioncontrol.accounts.models import Installation, Project
from missioncontrol.costs.spending import (
    ORGANISATION,
    SharedCounters,
    spent_by_all_projects,
    utc_day,
)
from missioncontrol.decisions import budgets
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run
from missioncontrol.sqlite.write_lock import with_priority
from missioncontrol.wire.instance import OrganisationBudget


@contextmanager
def lock_organisation() -> Iterator[Installation]:
    """Lock the installation's row and those of all projects; runs are locked after them."""
    with with_priority(), transaction.atomic():
        # Created first: a missing row cannot be locked.
        Installation.objects.get_or_create(pk=Installation.ONLY)
        installation = Installation.objects.select_for_update().get(pk=Installation.ONLY)
        # Only to lock them.
        list(Project.objects.select_for_update(no_key=True).order_by("pk"))
        yield installation


def show_day_budget(*, at: datetime) -> OrganisationBudget:
    """Return the ceiling and what all projects used of it today; for owners."""
    # Reading creates no row.
    known = Installation.objects.filter(pk=Installation.ONLY).first() or Installation()
    day = utc_day(at)
    return OrganisationBudget(
        day_usd=Decimal(known.day_budget["usd"]) if known.day_budget else None,
        extra_usd=Decimal(budgets.extra_of_day(day, known.day_extra).get("usd", 0)),
        spent_usd=spent_by_all_projects(day),
        day=day,
    )


def set_day_budget(usd: Decimal | None, *, by: str, at: datetime) -> None:
    """Set what all projects may spend a day; None removes the ceiling, but spending is counted.

    Each project's chain records it, live runs get an event, and runs that the old ceiling held
    go on.

    Raises:
        PolicyInvalid: the ceiling is out of bounds.
    """
    after = {} if usd is None else {"usd": str(usd)}
    Budget.from_mapping(after, path="day")
    with lock_organisation() as installation:
        # An unchanged ceiling is not recorded.
        if installation.day_budget == after:
            return
        before, installation.day_budget = installation.day_budget, after
        installation.save(update_fields=["day_budget"])
        _record_in_projects("organisation_budget", before, after, by=by, at=at)
        with journal.lock_runs(budgets.live_run_ids(), at=at) as tx:
            budgets.apply_new_ceilings(tx, by=by)


def raise_day_ceiling(
    tx: RunTransaction, run: Run, day: str, more: Mapping[str, Any], *, by: str
) -> None:
    """Raise the ceiling for one day, under `lock_organisation`; a past day's is left alone.

    Raises:
        InvalidRequest: there is no such ceiling.
        PolicyInvalid: the raised ceiling would be out of bounds.
    """
    if day != utc_day(tx.at):
        return
    project = run.project
    ceilings = budgets.ceilings_of_scope(project, ORGANISATION, day, at=tx.at)
    if ceilings is None or ceilings.usd is None or set(more) != {"usd"}:
        raise InvalidRequest("amount: the budget of all projects is in dollars only.")
    step = Decimal(str(more["usd"]))
    spent = SharedCounters([run], at=tx.at).spent(project, ORGANISATION, day)
    raised = max(ceilings.usd, spent.usd) + step
    if spent.usd > ceilings.usd:  # to the dollar: the new ceiling must not reveal the sum
        raised = raised.quantize(Decimal(1), rounding=ROUND_UP)
    Budget.from_mapping({"usd": str(raised)}, path="day")
    over = raised - Decimal((project.organisation_budget or {})["usd"])
    set_extra(tx, {"day": day, "more": {"usd": str(over)}}, by=by)


def read_extra() -> dict[str, Any]:
    """Return what is allowed in addition to the ceiling, and for which day."""
    kept: dict[str, Any] = Installation.objects.get(pk=Installation.ONLY).day_extra
    return kept


def set_extra(tx: RunTransaction, after: dict[str, Any], *, by: str) -> None:
    """Set a day's extra allowance, under `lock_organisation`; `tx` has every live run."""
    before = read_extra()
    Installation.objects.filter(pk=Installation.ONLY).update(day_extra=after)
    _record_in_projects("organisation_extra", before, after, by=by, at=tx.at)
    for run in tx.runs.values():
        # The project was read before the change.
        run.project.organisation_extra = after
    budgets.apply_new_ceilings(tx, by=by)


def _record_in_projects(what: str, before: Any, after: Any, *, by: str, at: datetime) -> None:
    """Record it in the chain of every project: it affects them all."""
    for project in Project.objects.order_by("pk").values_list("pk", flat=True):
        journal.record_change(project, what, before, after, by=by, at=at)
