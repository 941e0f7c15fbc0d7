"""`manage.py up --demo`, as a newcomer sees it."""

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


def test_two_agents_are_held_at_their_fourth_hand_over_until_a_tap_decides(person):
    """Each thinks for 1.2 s, so that a newcomer sees it within twenty."""
    run = wait_for(lambda: run_named(person, "ping-pong"))
    card = person.open_card(run["id"])

    assert card["kind"] == "ping_pong"
    asked, *handed_over = person.turns(run["id"])
    assert asked["role"] == "user"
    assert [(turn["tool"], turn["phase"]) for turn in handed_over] == [
        *[("hand_over", "done")] * 3,
        ("hand_over", "proposed"),
    ]

    person.tap(card, "continue")
    person.tap(person.open_card(run["id"]), "inject", message="Use ISO dates.")

    wait_for(lambda: person.run(run["id"])["status"] == "completed")
    assert "Settled" in person.turns(run["id"])[-1]["content"]


def test_the_agent_that_insists_on_npm_is_corrected_without_a_tap(person):
    run = wait_for(lambda: run_named(person, "npm-minded"))

    wait_for(lambda: person.run(run["id"])["status"] == "completed")

    paths = [t["args"]["path"] for t in person.turns(run["id"]) if t["tool"] == "read_file"]
    assert paths[:3] == ["package.json"] * 3
    assert paths[3:] == ["pyproject.toml"]
    assert "2.4.1" in person.turns(run["id"])[-1]["content"]
    (fix,) = [f for f in person.get("autofixes/")["results"] if f["run"] == run["id"]]
    assert "pyproject.toml" in fix["text"]


def test_the_healthy_run_is_left_alone_and_has_a_price(person):
    run = wait_for(lambda: run_named(person, "healthy"))

    wait_for(lambda: person.run(run["id"])["turns"] >= 5)

    seen = person.run(run["id"])
    assert seen["status"] in {"running", "completed"}
    assert seen["open_decisions"] == 0
    assert float(seen["cost_usd"]) > 0
