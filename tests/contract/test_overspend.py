"""A budget shared by several agents is exceeded only by calls that were already in flight."""

from decimal import Decimal
from uuid import uuid4

import pytest

from tests.faults.spenders import PRICE, Spree


@pytest.fixture
def shared(installation, person):
    """Return the name of an agent that may spend forty calls' worth in all its runs."""
    name = f"spender-{uuid4().hex[:6]}"
    set_ceiling(installation, person, {name: {"usd": str(40 * PRICE)}})
    yield name
    set_ceiling(installation, person, {})


def set_ceiling(installation, person, agents):
    path = f"/api/v1/projects/{installation.project}/"
    assert person.ask("PATCH", path, {"budgets": {"agents": agents}}).status == 200


def allow_ten_more(person, card):
    fields = {"decision": card["id"], "version": card["version"]}
    response = person.tap(card["run"], "allow_budget", **fields, amount={"usd": str(10 * PRICE)})
    assert response.status == 201, response.json


def test_what_is_spent_beyond_a_shared_budget_was_in_flight_when_it_was_crossed(
    agent, person, shared
):
    spree = Spree(agent, person, agents=6, name=shared, pause_s=0.02)
    spree.spend()
    found = spree.measure(ceiling=40 * PRICE)
    counted = spree.counted_usd()
    spree.stop()

    assert found["overspent_calls"] >= 0
    assert found["overspent_calls"] <= found["in_flight_when_crossed"] <= 6
    assert counted == found["calls_counted"] * PRICE == Decimal("0.10") * found["calls_counted"]


def test_one_tap_releases_all_of_them(agent, person, shared):
    spree = Spree(agent, person, agents=3, name=shared, pause_s=0.02)
    spree.spend()
    card = person.card_of(spree.spenders[0].session.run_id)

    allow_ten_more(person, card)
    spree.await_held()

    assert sum(len(one.calls) for one in spree.spenders) >= 40 + 10
    spree.stop()


def test_children_spend_no_more_of_their_parents_budget_than_was_in_flight(agent, person):
    lead = agent.open_run(name="lead", budget={"usd": str(30 * PRICE)})
    spree = Spree(
        agent, person, agents=5, name=f"child-{uuid4().hex[:6]}", pause_s=0.02, under=lead
    )
    spree.spend()
    found = spree.measure(ceiling=30 * PRICE)
    assert 0 <= found["overspent_calls"] <= found["in_flight_when_crossed"] <= 5

    card = person.card_of(spree.spenders[0].session.run_id)
    assert (card["evidence"]["scope"], card["evidence"]["whose"]) == ("tree", lead)
    allow_ten_more(person, card)
    spree.await_held()
    assert sum(len(one.calls) for one in spree.spenders) >= 30 + 10

    assert person.tap(lead, "terminate").status == 201
    for one in spree.spenders:
        one.join(60)
    assert not [one.fault for one in spree.spenders if one.fault]
    tree = person.get(f"/api/v1/runs/{lead}/tree/")
    assert Decimal(tree["cost_usd"]) == sum(len(one.calls) for one in spree.spenders) * PRICE
