"""`manage.py up --demo`, as a newcomer sees it."""

from datetime import datetime, timedelta

import pytest

from tests.agents.person import Person
from tests.installations import an_installation, wait_for

pytestmark = pytest.mark.agents


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    data = tmp_path_factory.mktemp("demo") / "data"
    with an_installation(data, "--port", "0", "--demo") as running:
        yield running


@pytest.fixture(scope="module")
def person(demo):
    return Person(demo)


def run_named(person, agent):
    rows = person.get("runs/")["results"]
    return next((row for row in rows if row["agent"] == agent), None)


def moment(text):
    return datetime.fromisoformat(text)


def test_two_agents_are_held_within_twenty_seconds_until_a_tap_decides(person):
    run = wait_for(lambda: run_named(person, "ping-pong"), seconds=60)
    card = person.open_card(run["id"])

    looped_for = moment(card["opened_at"]) - moment(run["started_at"])
    assert looped_for < timedelta(seconds=20)
    assert card["kind"] == "ping_pong"

    person.tap(card, "continue")
    person.tap(person.open_card(run["id"]), "inject", message="Use ISO dates.")

    wait_for(lambda: person.run(run["id"])["status"] == "completed", seconds=90)
    assert "Settled" in person.turns(run["id"])[-1]["content"]


def test_the_npm_minded_agent_is_put_right_without_a_tap(person):
    run = wait_for(lambda: run_named(person, "npm-minded"), seconds=60)

    wait_for(lambda: person.run(run["id"])["status"] == "completed", seconds=90)

    paths = [t["args"]["path"] for t in person.turns(run["id"]) if t["tool"] == "read_file"]
    assert paths[:3] == ["package.json"] * 3
    assert paths[3:] == ["pyproject.toml"]
    assert "2.4.1" in person.turns(run["id"])[-1]["content"]
    (fix,) = [f for f in person.get("autofixes/")["results"] if f["run"] == run["id"]]
    assert "pyproject.toml" in fix["text"]


def test_the_healthy_run_is_left_alone_and_has_a_price(person):
    run = wait_for(lambda: run_named(person, "healthy"), seconds=60)

    wait_for(lambda: person.run(run["id"])["turns"] >= 5, seconds=90)

    seen = person.run(run["id"])
    assert (seen["status"], seen["open_decisions"]) == ("running", 0)
    assert float(seen["cost_usd"]) > 0
