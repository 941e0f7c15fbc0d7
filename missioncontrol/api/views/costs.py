"""What was spent: totals of model calls, accounts of days, CSV of both; a project's prices."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from missioncontrol.api import auth
from missioncontrol.api.auth import By, FoundProject, Projects, ReadableProjects
from missioncontrol.api.rest import (
    MEDIA_TYPES,
    Depends,
    Page,
    file_response,
    get_or_404,
    next_page_url,
)
from missioncontrol.api.routing import Router
from missioncontrol.clock import now
from missioncontrol.costs import selectors
from missioncontrol.costs.counting import set_price
from missioncontrol.costs.prices import check_price
from missioncontrol.costs.selectors import baseline_spending
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.reports import accounting, daily
from missioncontrol.reports.accounting import AccountQuery, Group, spent_today
from missioncontrol.reports.periods import PeriodKind
from missioncontrol.reports.texts import account_csv, csv_of
from missioncontrol.wire.costs import (
    CostAccount,
    CostRow,
    PriceRow,
    PriceSet,
    Report,
    ReportRow,
    TodayRow,
    UsualRow,
)

api = Router()

CostGroup = Literal["day", "agent", "model", "project", "run"]
# A month of any length.
DAYS_PER_PAGE = 31
OWNER_CHECKS = (auth.require_owner("Only an owner sets prices."),)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPrice:
    """Dollars per million tokens; without a cache price, cached tokens cost as much as input."""

    model: str
    input: str
    output: str
    cache_read: str | None = None
    cache_write: str | None = None


def _compute_account(
    projects: Projects,
    range_: PeriodKind,
    day: date | None,
    group_by: Group,
    agent: str | None,
    model: str | None,
) -> CostAccount:
    # An account needs a time zone and a day, and a project provides both.
    if not projects:
        raise NotFound("The project")
    query = AccountQuery(kind=range_, day=day, group_by=group_by, agent=agent, model=model)
    return accounting.build_account(projects, query, at=now())


def _find_report(report_id: UUID, projects: ReadableProjects) -> Report:
    return daily.report_of(
        get_or_404(daily.find_reports(projects=projects), report_id, "The report")
    )


RequestedAccount = Annotated[CostAccount, Depends(_compute_account)]
FoundReport = Annotated[Report, Depends(_find_report)]


@api.get("costs/")
def costs_list(
    projects: Projects, group_by: CostGroup, since: datetime | None, until: datetime | None
) -> list[CostRow]:
    """Get the totals of model calls by day (default), agent, model, project or run."""
    return selectors.list_costs(projects=projects, group_by=group_by, since=since, until=until)


@api.get("costs/usual/")
def costs_usual(projects: Projects) -> list[UsualRow]:
    """Get each agent's usual spending per hour, where enough runs are recorded."""
    return baseline_spending(projects=projects, at=now())


@api.get("costs/today/")
def costs_today(projects: Projects) -> list[TodayRow]:
    """Get each project's spending since its midnight, and its daily budget."""
    return spent_today(projects=projects, at=now())


@api.get("costs/account/")
def costs_account(account: RequestedAccount) -> CostAccount:
    """Get the costs of the `range` (day, week, month) that contains `day`; today by default."""
    return account


@api.get("costs/export/", files=("text/csv",))
def costs_export(account: RequestedAccount) -> HttpResponse:
    """Export an account's groups as CSV."""
    name = f"costs-{account.first_day}-by-{account.group_by}.csv"
    return file_response(account_csv(account), kind=MEDIA_TYPES["csv"], name=name)


@api.get("reports/")
def reports_list(request: Request, projects: Projects, cursor: date | None) -> Page[ReportRow]:
    """List daily cost reports, latest day first, each in its newest version."""
    found = daily.newest_reports(projects=projects, before=cursor, days=DAYS_PER_PAGE)
    # Pages are whole days: with several projects a day has several rows, and a page never ends
    # within it.
    is_full = len({row.day for row in found}) == DAYS_PER_PAGE
    return Page(found, next_page_url(request, found[-1].day if is_full else None))


@api.get("reports/<uuid:report_id>/")
def reports_read(report: FoundReport) -> Report:
    """Show a daily cost report, as it was made."""
    return report


@api.get("reports/<uuid:report_id>.csv", files=("text/csv",))
def reports_csv(report: FoundReport) -> HttpResponse:
    """Export a daily cost report as CSV."""
    name = f"cost-report-{report.row.day}.csv"
    return file_response(csv_of(report), kind=MEDIA_TYPES["csv"], name=name)


@api.get("projects/<uuid:project_id>/prices/")
def prices_list(project: FoundProject) -> list[PriceRow]:
    """List a project's own prices, by model."""
    # For everybody in the project: what a model costs is no secret there.
    return [
        PriceRow(
            project=project.id,
            model=model,
            input=table["input"],
            output=table["output"],
            cache_read=table.get("cache_read"),
            cache_write=table.get("cache_write"),
        )
        for model, table in sorted(project.prices.items())
    ]


@api.post("projects/<uuid:project_id>/prices/", checks=OWNER_CHECKS)
def prices_set(project_id: UUID, body: NewPrice, by: By) -> PriceSet:
    """Set a model's price and apply it to its unpriced calls; owners only."""
    # Calls without a price are counted with it at once, against budgets too.
    model, table = check_price(body.model, asdict(body))
    return set_price(project_id, model, table, by=by, at=now())


@api.delete("projects/<uuid:project_id>/prices/", checks=OWNER_CHECKS)
def prices_remove(project_id: UUID, model: str, by: By) -> None:
    """Remove a model's price: the public price list applies again; what was counted stays."""
    if not model:
        raise InvalidRequest("model: required.", field="model")
    set_price(project_id, model, None, by=by, at=now())
