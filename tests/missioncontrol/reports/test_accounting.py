"""Accounts of days, weeks and months: the same money, whoever it is split by."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from guard.turn import Usage
from missioncontrol.costs import selectors
from missioncontrol.projects.rules import change_project
from missioncontrol.reports import accounting
from missioncontrol.reports.accounting import AccountQuery, Group
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow, ModelCall
from tests.build import NOON, a_call, a_project, a_run, a_stuck_run, judged, report
from tests.examples import examples_for

pytestmark = pytest.mark.django_db
WEEK = timedelta(days=7)
DAY = date(2026, 11, 21)


def account(project, *, at=NOON, **asked):
    return accounting.build_account([project.id], AccountQuery(**asked), at=at)


def spend(run, usd, *, at=NOON, **fields):
    return report(run, a_call(f"ls {usd}", cost_usd=Decimal(usd), **fields), at=at)


@pytest.fixture
def busy():
    """Two agents and two models today, a week ago as much and half as much again later."""
    project = a_project(time_zone="Europe/Berlin", budgets={"day": {"usd": "20"}})
    run, other = a_run(project, name="fix-auth"), a_run(project, name="docs")
    spend(run, "3.00", model="m-big")
    spend(run, "1.50", model="m-small", agent="critic")
    spend(other, "0.25", model="m-big", at=NOON + timedelta(minutes=30))
    report(other, a_call("x", usage=Usage(input=9), model="house"), at=NOON + timedelta(minutes=31))
    spend(run, "2.00", at=NOON - WEEK, model="m-big")
    spend(run, "1.00", at=NOON - WEEK + timedelta(hours=3), model="m-big")
    judged(run, "0.05", agent="coder")
    return project


def test_a_day_is_told_to_the_cent(busy):
    costs = account(busy, at=NOON + timedelta(hours=1))

    assert (costs.spent.total_usd, costs.spent.agents_usd, costs.spent.judge_usd) == (
        Decimal("4.80"),
        Decimal("4.75"),
        Decimal("0.05"),
    )
    assert (costs.spent.calls, costs.spent.judge_calls, costs.spent.unpriced_calls) == (4, 1, 1)
    assert costs.spent.runs == 2
    assert costs.budget.left_usd == Decimal("15.20")


def test_it_is_compared_with_the_same_day_a_week_before_by_the_same_time(busy):
    costs = account(busy, at=NOON + timedelta(hours=1))

    assert (costs.before_by_then_usd, costs.before.total_usd) == (2, 3)
    assert costs.before_day == "2026-11-14"


def test_each_agent_has_its_cost_its_judges_and_what_it_cost_before(busy):
    coder, critic = account(busy, at=NOON + timedelta(hours=1)).groups

    assert (coder.name, coder.cost_usd, coder.judge_cost_usd) == (
        "coder",
        Decimal("3.25"),
        Decimal("0.05"),
    )
    assert (coder.before_usd, coder.runs, critic.cost_usd) == (2, 2, Decimal("1.50"))
    assert (coder.unpriced_calls, coder.unpriced_models) == (1, ("house",))


def test_what_was_allowed_on_top_is_in_what_is_left(busy):
    busy.day_extra = {"day": "2026-11-21", "more": {"usd": "5"}}
    busy.save()

    budget = account(busy, at=NOON + timedelta(hours=1)).budget

    assert (budget.ceiling_usd, budget.extra_usd, budget.left_usd) == (25, 5, Decimal("20.20"))


def test_what_was_allowed_on_a_day_that_is_over_is_read_from_the_journal(busy):
    from missioncontrol.decisions import budgets

    with journal.lock_project(busy.id) as project:
        budgets.raise_shared_ceilings(project, "day", "2026-11-21", {"usd": "5"}, by="ana", at=NOON)
    tomorrow = NOON + timedelta(days=1)
    with journal.lock_project(busy.id) as project:
        budgets.raise_shared_ceilings(
            project, "day", "2026-11-22", {"usd": "1"}, by="ana", at=tomorrow
        )

    costs = account(busy, at=tomorrow, day=DAY)

    assert costs.budget.extra_usd == 5


def set_ceiling(project, usd, *, at):
    change_project(project.id, {"budgets": {"day": {"usd": usd}}}, by="ana", at=at)


def test_a_day_that_is_over_keeps_the_budget_that_held_when_it_ended(busy):
    set_ceiling(busy, "30", at=NOON + timedelta(hours=2))
    set_ceiling(busy, "8", at=NOON + timedelta(days=1))
    set_ceiling(busy, "50", at=NOON + timedelta(days=2))

    later = NOON + timedelta(days=3)
    ceilings = [
        account(busy, at=later, day=DAY + timedelta(days=n)).budget.ceiling_usd for n in range(4)
    ]

    assert ceilings == [30, 8, 50, 50]


def test_a_day_before_its_first_budget_has_none():
    project = a_project(time_zone="Europe/Berlin")
    set_ceiling(project, "8", at=NOON + timedelta(days=1))

    assert account(project, at=NOON + timedelta(days=2), day=DAY).budget is None


def test_a_day_whose_budget_nobody_knows_any_more_has_none(busy):
    set_ceiling(busy, "8", at=NOON + timedelta(days=1))
    JournalRow.objects.filter(project=busy, type="policy.changed").update(payload=None, salt=None)

    assert account(busy, at=NOON + timedelta(days=2), day=DAY).budget is None


def test_a_day_before_the_project_has_no_budget(busy):
    assert account(busy, day=DAY - timedelta(days=1)).budget is None


def test_a_project_without_a_ceiling_in_dollars_has_no_budget():
    assert account(a_project(budgets={"day": {"tokens": 5}})).budget is None


def test_the_line_of_the_day_ends_now_and_the_one_before_goes_on(busy):
    points = account(busy, at=NOON + timedelta(minutes=37)).points

    known = [point for point in points if point.spent_usd is not None]
    assert (known[-1].minute, known[-1].spent_usd) == (13 * 60 + 37, Decimal("4.80"))
    assert (known[-1].before_usd, points[-1].before_usd, points[-1].minute) == (2, 3, 1440)
    assert [point.minute for point in points] == sorted({point.minute for point in points})


def test_a_day_of_25_hours_has_them_all():
    project = a_project(time_zone="Europe/Berlin")
    spend(a_run(project), "1", at=datetime(2026, 10, 25, 22, 30, tzinfo=UTC))  # 23:30 there

    costs = account(project, day=date(2026, 10, 25))

    assert (costs.minutes, costs.points[-1].minute, costs.points[-1].spent_usd) == (1500, 1500, 1)


def test_agents_days_stand_in_order_with_the_empty_ones(busy):
    days = account(busy, at=NOON + timedelta(hours=1)).days

    assert (len(days), days[-1].day, days[-1].total_usd) == (14, "2026-11-21", Decimal("4.80"))
    assert days[-1].agents == {"coder": Decimal("3.30"), "critic": Decimal("1.50")}
    assert (days[-8].total_usd, days[0].total_usd) == (3, 0)


def test_one_agents_account_is_split_by_its_models(busy):
    costs = account(busy, agent="coder", group_by="model", at=NOON + timedelta(hours=1))

    assert [(one.name, one.cost_usd) for one in costs.groups] == [
        ("m-big", Decimal("3.25")),
        ("judge-1", 0),
        ("house", 0),
    ]
    assert costs.budget is None


def test_several_projects_are_added_up_each_in_its_own_day(busy):
    other = a_project("elsewhere", time_zone="Pacific/Kiritimati")  # 02:00 of the 22nd there
    spend(a_run(other), "7")

    at = NOON + timedelta(hours=1)
    costs = accounting.build_account([busy.id, other.id], AccountQuery(group_by="project"), at=at)

    assert (costs.spent.total_usd, costs.time_zone, costs.budget) == (Decimal("11.80"), "", None)
    assert {one.name: one.cost_usd for one in costs.groups} == {
        "elsewhere": 7,
        "payments": Decimal("4.75"),
    }


def test_a_linked_runs_cost_is_counted_once_its_parents_too():
    project = a_project()
    parent = a_run(project, name="parent", key="p")
    child = a_run(project, name="child", parent=parent.id)
    spend(parent, "1")
    spend(child, "2")

    costs = account(project, group_by="run", at=NOON + timedelta(hours=1))

    assert costs.spent.total_usd == 3
    assert {one.name: one.cost_usd for one in costs.groups} == {"parent": 1, "child": 2}


def test_loops_are_counted_by_agent_with_their_days_and_those_that_were_none_are_not():
    project = a_project()
    run = a_stuck_run(project)
    dismissed = a_stuck_run(project)
    dismissed.decisions.update(resolution="dismissed", status="resolved")

    costs = account(project, at=NOON + timedelta(hours=1))

    assert run.decisions.get().kind != "budget"
    assert (costs.spent.loops, costs.groups[0].loops, costs.groups[0].trend[-1]) == (1, 1, 1)


def test_a_project_in_which_nothing_happened_has_an_account_all_the_same():
    costs = account(a_project(), kind="month")

    assert (costs.spent.total_usd, costs.groups, costs.before.calls) == (0, (), 0)


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["coder", "critic", ""]),
        st.sampled_from(["m-big", "m-small", ""]),
        st.none() | st.decimals(min_value=0, max_value=100, places=6),
        st.integers(0, 40 * 24 * 60),
        st.integers(0, 3),
        st.sampled_from(["turns", "judge"]),
    ),
    max_size=25,
)


def known(*costs):
    """What is unpriced adds nothing to a sum."""
    return sum((cost for cost in costs if cost is not None), Decimal(0))


@pytest.mark.slow
class TestMoneyAddsUp(TestCase):
    """Whatever calls there are, and wherever their days begin."""

    @settings(max_examples=examples_for(15))  # each asks fourteen times for all the money
    @given(calls=CALLS, zone=st.sampled_from(["UTC", "Asia/Kolkata", "America/New_York"]))
    def test_the_sum_is_the_same_by_day_agent_model_project_and_run(self, calls, zone):
        project = a_project(time_zone=zone)
        runs = [a_run(project, name=f"run {n}") for n in range(4)]
        ModelCall.objects.bulk_create(
            ModelCall(
                run=runs[run],
                project=project,
                call_id=f"c{n}",
                agent=agent,
                model=model,
                cost_usd=cost,
                at=NOON - timedelta(minutes=minute),
                source=source,
            )
            for n, (agent, model, cost, minute, run, source) in enumerate(calls)
        )

        whole = sum((cost or 0 for _, _, cost, *_ in calls), Decimal(0))
        for group in ("day", "agent", "model", "project", "run"):
            rows = selectors.list_costs(projects=[project.id], group_by=group)
            assert sum(known(one.cost_usd, one.judge_cost_usd) for one in rows) == whole
            assert sum(one.calls + one.judge_calls for one in rows) == len(calls)
        for kind in ("day", "week", "month"):
            accounts = [account(project, kind=kind, group_by=group) for group in get_args(Group)]
            sums = {
                sum(known(one.cost_usd, one.judge_cost_usd) for one in by.groups) for by in accounts
            }
            assert sums == {accounts[0].spent.total_usd}
            assert (
                sum(one.unpriced_calls for one in accounts[1].groups)
                == accounts[0].spent.unpriced_calls
            )
            last = [point.spent_usd for point in accounts[0].points if point.spent_usd is not None][
                -1
            ]
            assert last == accounts[0].spent.total_usd
