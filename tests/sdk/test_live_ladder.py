"""The ladder against a real Mission Control: warned, ended, told to who controls, restarted."""

import pytest

from guard import Session, Stopped
from tests.agents.person import Person
from tests.installations import wait_for

STUCK = "I will look at the parser once more before I decide."


@pytest.fixture
def person(installation):
    return Person(installation)


@pytest.fixture
def where(installation):
    return {"url": installation.url, "key": installation.agent_key, "policy": {"preset": "broker"}}


def say_until_told(session, text=STUCK, most=20):
    """Say the same, as an agent that never looks back; give what it was told."""
    messages = []
    for _ in range(most):
        messages += session.say(text)
        go = session.before("note", {"text": text})
        session.after(go, result="noted")
        messages += go.messages
    return messages


def test_a_stuck_agent_is_escalated_then_ended_and_begins_again(where, person):
    escalations, messages = [], []
    with (
        Session("boss", **where) as boss,
        pytest.raises(Stopped) as stopped,
        Session(
            "worker", **where, controller=boss.run_id, on_escalation=escalations.append
        ) as worker,
    ):
        messages += say_until_told(worker)

    assert "repeated itself" in str(stopped.value)
    (escalation,) = escalations
    assert (escalation.detector, escalation.kind) == ("broker", "semantic_repeat")
    wait_for(lambda: person.run(worker.run_id)["status"] == "terminated")
    journal = person.journal(worker.run_id)
    assert journal.index("escalation.asked") < journal.index("session.terminated")
    assert journal.count("session.terminated") == 1


def test_the_controlling_agent_is_told_of_both(where):
    with Session("boss", **where) as boss:
        with (
            pytest.raises(Stopped),
            Session("worker", **where, controller=boss.run_id) as worker,
        ):
            say_until_told(worker)

        replies = []

        def listen():
            replies.extend(boss.say(f"What is new, {len(replies)}?", role="user"))
            return len(replies) > 1

        wait_for(listen)

    assert all(worker.run_id in message for message in replies)
    assert "has been warned" in replies[0]
    assert "was stopped" in replies[1]


def test_a_restart_opens_a_run_whose_first_directive_carries_the_correction(where, person):
    with pytest.raises(Stopped), Session("worker", **where) as worker:
        say_until_told(worker)

    tap = {"key": "again", "action": "restart", "message": "Begin with src/grammar.py."}
    answer = person.post(f"runs/{worker.run_id}/interventions/", tap)

    fresh = person.run(answer["new_run"])
    with Session("worker", **where, run_key=fresh["key"]) as again:
        assert again.say("I begin.") == ("Begin with src/grammar.py.",)
    assert again.run_id == fresh["id"]
    assert fresh["parent"] == worker.run_id
