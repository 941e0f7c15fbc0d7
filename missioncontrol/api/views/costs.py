"""What was spent: sums of model calls, accounts of days, both as CSV; a project's prices."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, cast
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.accounts.models import Project
from missioncontrol.api import auth
from missioncontrol.api.rest import YEARS, Page, following, moment, read_body, word
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.costs import selectors
from missioncontrol.costs.prices import read_price
from missioncontrol.costs.pricing import set_price
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.reports import accounting, rows
from missioncontrol.reports.account_parts import GROUPS, Asked
from missioncontrol.reports.accounting import spent_today
from missioncontrol.reports.baseline import baseline_spending
from missioncontrol.reports.cost_csv import account_csv
from missioncontrol.reports.periods import PERIOD_KINDS
from missioncontrol.reports.texts import csv_of
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

COST_GROUPS = ("day", "agent", "model", "project", "run")
# A month, however long it is.
DAYS_A_PAGE = 31
ACCOUNT = ("range", "day", "group_by", "agent", "model", "project")


class Costs(APIView):
    @described("costs_list", query=("group_by", "since", "until", "project"))
    def get(self, request: Request) -> list[CostRow]:
        """Add up model calls by day (default), agent, model, project or run."""
        return selectors.costs(
            projects=auth.projects_of(request),
            group_by=_choice(request, "group_by", COST_GROUPS),
            since=moment(request, "since"),
            until=moment(request, "until"),
        )


class Usual(APIView):
    @described("costs_usual", query=("project",))
    def get(self, request: Request) -> list[UsualRow]:
        """Tell what each agent usually spends an hour, where enough runs are recorded."""
        return baseline_spending(projects=auth.projects_of(request), at=now())


class Today(APIView):
    @described("costs_today", query=("project",))
    def get(self, request: Request) -> list[TodayRow]:
        """Tell what each project spent since its midnight, and its day's budget."""
        return spent_today(projects=auth.projects_of(request), at=now())


class Account(APIView):
    @described("costs_account", query=ACCOUNT)
    def get(self, request: Request) -> CostAccount:
        """Account for a `range` (day, week, month) that holds `day`; today's by default."""
        return _account(request)


class Export(APIView):
    @described("costs_export", files=("text/csv",), query=ACCOUNT)
    def get(self, request: Request) -> HttpResponse:
        """Export an account's groups as CSV."""
        account = _account(request)
        name = f"costs-{account.first_day}-by-{account.group_by}.csv"
        return csv_file(account_csv(account), name=name)


class Reports(APIView):
    @described("reports_list", query=("project", "cursor"))
    def get(self, request: Request) -> Page[ReportRow]:
        """List daily cost reports, the latest day first; of each its newest version."""
        before = read_day(request.query_params.get("cursor"))
        found = rows.listed(projects=auth.projects_of(request), before=before, days=DAYS_A_PAGE)
        # By whole days: of several projects one day has
        # several rows, and a page never ends within it.
        is_full = len({row.day for row in found}) == DAYS_A_PAGE
        return Page(found, following(request, found[-1].day if is_full else None))


class OneReport(APIView):
    @described("reports_read")
    def get(self, request: Request, report_id: UUID) -> Report:
        """Show a daily cost report, as it was made."""
        return rows.one(report_id, projects=auth.projects_of(request))


class ReportFile(APIView):
    @described("reports_csv", files=("text/csv",))
    def get(self, request: Request, report_id: UUID) -> HttpResponse:
        """Export a daily cost report as CSV."""
        report = rows.one(report_id, projects=auth.projects_of(request))
        return csv_file(csv_of(report), name=f"cost-report-{report.row.day}.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPrice:
    """Dollars for a million tokens; what is absent of the cache costs as input does."""

    model: str
    input: str
    output: str
    cache_read: str | None = None
    cache_write: str | None = None


class Prices(APIView):
    @described("prices_list")
    def get(self, request: Request, project_id: UUID) -> list[PriceRow]:
        """List a project's own prices, by model."""
        # A list for all who may look: what a model costs is no secret within a project.
        if project_id not in auth.projects_of(request):
            raise NotFound("The project")
        prices = Project.objects.values_list("prices", flat=True).get(pk=project_id)
        return [
            PriceRow(
                project=project_id,
                model=model,
                input=table["input"],
                output=table["output"],
                cache_read=table.get("cache_read"),
                cache_write=table.get("cache_write"),
            )
            for model, table in sorted(prices.items())
        ]

    @described("prices_set", takes=NewPrice)
    def post(self, request: Request, project_id: UUID) -> PriceSet:
        """Set the price of a model and count its unpriced calls with it; owners only."""
        # Calls without a price are counted with it at once, against budgets too.
        auth.check_owns(request, project_id, "Only an owner sets prices.")
        asked = read_body(request, NewPrice)
        model, table = read_price(asked.model, asdict(asked))
        return set_price(project_id, model, table, by=auth.name_of(request), at=now())

    @described("prices_remove", query=("model",))
    def delete(self, request: Request, project_id: UUID) -> None:
        """Remove a model's price: the public list holds again; what was counted stays."""
        auth.check_owns(request, project_id, "Only an owner sets prices.")
        model = request.query_params.get("model", "")
        if not model:
            raise InvalidRequest("model: say which.", field="model")
        set_price(project_id, model, None, by=auth.name_of(request), at=now())


def csv_file(text: str, *, name: str) -> HttpResponse:
    """Answer a CSV file to be saved under this name."""
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _account(request: Request) -> CostAccount:
    projects = auth.projects_of(request)
    # An account is of a time zone and a day, and without a project there is neither.
    if not projects:
        raise NotFound("The project")
    query = request.query_params
    asked = Asked(
        kind=cast(Any, _choice(request, "range", PERIOD_KINDS)),
        day=read_day(query.get("day")),
        group_by=cast(Any, _choice(request, "group_by", GROUPS)),
        agent=word(request, "agent"),
        model=word(request, "model"),
    )
    return accounting.account(projects, asked, at=now())


def read_day(text: str | None) -> date | None:
    """Read a date from the query.

    Raises:
        InvalidRequest: it is none, or one that no calendar of ours reaches.
    """
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        # Refused below, in the same words as a year that is out of reach.
        day = date.min
    if day.year not in YEARS:
        raise InvalidRequest(f"day: expected a date such as 2026-11-21, got {text!r}.", field="day")
    return day


def _choice(request: Request, name: str, known: tuple[str, ...]) -> str:
    """Read one of a few words from the query; the first by default."""
    text = request.query_params.get(name) or known[0]
    if text not in known:
        expected = ", ".join(known)
        raise InvalidRequest(f"{name}: expected one of {expected}, got {text!r}.", field=name)
    return text
