"""A project's own prices: from now on, and for what had none."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.turn import Usage
from missioncontrol.costs.counting import set_price
from missioncontrol.costs.models import Spend
from missioncontrol.costs.prices import check_price, project_price
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs.models import JournalRow, ModelCall, Turn
from tests.build import NOON, a_call, a_project, a_run, after, judged, report

pytestmark = pytest.mark.django_db
HOUSE = {"input": "2", "output": "10"}
USED = Usage(input=100_000, cache_read=50_000, output=10_000)
"""At 2 and 10 dollars a million: 0.20, 0.10 and 0.10."""
TOKENS = st.integers(0, 10**7)
USAGES = st.builds(Usage, input=TOKENS, cache_read=TOKENS, cache_write_5m=TOKENS, output=TOKENS)


def price(project, *, by="ana", table=HOUSE, model="house", at=None):
    return set_price(project.id, model, table, by=by, at=at or after(60))


def events_of(run):
    rows = JournalRow.objects.filter(run=run, type="cost.attributed").order_by("seq")
    return [json.loads(row.payload) for row in rows]


def spent(project, scope, name):
    return Spend.objects.get(project=project, scope=scope, name=name).usd


@pytest.fixture
def unpriced(project):
    return report(a_run(project), a_call("x", key="a", usage=USED, model="house"))


def test_a_call_of_a_priced_model_is_counted_with_the_projects_price(project):
    price(project)

    run = report(a_run(project), a_call("x", usage=USED, model="house"))

    assert (run.meters.cost_usd, run.meters.unpriced_calls) == (Decimal("0.4"), 0)
    assert events_of(run)[0]["priced_by"] == "project"


def test_it_goes_before_the_public_list_and_after_the_agents_own_figure(project):
    price(project, model="claude-sonnet-4-5")

    fields = {"usage": USED, "model": "claude-sonnet-4-5"}
    run = report(a_run(project), a_call("x", **fields), a_call("y", **fields, cost_usd=Decimal(7)))

    assert [one["priced_by"] for one in events_of(run)] == ["project", "agent"]
    assert run.meters.cost_usd == Decimal("7.4")


def test_what_had_no_price_is_counted_again_everywhere(project, unpriced):
    made = price(project)

    unpriced.refresh_from_db()
    assert (made.calls, made.usd) == (1, Decimal("0.4"))
    assert (unpriced.meters.cost_usd, unpriced.meters.unpriced_calls) == (Decimal("0.4"), 0)
    assert ModelCall.objects.get().cost_usd == Decimal("0.4")
    assert Turn.objects.get().cost_usd == Decimal("0.4")
    assert spent(project, "day", "2026-11-21") == Decimal("0.4")
    assert spent(project, "agent", "coder") == Decimal("0.4")


def test_the_journal_says_who_set_it_and_what_it_counted(project, unpriced):
    price(project)

    changed = json.loads(JournalRow.objects.get(type="policy.changed").payload)
    assert (changed["what"], changed["after"]) == ("prices", {"house": HOUSE})
    first, again = events_of(unpriced)
    assert (first["cost_usd"], again["cost_usd"], again["priced_by"]) == (None, "0.4", "project")
    assert again["usage"] is None
    assert JournalRow.objects.filter(run=unpriced).latest("seq").by == "ana"


def test_a_past_days_call_counts_on_its_own_day(project):
    report(a_run(project), a_call("x", usage=USED, model="house"), at=NOON)

    price(project, at=after(24 * 3600))

    assert spent(project, "day", "2026-11-21") == Decimal("0.4")
    assert not Spend.objects.filter(scope="day", name="2026-11-22").exists()


def test_setting_it_twice_counts_nothing_twice(project, unpriced):
    price(project)

    assert price(project).calls == 0
    unpriced.refresh_from_db()
    assert unpriced.meters.cost_usd == Decimal("0.4")
    assert JournalRow.objects.filter(type="policy.changed").count() == 1


def test_another_model_or_project_is_left_alone(project, unpriced):
    other = report(a_run(a_project("elsewhere")), a_call("x", usage=USED, model="house"))
    report(unpriced, a_call("y", usage=USED, model="house-2"))

    price(project)

    unpriced.refresh_from_db()
    other.refresh_from_db()
    assert (unpriced.meters.unpriced_calls, other.meters.unpriced_calls) == (1, 1)


def test_the_judges_calls_are_counted_as_its_own(project):
    run = a_run(project)
    judged(run, None, usage=USED, model="house", agent="coder")

    price(project)

    run.refresh_from_db()
    assert (run.meters.cost_usd, run.meters.judge_cost_usd, run.meters.unpriced_calls) == (
        0,
        Decimal("0.4"),
        0,
    )


def test_a_price_that_is_removed_leaves_what_was_counted(project, unpriced):
    price(project)
    price(project, table=None)

    run = report(a_run(project), a_call("x", usage=USED, model="house"))

    unpriced.refresh_from_db()
    assert (unpriced.meters.cost_usd, run.meters.unpriced_calls) == (Decimal("0.4"), 1)


def test_a_call_without_tokens_stays_unpriced():
    assert project_price({"house": HOUSE}, "house", Usage()) is None
    assert project_price({"house": HOUSE}, "house", None) is None


@given(one=USAGES, other=USAGES)
def test_calls_priced_apart_cost_as_much_as_together(one, other):
    both = Usage(
        input=one.input + other.input,
        cache_read=one.cache_read + other.cache_read,
        cache_write_5m=one.cache_write_5m + other.cache_write_5m,
        output=one.output + other.output,
    )
    prices = {"house": {**HOUSE, "cache_read": "0.2", "cache_write": "2.5"}}
    apart = [project_price(prices, "house", used) or 0 for used in (one, other)]

    assert (project_price(prices, "house", both) or 0) == sum(apart)


@pytest.mark.parametrize(
    ("model", "price", "field"),
    [
        ("", HOUSE, "model"),
        ("m" * 101, HOUSE, "model"),
        ("house", {"input": "2"}, "output"),
        ("house", {**HOUSE, "input": "-1"}, "input"),
        ("house", {**HOUSE, "output": "NaN"}, "output"),
        ("house", {**HOUSE, "cache_read": "much"}, "cache_read"),
        ("house", {**HOUSE, "input": "1e9"}, "input"),
    ],
)
def test_an_invalid_price_is_refused_by_field(model, price, field):
    with pytest.raises(InvalidRequest) as refused:
        check_price(model, price)

    assert refused.value.fields == {"field": field}


def test_only_owners_set_prices_and_strangers_see_no_project(
    project, owner, operator, stranger, as_person
):
    path = f"/api/v1/projects/{project.id}/prices/"
    body = {"model": "house", **HOUSE}

    assert as_person(operator).post(path, body, "json").status_code == 403
    assert as_person(stranger).post(path, body, "json").status_code == 404
    assert as_person(stranger).get(path).status_code == 404
    assert as_person(owner).post(path, body, "json").json() == {
        "model": "house",
        "calls": 0,
        "usd": "0",
    }
    (row,) = as_person(operator).get(path).json()["results"]
    assert (row["model"], row["input"], row["cache_read"]) == ("house", "2", None)
    assert as_person(owner).delete(f"{path}?model=house").status_code == 204
    assert as_person(owner).get(path).json()["results"] == []
