"""The daily cost report: made after a day has ended, stored, sent, and corrected openly.

A report is a row that never changes. A day is due once its midnight in the project's time
zone, and a little more for late telemetry, have passed; a server that was away makes the reports
of the days it missed. Later knowledge (a better source, a price) makes a new version, which
says so. There is one row per project, day and version: two beats make one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from missioncontrol.accounts.models import Project
from missioncontrol.clock import zone_of
from missioncontrol.notify import services as notices
from missioncontrol.notify.models import Delivery
from missioncontrol.reports import accounting
from missioncontrol.reports.accounting import AccountQuery, Group
from missioncontrol.reports.models import CostReport
from missioncontrol.reports.periods import Period, midnight, today
from missioncontrol.reports.texts import announcement_of
from missioncontrol.runs.models import ModelCall
from missioncontrol.runs.rows import USAGE_COLUMNS
from missioncontrol.wire.costs import CostAccount, CostGroup, Report, ReportRow
from missioncontrol.wire.rows import from_json, row_of, to_json

logger = logging.getLogger(__name__)

# After midnight, because exporters collect calls before they send them.
SETTLE_TIME = timedelta(minutes=15)
# Days whose reports are made up for after an absence.
MAX_MISSED_DAYS = 31
# A report of an older day is made and not sent.
SENT_WITHIN = timedelta(days=7)
# Days whose reports are corrected.
CORRECTED_DAYS = 7
CENT = Decimal("0.01")
SPLITS: tuple[Group, Group, Group] = ("agent", "model", "project")
NONE_COUNTED = "0"
LATE = "usage or a price became known after it was made"
GROUPS = tuple[CostGroup, ...]


def make_due_reports(*, at: datetime) -> int:
    """Make every report that is due; return how many this call made."""
    made = 0
    live = Project.objects.filter(daily_report=True, archived_at=None)
    for project in live.order_by("id"):
        try:
            days = due_days(project, at=at)
            made += sum(make_report(project, day, at=at) is not None for day in days)
        except Exception:  # one project's error must not keep back the others' reports
            logger.exception("the cost report of project %s failed", project.id)
    return made


def due_days(project: Project, *, at: datetime) -> list[date]:
    """Return the days that have ended and have no report yet, oldest first."""
    zone = zone_of(project.time_zone)
    # A quarter of an hour late: until then yesterday is not over.
    last = today(zone, at=at - SETTLE_TIME) - timedelta(days=1)
    # No day before the project existed, and at most a month that the server was away.
    first = max(today(zone, at=project.created_at), last - timedelta(days=MAX_MISSED_DAYS - 1))
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    known = CostReport.objects.filter(project=project, day__gte=first).values_list("day", flat=True)
    return sorted(set(days) - set(known))


def make_report(
    project: Project, day: date, *, at: datetime, version: int = 1, reason: str = ""
) -> CostReport | None:
    """Make one report and announce it; None if another beat was first."""
    report = build_report(project, day, at=at, version=version, reason=reason)
    try:
        with transaction.atomic():
            # With the constraint on day and version, only one of two beats can save it.
            report.save(force_insert=True)
            if _is_worth_sending(report, at=at):
                subject = subject_of(report)
                announcement = announcement_of(report_of(report), path=f"/reports/{report.id}")
                notices.send_notice(
                    report.project_id, "report", subject=subject, message=announcement, at=at
                )
    except IntegrityError:
        return None
    return report


def build_report(
    project: Project, day: date, *, at: datetime, version: int = 1, reason: str = ""
) -> CostReport:
    """Build a report from what is known now, without saving it."""
    by_agent, by_model, by_project = (
        accounting.build_account([project.id], AccountQuery(day=day, group_by=group), at=at)
        for group in SPLITS
    )
    return CostReport(
        project=project,
        day=day,
        version=version,
        reason=reason,
        made_at=at,
        time_zone=project.time_zone,
        account=to_json(by_agent),
        by_model=to_json(by_model.groups),
        by_project=to_json(by_project.groups),
        # Stored with the report: a later count that differs causes a correction.
        counted=_counted(project, [day]).get(day, NONE_COUNTED),
    )


def correct_changed_reports(*, at: datetime) -> int:
    """Make a new version of each recent report whose figures changed; return how many."""
    made = 0
    for project in Project.objects.filter(daily_report=True).order_by("id"):
        since = today(zone_of(project.time_zone), at=at) - timedelta(days=CORRECTED_DAYS)
        # In the order of versions, so that the dict keeps each day's newest.
        recent = CostReport.objects.filter(project=project, day__gte=since).order_by("version")
        newest = {report.day: report for report in recent}
        if not newest:
            continue
        now = _counted(project, newest)
        for day, report in newest.items():
            # Compared by what was counted, not by the account: a new rule of ours must not correct
            # old days.
            if now.get(day, NONE_COUNTED) != report.counted:
                following = report.version + 1
                made += make_report(project, day, at=at, version=following, reason=LATE) is not None
    return made


def _counted(project: Project, days: Iterable[date]) -> dict[date, str]:
    """Return the sums of each day's model calls as text; a different text means a new report."""
    days = sorted(days)
    zone = zone_of(project.time_zone)
    period = Period(first=days[0], last=days[-1], zone=zone)
    calls = ModelCall.objects.filter(project=project, at__gte=period.since, at__lt=period.until)
    sums = (
        calls.annotate(day=TruncDate("at", tzinfo=zone))
        .values("day")
        .annotate(
            n=Count("id"),
            # The newest id too: a call that replaced another may leave every sum unchanged.
            last=Max("id"),
            cost=Sum("cost_usd"),
            unpriced=Count("id", filter=Q(cost_usd__isnull=True)),
            **{f"sum_{name}": Sum(column) for name, column in USAGE_COLUMNS.items()},
        )
        .order_by()
    )
    counted: dict[date, str] = {}
    for one in cast(Any, sums):
        # SQLite adds floats: sums are comparable only when rounded.
        cost = (one["cost"] or Decimal(0)).quantize(Decimal("0.000001"))
        tokens = sum(one[f"sum_{name}"] or 0 for name in USAGE_COLUMNS)
        counted[one["day"]] = f"{one['n']} {one['last']} {cost} {one['unpriced']} {tokens}"
    return counted


def _is_worth_sending(report: CostReport, *, at: datetime) -> bool:
    """Return whether anybody wants to hear of it: an empty or a long past day is only stored."""
    spent = from_json(CostAccount, report.account).spent
    if not (spent.calls or spent.judge_calls or spent.loops):
        # Nothing was spent: it is news only if it corrects an earlier figure.
        return report.version > 1
    zone = zone_of(report.time_zone)
    # A server that was away for long would announce every day it missed at once.
    if at - midnight(report.day + timedelta(days=1), zone) > SENT_WITHIN:
        return False
    if (before := _account_before(report)) is None:
        return True
    was = before.spent
    # A correction of less than a cent that prices nothing new is stored, not sent.
    moved = abs(was.total_usd - spent.total_usd)
    return moved >= CENT or was.unpriced_calls != spent.unpriced_calls


def _account_before(report: CostReport) -> CostAccount | None:
    """Return the account of the version before; None for the first."""
    if report.version == 1:
        return None
    same_day = CostReport.objects.filter(project=report.project_id, day=report.day)
    return from_json(CostAccount, same_day.get(version=report.version - 1).account)


def find_reports(*, projects: Collection[UUID]) -> QuerySet[CostReport]:
    """Return reports, whatever their version."""
    return CostReport.objects.filter(project_id__in=projects).select_related("project")


def newest_reports(
    *, projects: Collection[UUID], before: date | None, days: int
) -> list[ReportRow]:
    """Return the newest version of each report of `days` days, the latest day first."""
    mine = find_reports(projects=projects)
    mine = mine.filter(day__lt=before) if before else mine
    # By days, not by rows: a page must contain all projects of a day.
    shown = list(mine.values_list("day", flat=True).distinct().order_by("-day")[:days])
    newest: dict[tuple[date, UUID], CostReport] = {}
    # A later version replaces the earlier one.
    for report in mine.filter(day__in=shown).order_by("-day", "project_id", "version"):
        newest[report.day, report.project_id] = report
    return [_row_of(report) for report in newest.values()]


def subject_of(report: CostReport) -> str:
    """Return the subject of a report's notice: each version of a day is announced once."""
    return f"{report.day.isoformat()} v{report.version}"


def report_of(report: CostReport) -> Report:
    """Return a report with the result of its sending."""
    same = CostReport.objects.filter(project_id=report.project_id, day=report.day)
    newest = same.order_by("-version").values_list("id", flat=True).first() or report.id
    deliveries = Delivery.objects.filter(
        project_id=report.project_id, notice__what="report", notice__subject=subject_of(report)
    )
    sent: Counter[str] = Counter(deliveries.values_list("status", flat=True))
    return Report(
        row=_row_of(report),
        newest=newest,
        account=from_json(CostAccount, report.account),
        models=from_json(GROUPS, report.by_model),
        projects=from_json(GROUPS, report.by_project),
        sent=sent["sent"],
        waiting=sent["waiting"],
        failed=sent["failed"],
    )


def _row_of(report: CostReport) -> ReportRow:
    account, before = from_json(CostAccount, report.account), _account_before(report)
    return row_of(
        ReportRow,
        report,
        project_name=report.project.name,
        day=report.day.isoformat(),
        spent=account.spent,
        was_usd=before and before.spent.total_usd,
        before_usd=account.before.total_usd,
        budget=account.budget,
        saved=account.saved,
    )
