"""An agent key that only reports, on a real server: its runs are watched, it gets no directives."""

from uuid import uuid4

import pytest

from tests.contract.conversation import Caller, a_turn
from tests.contract.test_key_reach import a_message_for, choose, mark_delivered, report_capabilities


@pytest.fixture
def with_key(person, installation):
    """Give whoever sends a new key; it is revoked afterwards."""
    made = []

    def make(**fields):
        key = person.ask("POST", "/api/v1/keys/", {"name": "a key", **fields}).json
        made.append(key["id"])
        return Caller(installation.url, {"Authorization": f"Bearer {key['secret']}"})

    yield make
    for one in made:
        assert person.ask("DELETE", f"/api/v1/keys/{one}/").status == 204


@pytest.fixture
def reporter(with_key):
    return with_key(reports_only=True)


def test_its_loop_is_flagged_and_its_agent_goes_on(person, reporter):
    run = reporter.open_run(mode="pause", capabilities={"hold": True, "terminate": "sdk"})

    directive = reporter.get_stuck(run)

    assert (directive["action"], directive["call"]) == ("proceed", "run")
    assert person.card_of(run)["run"] == run
    shown = person.get(f"/api/v1/runs/{run}/")
    assert shown["status"] == "running"
    assert set(shown["unavailable"]) == {"pause", "inject", "finish", "terminate"}
    assert set(shown["unavailable"].values()) == {"Its agent key only reports."}


def test_a_hook_of_its_session_is_answered_with_nothing(reporter):
    session = str(uuid4())
    call = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
    }
    answers = [
        reporter.ask("POST", "/api/v1/hooks/claude-code/", {**call, "tool_use_id": f"t{n}"})
        for n in range(6)
    ]

    assert [answer.status for answer in answers] == [200] * 6
    assert [answer.json for answer in answers] == [{}] * 6


def test_a_reporting_key_learns_nothing_of_a_run_another_key_controls(person, with_key):
    neighbour, reporter = with_key(), with_key(reach="project", reports_only=True)
    run, message = a_message_for(neighbour, person)

    polled = reporter.ask("GET", f"/api/v1/runs/{run}/directive/").json
    posted = reporter.post_turns(run, a_turn("ls")).json["directive"]

    for directive in (polled, posted):
        assert (directive["action"], directive["messages"]) == ("proceed", [])
        assert directive["reason"] is None
    waiting = neighbour.ask("GET", f"/api/v1/runs/{run}/directive/").json["messages"]
    assert [one["id"] for one in waiting] == [message]


@pytest.mark.parametrize("operation", [choose, mark_delivered, report_capabilities])
def test_a_reporting_key_cannot_report_an_answer(person, with_key, operation):
    neighbour, reporter = with_key(), with_key(reach="project", reports_only=True)
    run, message = a_message_for(neighbour, person)

    assert operation(reporter, run, message).status == 403
    assert person.get(f"/api/v1/runs/{run}/")["capabilities"] == {}
