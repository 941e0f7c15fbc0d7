"""A ceiling of dollars a day that all projects share; what each used is its own to know."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from guard.errors import PolicyInvalid
from missioncontrol.costs.models import Spend
from missioncontrol.decisions import budgets, organisation
from missioncontrol.decisions.actions import Amount
from missioncontrol.decisions.models import Decision
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, a_call, a_project, a_proposal, a_run, report
from tests.missioncontrol.taps import a_paid_call, open_card_of, payloads_of, tap

pytestmark = pytest.mark.django_db
TOMORROW = NOON + timedelta(days=1)


def allow(dollars, *, by="ana", at=NOON):
    organisation.set_day_budget(None if dollars is None else Decimal(dollars), by=by, at=at)


@pytest.fixture
def runs():
    """Runs of two projects that have spent six and four dollars of ten."""
    allow(10)
    one, two = a_run(a_project("one")), a_run(a_project("two"))
    return report(one, a_paid_call(6)), report(two, a_paid_call(4))


def changes(project, what):
    rows = JournalRow.objects.filter(project=project, run=None, type="policy.changed")
    payloads = [json.loads(row.payload) for row in rows.order_by("seq")]
    return [(one["before"], one["after"]) for one in payloads if one["what"] == what]


def test_two_projects_reach_it_together_and_each_is_held_at_its_next_turn(runs):
    one, two = runs
    assert (one.status, two.status) == ("running", "holding")

    one = report(one, a_proposal("pwd"))

    assert (one.status, open_card_of(one).evidence["scope"]) == ("holding", "organisation")


def test_a_card_tells_the_ceiling_and_nothing_of_what_others_used(runs):
    evidence = open_card_of(runs[1]).evidence

    assert evidence["summary"] == "The organisation's budget of $10.00 for today is reached."
    assert (evidence["ceiling"], evidence["spent"], evidence["whose"]) == (
        "10.00",
        None,
        "2026-11-21",
    )
    (crossed,) = payloads_of(runs[1])
    assert (crossed["spent"], crossed["share"], crossed["level"]) == ("", 1.0, "reached")


def test_a_warning_hides_how_much_of_the_organisations_budget_is_left():
    allow(10)
    report(a_run(a_project("one")), a_paid_call(5))

    run = report(a_run(a_project("two")), a_paid_call("4.5"))

    (row,) = payloads_of(run)
    assert (row["level"], row["spent"], row["share"]) == ("warning", "", 0.8)


def test_what_was_used_before_it_was_set_counts():
    report(a_run(a_project("one")), a_paid_call(6))
    run = report(a_run(a_project("two")), a_paid_call(4))

    allow(10)

    assert report(run, a_proposal("pwd")).status == "holding"


def test_it_may_be_set_below_what_was_used_and_raised_to_a_whole_dollar_above_it():
    run = report(a_run(a_project()), a_paid_call("7.30"))
    allow(2)
    run = report(run, a_proposal("pwd"))

    tap(run, "allow_budget", amount=Amount(usd=Decimal(1)))

    told_now = organisation.show_day_budget(at=NOON)
    assert (run.status, told_now.extra_usd) == ("running", Decimal(7))


def test_so_much_more_may_be_spent_as_the_tap_allows_where_it_was_overspent():
    run = report(a_run(a_project()), a_paid_call("3.30"))
    allow(2)
    run = report(run, a_proposal("pwd"))

    tap(run, "allow_budget", amount=Amount(usd=Decimal(2)))

    assert organisation.show_day_budget(at=NOON).extra_usd == Decimal(4)


def test_the_organisations_day_begins_at_midnight_utc():
    allow(3)
    tokyo = a_project(time_zone="Asia/Tokyo")
    late = datetime(2026, 11, 21, 23, 59, tzinfo=UTC)
    report(a_run(tokyo), a_paid_call(2), at=late)

    run = report(a_run(tokyo), a_paid_call(2), at=late + timedelta(minutes=2))

    assert run.status == "running"
    days = Spend.objects.filter(scope="organisation").order_by("name")
    assert [row.name for row in days] == ["2026-11-21", "2026-11-22"]


def test_one_raise_releases_the_runs_of_all_projects_for_today(runs):
    one, two = report(runs[0], a_proposal("pwd")), runs[1]

    tap(one, "allow_budget", amount=Amount(usd=Decimal(5)))

    two.refresh_from_db()
    assert (one.status, two.status, two.open_decision) == ("running", "running", None)
    today, tomorrow = [organisation.show_day_budget(at=at) for at in (NOON, TOMORROW)]
    assert (today.extra_usd, tomorrow.extra_usd, tomorrow.day_usd) == (5, 0, 10)


def test_the_raised_ceiling_is_reached_again(runs):
    tap(runs[1], "allow_budget", amount=Amount(usd=Decimal(5)))

    run = report(runs[1], a_paid_call(5, "id"))

    assert (run.status, open_card_of(run).evidence["ceiling"]) == ("holding", "15.00")


def test_each_projects_chain_records_who_raised_it_and_by_how_much(runs):
    tap(runs[1], "allow_budget", amount=Amount(usd=Decimal(5)))

    for run in runs:
        assert changes(run.project, "organisation_budget") == []  # they came after it was set
        raised = {"day": "2026-11-21", "more": {"usd": "5"}}
        assert changes(run.project, "organisation_extra") == [({}, raised)]


def test_each_projects_chain_records_who_set_and_removed_it():
    project = a_project()

    allow(10)
    allow(10, by="ben")
    allow(None)

    ten = {"usd": "10"}
    assert changes(project, "organisation_budget") == [({}, ten), (ten, {})]


def test_a_raise_may_be_taken_back_and_the_agent_waits_again(runs):
    run = runs[1]
    made = tap(run, "allow_budget", amount=Amount(usd=Decimal(5)))

    tap(run, "undo", undoes=made.key)

    assert (run.status, organisation.show_day_budget(at=NOON).extra_usd) == ("holding", 0)


@pytest.mark.parametrize("dollars", [None, 20])
def test_runs_go_on_when_it_is_removed_or_set_higher(runs, dollars):
    run = runs[1]

    allow(dollars)

    run.refresh_from_db()
    assert (run.status, run.open_decision, run.hold) == ("running", None, None)
    assert report(run, a_paid_call(5, "id")).status == "running"


def test_a_persons_own_pause_stays_when_it_is_removed(runs):
    run = runs[1]
    tap(run, "pause")

    allow(None)

    run.refresh_from_db()
    assert (run.status, run.open_decision) == ("holding", None)


def test_a_new_day_releases_agents_that_the_old_day_held(runs):
    budgets.release_for_new_day(at=NOON)
    assert Decision.objects.filter(status="open").count() == 1

    budgets.release_for_new_day(at=TOMORROW)

    run = runs[1]
    run.refresh_from_db()
    assert (run.status, card_count()) == ("running", 0)


def card_count():
    return Decision.objects.filter(status="open").count()


def test_the_organisations_budget_is_in_dollars_only(runs):
    with pytest.raises(InvalidRequest, match="dollars only"):
        tap(runs[1], "allow_budget", amount=Amount(usd=Decimal(1), calls=10))


def test_no_more_can_be_set_than_a_ceiling_may_be():
    with pytest.raises(PolicyInvalid, match=r"day\.usd"):
        allow("1e16")


def test_its_projects_own_ceiling_is_told_before_it():
    allow(3)
    project = a_project(budgets={"day": {"usd": "3"}})

    run = report(a_run(project), a_paid_call(3))

    assert open_card_of(run).evidence["scope"] == "day"


def test_free_calls_do_not_reach_a_ceiling(runs):
    allow(11)

    assert report(runs[1], a_call("id")).status == "running"


def test_finish_and_stop_are_offered_as_at_a_projects_day(runs):
    tap(runs[1], "finish")

    assert runs[1].meters.finish_seq is not None
