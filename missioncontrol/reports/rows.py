"""Kept cost reports as wire rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import date
from uuid import UUID

from django.db.models import QuerySet
from pydantic import TypeAdapter

from missioncontrol.errors import existing
from missioncontrol.notify.models import Delivery
from missioncontrol.reports.models import CostReport
from missioncontrol.wire.costs import CostAccount, CostGroup, Report, ReportRow
from missioncontrol.wire.rows import row_of

groups: TypeAdapter[tuple[CostGroup, ...]] = TypeAdapter(tuple[CostGroup, ...])
accounts: TypeAdapter[CostAccount] = TypeAdapter(CostAccount)


def found(*, projects: Collection[UUID]) -> QuerySet[CostReport]:
    """Find reports, whatever their version."""
    return CostReport.objects.filter(project_id__in=projects).select_related("project")


def listed(*, projects: Collection[UUID], before: date | None, days: int) -> list[ReportRow]:
    """Return the newest version of each report of so many days, the latest day first."""
    mine = found(projects=projects)
    mine = mine.filter(day__lt=before) if before else mine
    # By days, not by rows: a page must hold a day's projects together.
    shown = list(mine.values_list("day", flat=True).distinct().order_by("-day")[:days])
    newest: dict[tuple[date, UUID], CostReport] = {}
    # A later version takes the place of the earlier one.
    for report in mine.filter(day__in=shown).order_by("-day", "project_id", "version"):
        newest[report.day, report.project_id] = report
    return [_row_of(report) for report in newest.values()]


def one(report_id: UUID, *, projects: Collection[UUID]) -> Report:
    """Return a report.

    Raises:
        NotFound: there is none, or it is of another project.
    """
    report = found(projects=projects).filter(pk=report_id).first()
    return report_of(existing(report, "The report"))


def subject_of(report: CostReport) -> str:
    """Name a report as its notice is: each version of a day is told once."""
    return f"{report.day.isoformat()} v{report.version}"


def report_of(report: CostReport) -> Report:
    """Show a report with what became of its sending."""
    same = CostReport.objects.filter(project_id=report.project_id, day=report.day)
    newest = same.order_by("-version").values_list("id", flat=True).first() or report.id
    deliveries = Delivery.objects.filter(
        project_id=report.project_id, notice__what="report", notice__subject=subject_of(report)
    )
    sent: Counter[str] = Counter(deliveries.values_list("status", flat=True))
    return Report(
        row=_row_of(report),
        newest=newest,
        account=accounts.validate_python(report.account),
        models=groups.validate_python(report.by_model),
        projects=groups.validate_python(report.by_project),
        sent=sent["sent"],
        waiting=sent["waiting"],
        failed=sent["failed"],
    )


def _row_of(report: CostReport) -> ReportRow:
    account = accounts.validate_python(report.account)
    was_usd = None
    if report.version > 1:
        before = CostReport.objects.filter(project_id=report.project_id, day=report.day)
        kept_before = before.get(version=report.version - 1).account
        was_usd = accounts.validate_python(kept_before).spent.total_usd
    return row_of(
        ReportRow,
        report,
        project_name=report.project.name,
        day=report.day.isoformat(),
        spent=account.spent,
        was_usd=was_usd,
        before_usd=account.before.total_usd,
        budget=account.budget,
        saved=account.saved,
    )
