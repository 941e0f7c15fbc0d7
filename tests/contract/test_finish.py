"""An SDK agent whose budget is used up is asked to finish, and does or is stopped."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

import guard
from guard.errors import Stopped
from tests.installations import wait_for


@pytest.fixture
def session(installation):
    """Return a session under a budget of one dollar."""
    with guard.Session(
        "sum-up", url=installation.url, key=installation.agent_key, budget={"usd": "1"}
    ) as session:
        yield session


def hold_at_budget(session, person):
    """Propose a call that the budget no longer covers; finish it from the card."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(session.before, "Bash", {"command": "make"}, cost_usd=Decimal(1))
        card = wait_for(lambda: open_card(session, person))
        response = person.tap(card["run"], "finish", decision=card["id"], version=card["version"])
        assert response.status == 201, response.json
        return asked.result(timeout=60)


def open_card(session, person):
    cards = person.get("/api/v1/decisions/?status=open&limit=500")["results"]
    return next((card for card in cards if card["run"] == session.run_id), None)


def status_of(session, person):
    return person.get(f"/api/v1/runs/{session.run_id}/")["status"]


def test_an_agent_that_sums_up_and_ends_has_completed(session, person):
    go = hold_at_budget(session, person)
    assert not go.run
    assert "one last message" in go.text

    session.say("The parser is done, its tests are not. I stopped in test_parse.py.")
    session.close("completed")

    assert status_of(session, person) == "completed"


def test_an_agent_that_goes_on_is_stopped_after_two_turns(session, person):
    hold_at_budget(session, person)
    for command in ("ls", "pwd"):
        session.after(session.before("Bash", {"command": command}), result=command)

    with pytest.raises(Stopped):
        session.before("Bash", {"command": "make again"})

    session.close("failed")
    assert status_of(session, person) == "terminated"
