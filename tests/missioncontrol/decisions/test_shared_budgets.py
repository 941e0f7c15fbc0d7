"""Ceilings that runs share: of agents, projects and days."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from guard.errors import PolicyInvalid
from guard.turn import Usage
from missioncontrol.costs import counting
from missioncontrol.costs.models import Spend
from missioncontrol.costs.spending import SharedCounters
from missioncontrol.decisions import budgets, interventions
from missioncontrol.decisions.actions import Amount
from missioncontrol.decisions.models import Decision
from missioncontrol.errors import InvalidRequest
from missioncontrol.projects.rules import change_project
from tests.build import NOON, a_call, a_project, a_proposal, a_run, after, put, report
from tests.missioncontrol.taps import a_paid_call, open_card_of, payloads_of, tap

pytestmark = pytest.mark.django_db


def test_every_running_run_is_held_at_its_next_turn_when_the_projects_budget_is_used():
    project = a_project(budgets={"project": {"usd": "10"}})
    one, two = a_run(project), a_run(project)
    report(one, a_paid_call(6))
    two = report(two, a_paid_call(4))
    assert two.status == "holding"

    one = report(one, a_proposal("pwd"))

    evidence = open_card_of(one).evidence
    assert (one.status, evidence["scope"], evidence["spent"]) == ("holding", "project", "10.00")
    assert evidence["summary"] == "The project has spent $10.00 of $10.00."


def test_runs_of_other_projects_go_on():
    report(a_run(a_project(budgets={"project": {"usd": "1"}})), a_paid_call(5))

    run = report(
        a_run(a_project("elsewhere", budgets={"project": {"usd": "1"}})), a_paid_call("0.5")
    )

    assert run.status == "running"


def test_a_shared_budget_is_warned_of_in_each_run():
    project = a_project(budgets={"project": {"calls": 5}})
    report(a_run(project), *[a_call(f"cat {n}") for n in range(3)])

    run = report(a_run(project), a_call("ls"))

    (row,) = payloads_of(run)
    assert (row["level"], row["scope"], row["share"]) == ("warning", "project", 0.8)


def test_runs_judged_in_one_transaction_count_each_other():
    project = a_project(budgets={"project": {"calls": 2}})
    one, two = a_run(project), a_run(project)
    put(one, a_call("ls"))
    put(two, a_call("pwd"))

    from missioncontrol.detection import pipeline

    pipeline.detect([one.id, two.id], at=NOON)

    two.refresh_from_db()
    assert two.status == "holding"


def test_an_agents_budget_follows_it_from_run_to_run():
    project = a_project(budgets={"agents": {"coder": {"usd": "3"}, "*": {"usd": "100"}}})
    report(a_run(project), a_paid_call(2))
    report(a_run(project), a_paid_call(50, agent="critic"))

    run = report(a_run(project), a_paid_call(1))

    evidence = open_card_of(run).evidence
    assert (evidence["scope"], evidence["whose"], evidence["ceiling"]) == ("agent", "coder", "3.00")


def test_a_day_begins_at_midnight_of_the_projects_time_zone():
    project = a_project(budgets={"day": {"usd": "3"}}, time_zone="Asia/Tokyo")
    late = datetime(2026, 11, 21, 14, 59, tzinfo=UTC)  # 23:59 in Tokyo
    report(a_run(project), a_paid_call(2), at=late)
    run = a_run(project)

    run = report(run, a_paid_call(2), at=late + timedelta(minutes=2))
    assert run.status == "running"

    run = report(run, a_paid_call(1, "pwd"), at=late + timedelta(minutes=3))
    evidence = open_card_of(run).evidence
    assert (evidence["scope"], evidence["whose"], evidence["spent"]) == (
        "day",
        "2026-11-22",
        "3.00",
    )


def test_a_summer_day_of_twenty_three_hours_ends_at_its_own_midnight():
    project = a_project(time_zone="Europe/Berlin")
    instant = datetime(2027, 3, 28, 22, 30, tzinfo=UTC)  # 00:30 of the 29th: clocks went forward

    report(a_run(project), a_paid_call(1), at=instant)

    assert Spend.objects.get(scope="day").name == "2027-03-29"


def test_judging_goes_on_without_the_projects_time_zone(caplog):
    run = report(a_run(a_project(time_zone="Atlantis/Capital")), a_paid_call(1))

    assert run.meters.detected_obs == run.meters.last_obs
    assert Spend.objects.get(scope="day").name == "2026-11-21"
    assert "Atlantis/Capital is not known here" in caplog.text


def test_one_raise_releases_every_run_that_the_project_held():
    project = a_project(budgets={"project": {"usd": "10"}})
    one, two = a_run(project), a_run(project)
    one = report(one, a_paid_call(10))
    two = report(two, a_proposal("pwd"))
    version = two.version

    tap(one, "allow_budget", amount=Amount(usd=Decimal(5)))

    two.refresh_from_db()
    project.refresh_from_db()
    assert project.budgets == {"project": {"usd": "15"}}
    assert (one.status, two.status, two.open_decision) == ("running", "running", None)
    assert two.version > version


def test_a_raise_without_a_card_releases_every_run_of_the_project():
    project = a_project(budgets={"project": {"usd": "10"}})
    one, two = a_run(project), a_run(project)
    one = report(one, a_paid_call(10))
    two = report(two, a_proposal("pwd"))

    tap(one, "allow_budget", decision=None, amount=Amount(usd=Decimal(5)))

    two.refresh_from_db()
    assert (one.status, two.status, two.open_decision) == ("running", "running", None)


def test_more_than_a_ceiling_may_be_is_refused_and_nothing_is_kept():
    project = a_project(budgets={"project": {"calls": 1}})
    run = report(a_run(project), a_call("ls"))

    with pytest.raises(PolicyInvalid, match=r"budgets\.project\.calls"):
        tap(run, "allow_budget", amount=Amount(calls=10**15))

    project.refresh_from_db()
    assert project.budgets == {"project": {"calls": 1}}


@pytest.mark.parametrize(
    "kept",
    [
        {"budgets": {"project": {"usd": "-5"}}},
        {"budgets": {"agents": {"coder": {"calls": 10**400}}}},
        {
            "budgets": {"day": {"calls": 3}},
            "day_extra": {"day": "2026-11-21", "more": {"calls": "-9"}},
        },
        {
            "budgets": {"day": {"usd": "3"}},
            "day_extra": {"day": "2026-11-21", "more": {"usd": "much"}},
        },
    ],
)
def test_an_unreadable_stored_ceiling_is_logged_once_and_judging_goes_on(kept, caplog):
    project = a_project(**kept)

    run = report(a_run(project), a_call("ls"), a_call("pwd"))
    run = report(run, a_call("id"))

    assert (run.status, run.meters.detected_obs) == ("running", run.meters.last_obs)
    assert caplog.text.count(f"the budgets of project {project.id}") == 1


def test_a_raise_of_a_days_ceiling_is_for_that_day_only():
    project = a_project(budgets={"day": {"usd": "3"}})
    run = report(a_run(project), a_paid_call(3))

    tap(run, "allow_budget", amount=Amount(usd=Decimal(2)))

    run = report(run, a_paid_call(1, "pwd"))
    assert run.status == "running"
    run = report(run, a_paid_call(1, "id"))
    assert open_card_of(run).evidence["ceiling"] == "5.00"
    tomorrow = report(a_run(project), a_paid_call(3), at=after(24 * 3600))
    assert open_card_of(tomorrow).evidence["ceiling"] == "3.00"


def test_a_hold_of_a_day_that_is_over_is_lifted_without_spending_the_new_ones_extra():
    project = a_project(budgets={"day": {"usd": "3"}})
    run = report(a_run(project), a_paid_call(3))

    tap(run, "allow_budget", at=after(13 * 3600), amount=Amount(usd=Decimal(2)))

    project.refresh_from_db()
    assert (run.status, project.day_extra) == ("running", {})


def test_a_new_day_releases_agents_that_yesterdays_ceiling_holds():
    project = a_project(budgets={"day": {"usd": "3"}})
    run = report(a_run(project), a_paid_call(3))

    budgets.release_for_new_day(at=after(3600))
    run.refresh_from_db()
    assert run.status == "holding"

    budgets.release_for_new_day(at=after(13 * 3600))
    run.refresh_from_db()
    assert (run.status, run.open_decision) == ("running", None)


def test_a_new_day_leaves_what_another_ceiling_holds():
    project = a_project(budgets={"project": {"usd": "3"}})
    run = report(a_run(project), a_paid_call(3))

    budgets.release_for_new_day(at=after(24 * 3600))

    run.refresh_from_db()
    assert run.status == "holding"


def test_more_for_an_agent_whose_ceiling_was_the_general_one_is_its_own():
    project = a_project(budgets={"agents": {"*": {"calls": 1}}})
    run = report(a_run(project), a_call("ls"))

    tap(run, "allow_budget", amount=Amount(calls=4))

    project.refresh_from_db()
    assert project.budgets["agents"] == {"*": {"calls": 1}, "coder": {"calls": 5}}


def test_a_shared_ceiling_that_does_not_exist_cannot_be_raised():
    run = report(a_run(a_project(budgets={"project": {"calls": 1}})), a_call("ls"))

    with pytest.raises(InvalidRequest, match="no such budget"):
        tap(run, "allow_budget", amount=Amount(calls=1, usd=Decimal(4)))


def test_raising_the_projects_ceiling_releases_what_it_held():
    project = a_project(budgets={"project": {"usd": "10"}})
    run = report(a_run(project), a_paid_call(10))
    version = run.version

    change_project(project.id, {"budgets": {"project": {"usd": "20"}}}, by="ana", at=after(5))

    run.refresh_from_db()
    assert (run.status, run.version) == ("running", version + 1)
    assert Decision.objects.get().resolution == "allow_budget"


def test_a_ceiling_raised_too_little_keeps_holding():
    project = a_project(budgets={"project": {"usd": "10"}})
    run = report(a_run(project), a_paid_call(15))

    change_project(project.id, {"budgets": {"project": {"usd": "12"}}}, by="ana", at=after(5))

    run.refresh_from_db()
    assert (run.status, run.open_decision is None) == ("holding", False)


def test_a_persons_pause_stays_when_the_budget_is_raised():
    project = a_project(budgets={"project": {"usd": "10"}})
    run = report(a_run(project), a_paid_call(10))
    tap(run, "pause", at=after(1))

    change_project(project.id, {"budgets": {"project": {"usd": "20"}}}, by="ana", at=after(5))

    run.refresh_from_db()
    assert (run.status, run.open_decision) == ("holding", None)


def test_a_projects_ceiling_for_each_run_moves_its_live_runs_and_no_others():
    project = a_project(budget={"usd": "5"})
    live, ended = a_run(project), a_run(project)
    interventions.report_end(ended.id, "completed", projects=[project.id], by="agent", at=NOON)
    ended.refresh_from_db()
    before = ended.version

    change_project(project.id, {"budget": {"usd": "9"}}, by="ana", at=after(5))

    live.refresh_from_db()
    ended.refresh_from_db()
    assert (live.version, ended.version) == (1, before)
    assert payloads_of(live, "run.moved")[-1]["budget"] == {"usd": "9"}


def test_a_change_that_moves_no_ceiling_moves_no_version():
    project = a_project()
    run = a_run(project)

    change_project(project.id, {"name": "billing", "hold_limit": 60}, by="ana", at=after(5))

    run.refresh_from_db()
    assert run.version == 0


def test_a_scope_that_is_not_named_stays_and_an_empty_one_goes():
    project = a_project(budgets={"project": {"usd": "10"}, "day": {"usd": "1"}})

    change_project(
        project.id, {"budgets": {"day": {}, "agents": {"a": {"calls": 1}}}}, by="ana", at=NOON
    )

    project.refresh_from_db()
    assert project.budgets == {"project": {"usd": "10"}, "agents": {"a": {"calls": 1}}}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"week": {"usd": 1}}, "budgets.week"),
        ({"project": {"seconds": 1}}, "budgets.project.seconds"),
        ({"project": 4}, "budgets.project"),
        ({"day": {"usd": 0}}, "budgets.day.usd"),
        ({"agents": {"coder": {"failures": 2}}}, "budgets.agents.coder.failures"),
        ({"agents": {"coder": 2}}, "budgets.agents.coder"),
        ({"agents": [2]}, "budgets.agents"),
    ],
)
def test_a_wrong_budget_is_named(given, field):
    with pytest.raises(PolicyInvalid) as caught:
        budgets.check_budgets(given)

    assert caught.value.field == field


def test_raising_an_agents_ceiling_releases_what_it_held():
    project = a_project(budgets={"agents": {"coder": {"usd": "10"}}})
    run, other = report(a_run(project), a_paid_call(15)), a_run(project)
    other = report(other, a_proposal("pwd"))

    given = {"agents": {"coder": {"usd": "12"}}}
    change_project(project.id, {"budgets": given}, by="ana", at=after(5))
    run.refresh_from_db()
    assert run.status == "holding"

    given = {"agents": {"coder": {"usd": "20"}}}
    change_project(project.id, {"budgets": given}, by="ana", at=after(6))

    for one in (run, other):
        one.refresh_from_db()
        assert (one.status, one.open_decision) == ("running", None)


# --- counters -----------------------------------------------------------------


def test_what_runs_share_is_counted_even_before_somebody_sets_a_ceiling():
    run = a_run()
    report(run, a_paid_call(2, usage=Usage(input=7, output=3)), a_call("pwd"))

    totals = {
        (row.scope, row.name): (row.usd, row.tokens, row.calls, row.turns)
        for row in Spend.objects.all()
    }

    spent = (Decimal(2), 10, 2, 2)
    assert totals == {
        ("project", ""): spent,
        ("day", "2026-11-21"): spent,
        ("organisation", "2026-11-21"): spent,
        ("agent", "coder"): spent,
    }


def test_judging_reads_the_counters_of_the_agents_that_acted_and_of_no_others(
    django_assert_num_queries,
):
    project = a_project(budgets={"agents": {"*": {"calls": 100}}})
    report(a_run(project), *[a_call("ls", agent=f"worker-{n}") for n in range(20)])

    with django_assert_num_queries(1):
        seen = SharedCounters([], agents={"worker-3"}, at=NOON, projects=[project])

    with django_assert_num_queries(0):
        assert seen.spent(project, "agent", "worker-3").calls == 1
        assert seen.spent(project, "agent", "worker-4").calls == 0


def test_a_run_remembers_its_latest_agents_and_every_one_that_its_ceilings_name():
    run = a_run(budget={"agents": {"critic": {"calls": 500}, "*": {"calls": 500}}})
    workers = [f"worker-{n}" for n in range(counting.MAX_UNNAMED_AGENTS + 1)]
    run = report(run, a_call("ls", agent="critic"), a_call("ls", agent=workers[0]))

    run = report(run, *[a_call("ls", agent=name) for name in workers[1:-1]])
    run = report(run, a_call("pwd", agent=workers[0]), a_call("ls", agent=workers[-1]))

    assert run.meters.agents_spent.keys() == {"critic", *workers} - {workers[1]}
    assert counting.spent_by(run, at=NOON).agents[workers[0]].calls == 2


def test_a_hundred_small_sums_add_up_to_the_cent():
    project = a_project(budgets={"project": {"usd": "10"}})
    run = a_run(project)
    for number in range(100):
        put(run, a_paid_call("0.1", f"cat {number}"))
        run = report(run)

    assert Spend.objects.get(scope="project").usd == 10
    assert run.status == "holding"
