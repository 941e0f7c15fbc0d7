"""Runs that belong together, as agents and people see them over HTTP."""

from uuid import uuid4

import guard
from tests.contract.conversation import a_turn
from tests.installations import wait_for


def a_run(person, run):
    return person.get(f"/api/v1/runs/{run}/")


def test_a_child_names_its_parent_and_is_found_in_its_tree(agent, person):
    lead = agent.open_run(name="lead")
    child = agent.open_run(name="worker", parent=lead)
    agent.post_turns(child, a_turn("ls", result="a.py", cost_usd="0.25"))
    agent.post_turns(lead, a_turn("pwd", result="/srv", cost_usd="0.50"))

    def tree():
        return person.get(f"/api/v1/runs/{child}/tree/")

    wait_for(lambda: tree()["cost_usd"] == "0.75", seconds=60)
    assert (tree()["root"], tree()["count"]) == (lead, 2)
    assert [run["name"] for run in tree()["runs"]] == ["lead", "worker"]
    assert [run["id"] for run in person.get(f"/api/v1/runs/?parent={lead}")["results"]] == [child]
    assert len(person.get(f"/api/v1/runs/?tree={child}")["results"]) == 2


def test_an_unlinked_run_is_a_tree_of_one(agent, person):
    run = agent.open_run()

    assert person.get(f"/api/v1/runs/{run}/tree/")["count"] == 1
    assert [row["id"] for row in person.get(f"/api/v1/runs/?tree={run}")["results"]] == [run]


def test_an_agent_links_a_run_later_and_only_once(agent, person):
    lead, child = agent.open_run(), agent.open_run()

    linked = agent.ask("PATCH", f"/api/v1/runs/{child}/", {"parent": lead, "relation": "resumed"})
    circle = agent.ask("PATCH", f"/api/v1/runs/{lead}/", {"parent": child})
    another = agent.ask("PATCH", f"/api/v1/runs/{child}/", {"parent": agent.open_run()})
    unknown = agent.ask("PATCH", f"/api/v1/runs/{lead}/", {"parent": str(uuid4())})

    assert (linked.status, linked.json["parent"], linked.json["root"]) == (200, lead, lead)
    assert (circle.status, another.status, unknown.status) == (400, 400, 404)
    assert a_run(person, child)["relation"] == "resumed"


def test_a_person_does_not_link_runs_by_a_patch(agent, person):
    lead, child = agent.open_run(), agent.open_run()

    assert person.ask("PATCH", f"/api/v1/runs/{child}/", {"parent": lead}).status == 400


def test_a_parent_that_comes_later_is_linked_by_itself(agent, person):
    key = f"claude-code:{uuid4()}"
    child = agent.open_run(parent_key=key)
    lead = agent.open_run(key=key)

    wait_for(lambda: a_run(person, child)["parent"] == lead, seconds=60)


def test_ending_a_run_tells_its_children_to_stop(agent, person):
    lead = agent.open_run()
    child = agent.open_run(parent=lead)

    assert person.tap(lead, "terminate").status == 201

    reply = agent.post_turns(child, a_turn("ls", phase="proposed"))
    assert (reply.json["directive"]["action"], reply.json["directive"]["call"]) == ("stop", "skip")


def test_a_parents_budget_holds_its_child_and_one_tap_releases_both(agent, person):
    lead = agent.open_run(budget={"usd": "1"})
    child = agent.open_run(parent=lead)
    assert agent.post_turns(lead, a_turn("pwd", result="/srv", cost_usd="0.90")).status == 200
    held = agent.post_turns(child, a_turn("ls", phase="proposed", cost_usd="0.10"))
    assert held.json["directive"]["action"] == "hold"
    also = agent.post_turns(lead, a_turn("ls", phase="proposed"))
    assert also.json["directive"]["action"] == "hold"

    card = person.card_of(child)
    response = person.tap(
        child, "allow_budget", decision=card["id"], version=card["version"], amount={"usd": "5"}
    )

    assert response.status == 201
    assert {a_run(person, run)["status"] for run in (lead, child)} == {"running"}


def test_a_hook_that_names_a_parent_opens_its_session_under_it(agent, person):
    lead, session = agent.open_run(), str(uuid4())
    body = {"hook_event_name": "SessionStart", "session_id": session, "source": "startup"}

    response = agent.ask("POST", "/api/v1/hooks/claude-code/", {**body, "parent_run": lead})

    assert response.status == 200
    (row,) = person.get(f"/api/v1/runs/?parent={lead}")["results"]
    assert (row["key"], row["relation"]) == (f"claude-code:{session}", "child")


def test_sessions_of_the_sdk_link_in_one_process_and_in_another(agent, person, monkeypatch):
    key = agent.headers["Authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("MISSIONCONTROL_RUN_KEY", f"night-shift-{uuid4()}")
    with guard.Session("lead", url=agent.url, key=key) as lead:
        with lead.child("worker", agent="reader") as worker:
            worker.say("I look.")
        for name, value in lead.environment.items():
            monkeypatch.setenv(name, value)
        with guard.Session("elsewhere", url=agent.url, key=key) as elsewhere:
            elsewhere.say("I look too.")

    assert a_run(person, worker.run_id)["parent"] == lead.run_id
    assert a_run(person, elsewhere.run_id)["parent"] == lead.run_id
