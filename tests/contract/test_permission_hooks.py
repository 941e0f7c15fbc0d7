"""Claude Code's question for a permission, at its hook address on a real server."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.contract.asking import COMMAND, AskingSession
from tests.installations import wait_for


@pytest.fixture
def session(agent, person):
    with ThreadPoolExecutor(8) as pool:
        asking = AskingSession(agent, person, pool)
        yield asking
        asking.hook("SessionEnd")  # whatever a failed test left open


def decided(answer):
    return answer["hookSpecificOutput"]["decision"]


def test_the_request_stays_open_until_a_person_allows_the_call_once(session):
    asked = session.ask()

    card = session.card()
    assert (card["kind"], card["holds"]) == ("permission", False)
    assert card["evidence"]["asks"] == {
        "tool": "Bash",
        "text": COMMAND,
        "details": {},
        "cut": False,
        "for_run": True,
    }
    run = session.run()
    assert (run["status"], run["presence"], run["open_decisions"]) == ("running", "waiting", 1)
    assert not asked.done()
    made = session.tap("allow_once")

    assert decided(asked.result(60)) == {"behavior": "allow"}
    assert made["status"] == "asked"
    wait_for(lambda: session.cards()[-1]["intervention"] == "delivered")
    session.hook("PostToolUse", **session.call, tool_response={"stdout": ""})
    wait_for(lambda: session.cards()[-1]["intervention"] == "acknowledged")


def test_a_denial_tells_the_agent_why(session):
    asked = session.ask()

    session.tap("deny", message="Use make clean.")

    decision = decided(asked.result(60))
    assert decision["behavior"] == "deny"
    assert decision["message"].endswith("Use make clean.")


def test_an_answer_at_the_terminal_closes_the_card(session):
    asked = session.ask()
    session.card()

    session.hook("PostToolUse", **session.call, tool_response={"stdout": ""})

    assert session.closed() == "answered"
    assert asked.result(60) == {}


def test_a_request_that_disconnects_was_answered_at_the_terminal(session):
    cut = session.hang_up_on_it()
    session.card()

    cut()

    assert session.closed() == "answered"
    wait_for(lambda: session.run()["presence"] == "idle")


def test_the_end_of_the_session_closes_the_card(session):
    asked = session.ask()
    session.card()

    session.hook("SessionEnd")

    assert session.closed() == "ended"
    assert asked.result(60) == {}


def test_ending_the_run_refuses_the_call(session):
    asked = session.ask()
    session.card()

    session.person.tap(session.run()["id"], "terminate", key="end")

    decision = decided(asked.result(60))
    assert (decision["behavior"], decision["interrupt"]) == ("deny", True)


def test_an_unanswered_permission_is_left_to_the_terminal(session):
    asked = session.ask(wired="entry=cli; answer=2")

    assert asked.result(60) == {}
    assert session.closed() == "timed_out"
    assert session.run()["presence"] == "waiting"


@pytest.mark.parametrize(
    ("wired", "tool"),
    [
        ("via=http; timeout=3900; entry=cli", "Bash"),
        ("entry=claude-vscode; answer=3900", "Bash"),
        ("entry=cli; answer=3900", "ExitPlanMode"),
    ],
    ids=["connected before", "another host", "asks for more than a yes"],
)
def test_where_it_cannot_be_answered_the_terminal_asks_at_once(session, wired, tool):
    asked = session.ask(wired=wired, tool_name=tool)

    assert asked.result(60) == {}
    assert session.cards() == []
    assert session.run()["presence"] == "waiting"


def test_codex_shows_its_question_at_once(agent, person):
    session = {"session_id": str(uuid4()), "cwd": "/tidepool"}
    call = {"tool_name": "Bash", "tool_input": {"command": COMMAND}}
    body = session | call | {"hook_event_name": "PermissionRequest"}

    response = agent.ask(
        "POST", "/api/v1/hooks/codex/", body, **{"X-MissionControl-Hook": "answer=3900"}
    )

    assert (response.status, response.json) == (200, {})


def test_two_questions_of_one_session_have_a_card_each(session):
    one, two = session.ask(command="rm one", agent_id="a"), session.ask(command="rm two")
    wait_for(lambda: len(session.cards()) == 2)
    texts = {card["evidence"]["asks"]["text"]: card for card in session.cards()}

    session.tap("deny", decision=texts["rm two"]["id"])

    assert decided(two.result(60))["behavior"] == "deny"
    assert not one.done()
    session.tap("allow_once", decision=texts["rm one"]["id"])
    assert decided(one.result(60)) == {"behavior": "allow"}


def test_another_session_closes_no_card_but_its_own(session, agent, person):
    asked = session.ask()
    session.card()
    other = AskingSession(agent, person, session._pool)

    other.hook("PostToolUse", **session.call, tool_response={"stdout": ""})
    other.hook("SessionEnd")

    assert session.card()["status"] == "open"
    session.tap("deny")
    asked.result(60)
