"""What each agent key may do to whose runs, before a real server."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.contract.asking import AskingSession
from tests.contract.conversation import Caller, a_turn
from tests.installations import wait_for


def a_message_for(neighbour, person):
    """The neighbour's run, stuck and corrected: a message waits for it."""
    run = neighbour.open_run(key=f"claude-code:{uuid4()}")
    neighbour.get_stuck(run)
    version = person.get(f"/api/v1/runs/{run}/")["version"]
    assert person.tap(run, "inject", version=version, message="Look in token.py.").status == 201
    (message,) = neighbour.poll(run, after=-1).json["messages"]
    return run, message["id"]


def read(caller, run, message):
    return caller.ask("GET", f"/api/v1/runs/{run}/")


def post_turns(caller, run, message):
    return caller.post_turns(run, a_turn("ls"), wait=None)


def ask_directive(caller, run, message):
    return caller.ask("GET", f"/api/v1/runs/{run}/directive/")


def report_presence(caller, run, message):
    return caller.ask("POST", f"/api/v1/runs/{run}/presence/", {})


def read_rules(caller, run, message):
    return caller.ask("GET", f"/api/v1/runs/{run}/rules/")


def mark_delivered(caller, run, message):
    return caller.ask("POST", f"/api/v1/runs/{run}/messages/{message}/delivered/", {})


def report_capabilities(caller, run, message):
    return caller.ask("PATCH", f"/api/v1/runs/{run}/", {"capabilities": {"hold": False}})


def choose(caller, run, message):
    choice = {"key": uuid4().hex, "action": "terminate"}
    return caller.ask("POST", f"/api/v1/runs/{run}/choices/", choice)


def end(caller, run, message):
    return caller.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})


def open_by_key(caller, run, message):
    return caller.ask("POST", "/api/v1/runs/", {"key": keys_of[run], "agent": "coder"})


def post_its_hook(caller, run, message):
    hook = {"hook_event_name": "SessionEnd", "session_id": keys_of[run].partition(":")[2]}
    return caller.ask("POST", "/api/v1/hooks/claude-code/", hook)


keys_of: dict[str, str] = {}
OPERATIONS = [
    read,
    post_turns,
    ask_directive,
    report_presence,
    read_rules,
    mark_delivered,
    report_capabilities,
    choose,
    end,
    open_by_key,
    post_its_hook,
]
KEYS = {
    "own": {},
    "of its agent": {"reach": "agent", "agent": "coder"},
    "of another agent": {"reach": "agent", "agent": "reviewer"},
    "project": {"reach": "project"},
}
REACHES = {"of its agent", "project"}
"""Keys that reach a run which a neighbour's key opened."""


@pytest.fixture
def holding_a_key(person, installation):
    """Give whoever sends a newly made key of this reach; `revoke()` is the person's."""
    live = {}

    def make(**fields):
        made = person.ask("POST", "/api/v1/keys/", {"name": "a key", **fields})
        assert made.status == 201, made.json
        caller = Caller(installation.url, {"Authorization": f"Bearer {made.json['secret']}"})
        live[caller] = made.json["id"]
        return caller

    def revoke(caller):
        assert person.ask("DELETE", f"/api/v1/keys/{live.pop(caller)}/").status == 204

    def rotate(caller, **fields):
        assert person.ask("POST", f"/api/v1/keys/{live[caller]}/rotate/", fields).status == 201

    make.revoke, make.rotate = revoke, rotate
    yield make
    for caller in list(live):
        revoke(caller)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_acts_on_the_runs_it_reaches(person, holding_a_key, key, operation):
    neighbour = holding_a_key()
    run, message = a_message_for(neighbour, person)
    keys_of[run] = person.get(f"/api/v1/runs/{run}/")["key"]
    before = person.get(f"/api/v1/runs/{run}/")

    response = operation(holding_a_key(**KEYS[key]), run, message)

    if key in REACHES:
        assert response.status in {200, 201}, response.json
        return
    assert response.status in {403, 404}
    after = person.get(f"/api/v1/runs/{run}/")
    shown = ("status", "turns", "version", "capabilities", "key")
    assert {name: after[name] for name in shown} == {name: before[name] for name in shown}
    assert [one["id"] for one in ask_directive(neighbour, run, message).json["messages"]] == [
        message
    ]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_key_acts_on_what_it_opened_itself(person, holding_a_key, operation):
    mine = holding_a_key()
    run, message = a_message_for(mine, person)
    keys_of[run] = person.get(f"/api/v1/runs/{run}/")["key"]

    assert operation(mine, run, message).status in {200, 201}


def test_a_key_of_an_agent_opens_runs_of_that_agent_only(holding_a_key):
    mine = holding_a_key(reach="agent", agent="reviewer")

    opened = mine.ask("POST", "/api/v1/runs/", {"name": "a review"})
    refused = mine.ask("POST", "/api/v1/runs/", {"name": "a run", "agent": "coder"})

    assert (opened.json["agent"], refused.status) == ("reviewer", 403)


def test_telemetry_of_a_neighbours_session_is_refused_and_the_rest_is_taken(person, holding_a_key):
    run, _ = a_message_for(holding_a_key(), person)
    theirs = person.get(f"/api/v1/runs/{run}/")["key"].partition(":")[2]
    mine = str(uuid4())

    response = holding_a_key().ask("POST", "/v1/logs", {"resourceLogs": [logs(theirs), logs(mine)]})

    assert response.json["partialSuccess"]["rejectedLogRecords"] == "1"
    assert "has no access to it" in response.json["partialSuccess"]["errorMessage"]
    found = person.get("/api/v1/runs/?limit=500")["results"]
    assert f"claude-code:{mine}" in {row["key"] for row in found}


def logs(session):
    values = {
        "session.id": session,
        "event.sequence": 1,
        "event.name": "user_prompt",
        "prompt": "Go",
    }
    attributes = [{"key": name, "value": value_of(value)} for name, value in values.items()]
    record = {
        "timeUnixNano": "1795000000000000000",
        "body": {"stringValue": "claude_code.user_prompt"},
        "attributes": attributes,
    }
    service = {"key": "service.name", "value": {"stringValue": "claude-code"}}
    scope = {"name": "com.anthropic.claude_code.events"}
    return {
        "resource": {"attributes": [service]},
        "scopeLogs": [{"scope": scope, "logRecords": [record]}],
    }


def value_of(value):
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def test_a_session_goes_on_with_the_next_key_once_its_own_was_revoked(person, holding_a_key):
    old, new = holding_a_key(), holding_a_key()
    key = f"claude-code:{uuid4()}"
    run = old.open_run(key=key)
    opening = {"key": key, "agent": "coder"}
    assert new.ask("POST", "/api/v1/runs/", opening).status == 403

    holding_a_key.revoke(old)

    assert new.ask("POST", "/api/v1/runs/", opening).json["id"] == run
    assert new.post_turns(run, a_turn("ls"), wait=None).status == 200


def test_a_held_call_whose_key_is_revoked_does_not_run_and_is_told_nothing(person, holding_a_key):
    agent, session = holding_a_key(), str(uuid4())
    run = agent.open_run(key=f"claude-code:{session}")
    assert person.tap(run, "pause").status == 201
    with ThreadPoolExecutor(2) as pool:
        call = pool.submit(ask_to_remove, agent, session)
        version = wait_for(lambda: is_held(person, run))["version"]
        poll = pool.submit(agent.poll, run, after=version, wait=60)
        holding_a_key.revoke(agent)

        assert person.tap(run, "inject", version=version, message="It is in .env.").status == 201

        answer = call.result().json
        assert poll.result().status == 401
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert ".env" not in str(answer)


@pytest.mark.parametrize("asks", ["a hook", "a session"])
def test_an_answer_awaited_by_a_revoked_key_is_shown_as_undelivered(person, holding_a_key, asks):
    agent, session = holding_a_key(), str(uuid4())
    run = agent.open_run(key=f"claude-code:{session}")
    paused = person.tap(run, "pause").json["version"]
    with ThreadPoolExecutor(1) as pool:
        if asks == "a hook":
            pool.submit(ask_to_remove, agent, session)
        else:
            pool.submit(agent.poll, run, after=paused, wait=60)
        version = wait_for(lambda: is_held(person, run))["version"]
        holding_a_key.revoke(agent)
        assert person.tap(run, "continue", version=version).status == 201

    told = person.get(f"/api/v1/runs/{run}/snapshot/")["interventions"]
    assert [one["status"] for one in told if one["action"] == "continue"] == ["unreachable"]


def test_a_permission_requested_by_a_revoked_key_is_shown_as_undelivered(person, holding_a_key):
    agent = holding_a_key()
    with ThreadPoolExecutor(1) as pool:
        session = AskingSession(agent, person, pool)
        session.ask()
        session.card()
        holding_a_key.revoke(agent)
        session.tap("allow_once")

    told = person.get(f"/api/v1/runs/{session.run()['id']}/snapshot/")["interventions"]
    assert [one["status"] for one in told] == ["unreachable"]


def test_a_held_call_whose_key_is_rotated_runs_while_the_old_one_goes_on(person, holding_a_key):
    agent, session = holding_a_key(), str(uuid4())
    run = agent.open_run(key=f"claude-code:{session}")
    assert person.tap(run, "pause").status == 201
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(ask_to_remove, agent, session)
        version = wait_for(lambda: is_held(person, run))["version"]
        holding_a_key.rotate(agent, overlap_hours=1)

        assert person.tap(run, "continue", version=version).status == 201

        answer = call.result().json
    assert "deny" not in str(answer)
    assert answer.get("continue") is not False


def ask_to_remove(agent, session):
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "tool_name": "Bash",
        "tool_input": {"command": "rm -r old"},
        "tool_use_id": "toolu_1",
    }
    return agent.ask("POST", "/api/v1/hooks/claude-code/", event)


def is_held(person, run):
    shown = person.get(f"/api/v1/runs/{run}/")
    return shown if shown["status"] == "held" else None
