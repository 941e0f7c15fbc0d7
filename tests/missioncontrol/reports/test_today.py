"""Today's figure: since the project's own midnight, and the same as the account of the day."""

from datetime import timedelta
from decimal import Decimal

import pytest

from guard.turn import Usage
from missioncontrol.decisions import sessions
from missioncontrol.reports import accounting
from missioncontrol.reports.accounting import AccountQuery, spent_today
from tests.build import NOON, a_call, a_project, a_run, judged, report

pytestmark = pytest.mark.django_db


def today(*projects, at=NOON):
    return spent_today(projects=[project.id for project in projects], at=at)


def spend(run, usd, *, at=NOON):
    return report(run, a_call(f"ls {usd}", cost_usd=Decimal(usd)), at=at)


def test_it_is_what_the_account_of_the_day_says():
    project = a_project(budgets={"day": {"usd": "60"}})
    run = a_run(project)
    spend(run, "3.00")
    spend(run, "9.00", at=NOON - timedelta(days=1))
    judged(run, "0.05")

    (row,) = today(project)

    account = accounting.build_account([project.id], AccountQuery(), at=NOON)
    assert (row.spent_usd, row.budget) == (account.spent.total_usd, account.budget)
    assert (row.spent_usd, row.budget.ceiling_usd) == (Decimal("3.05"), 60)


def test_it_tells_what_it_counted_of_runs_whose_meters_may_be_under_way():
    project = a_project()
    going, ended, over = (a_run(project) for _ in range(3))
    for run in (going, ended, over):
        spend(run, "3.00")
    judged(going, "0.05")
    sessions.end_session(ended.id, at=NOON)
    sessions.end_session(over.id, at=NOON - timedelta(minutes=5))
    spend(a_run(), "1.00")

    (row,) = today(project, at=NOON + timedelta(seconds=30))

    assert row.counted == {str(going.id): Decimal("3.05"), str(ended.id): Decimal(3)}


def test_a_day_begins_at_the_projects_own_midnight():
    project = a_project(time_zone="Asia/Tokyo")
    run = a_run(project)
    spend(run, "1.00", at=NOON.replace(hour=14))
    spend(run, "2.00", at=NOON.replace(hour=15))

    (row,) = today(project, at=NOON.replace(hour=16))

    assert (row.day, row.spent_usd) == ("2026-11-22", 2)
    assert row.until == NOON.replace(hour=15) + timedelta(days=1)


def test_calls_without_a_price_are_counted_and_in_no_amount():
    project = a_project()
    report(a_run(project), a_call("x", usage=Usage(input=9), model="house"))

    (row,) = today(project)

    assert (row.spent_usd, row.calls, row.unpriced_calls) == (0, 1, 1)


def test_a_day_without_a_ceiling_has_no_budget():
    assert [row.budget for row in today(a_project())] == [None]


def test_what_was_allowed_on_top_is_in_the_ceiling():
    extra = {"day": "2026-11-21", "more": {"usd": "5"}}
    project = a_project(budgets={"day": {"usd": "60"}}, day_extra=extra)

    (row,) = today(project)

    assert (row.budget.ceiling_usd, row.budget.left_usd) == (65, 65)
