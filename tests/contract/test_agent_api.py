"""The agent's side of the contract, before a real server with real workers."""

import gzip
import threading
import time
from uuid import uuid4

import pytest

from tests.contract.conversation import a_turn


def test_the_same_key_opens_one_run(agent):
    key = uuid4().hex

    first = agent.ask("POST", "/api/v1/runs/", {"name": "one", "key": key})
    again = agent.ask("POST", "/api/v1/runs/", {"name": "two", "key": key})

    assert (first.status, again.status) == (201, 200)
    assert first.json["id"] == again.json["id"]
    assert first.json["mode"] == "pause"


def test_turns_are_numbered_and_judged_when_asked_to_wait(agent):
    reply = agent.post_turns(agent.open_run(), a_turn("ls"), a_turn("pwd"))

    assert reply.status == 200
    assert reply.json["accepted"] == 2
    assert reply.json["last_seq"] == 1
    assert reply.json["judged"] is True
    assert reply.json["directive"]["action"] == "proceed"
    assert reply.headers["Preference-Applied"] == "wait=20"


def test_without_prefer_the_answer_does_not_wait(agent):
    reply = agent.post_turns(agent.open_run(), a_turn("ls"), wait=None)

    assert reply.json["accepted"] == 1
    assert reply.headers["Preference-Applied"] is None


def test_a_repeat_is_counted_and_not_stored(agent):
    run, turn = agent.open_run(), a_turn()

    agent.post_turns(run, turn)
    reply = agent.post_turns(run, turn)

    assert (reply.json["accepted"], reply.json["duplicates"]) == (0, 1)


def test_a_bad_turn_is_refused_and_the_good_ones_are_kept(agent):
    reply = agent.post_turns(
        agent.open_run(), a_turn("ls"), {"role": "assistant"}, {"role": "wizard", "content": "x"}
    )

    assert reply.status == 200
    assert reply.json["accepted"] == 1
    assert [refusal["index"] for refusal in reply.json["refused"]] == [1, 2]
    assert "tool" in reply.json["refused"][0]["detail"]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"turns": []}', b'{"turns": 7}', b'{"turns": [{"role": "assistant"}]}'],
)
def test_a_body_without_any_readable_turn_is_a_400(agent, body):
    response = agent.ask("POST", f"/api/v1/runs/{agent.open_run()}/turns/", body)

    assert response.status == 400
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json["code"] == "invalid_request"


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (5, "turn: Input should be an object"),
        ({"role": "assistant", "tool": "T", "args": [1]}, "args: Input should be an object"),
        ({"role": "assistant", "tool": "T", "files": "a"}, "files: Input should be a list"),
    ],
)
def test_what_is_wrong_with_a_turn_is_said_in_words_of_json(agent, turn, words):
    reply = agent.post_turns(agent.open_run(), turn)

    assert reply.json["refused"][0]["detail"] == words


def test_turns_that_come_as_gzip_are_refused_as_such(agent):
    packed = gzip.compress(b'{"turns": [{"role": "user", "content": "hello"}]}')

    response = agent.ask("POST", f"/api/v1/runs/{agent.open_run()}/turns/", packed)

    assert response.status == 400
    assert "gzip" in response.json["detail"]


def test_a_clients_seq_is_ignored(agent, person):
    run = agent.open_run()

    reply = agent.post_turns(run, a_turn("ls", seq=77), a_turn("id", seq="x"))

    assert reply.json["last_seq"] == 1


def test_the_third_identical_call_is_held_before_it_runs(agent, person):
    run = agent.open_run()

    directive = agent.get_stuck(run)

    assert directive["action"] == "hold"
    assert directive["decision"] == person.card_of(run)["id"]
    assert person.get(f"/api/v1/runs/{run}/")["status"] == "holding"


def test_a_polling_agent_is_held_and_a_tap_releases_it(agent, person):
    run = agent.open_run()
    held = agent.get_stuck(run)
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(agent.poll(run, held["version"])))
    waiting.start()
    card = _eventually(lambda: (c := person.card_of(run))["agent_waiting"] and c)

    tapped = person.tap(
        run, "inject", decision=card["id"], version=card["version"], message="Use token.py."
    )
    waiting.join(60)

    assert tapped.status == 201
    (response,) = answers
    directive = response.json
    assert (directive["action"], directive["call"]) == ("proceed", "skip")
    assert [message["text"] for message in directive["messages"]] == ["Use token.py."]


def test_a_message_stands_in_every_directive_until_it_is_delivered(agent, person):
    run = agent.open_run()
    agent.get_stuck(run)
    card = person.card_of(run)
    person.tap(run, "inject", decision=card["id"], version=card["version"], message="Stop that.")

    seen = agent.ask("GET", f"/api/v1/runs/{run}/directive/").json["messages"]
    again = agent.ask("GET", f"/api/v1/runs/{run}/directive/").json["messages"]
    path = f"/api/v1/runs/{run}/messages/{seen[0]['id']}/delivered/"
    assert agent.ask("POST", path, {}).status == 200
    assert agent.ask("POST", path, {}).status == 200

    assert seen == again
    assert agent.ask("GET", f"/api/v1/runs/{run}/directive/").json["messages"] == []


def test_a_text_for_one_agent_leaves_with_its_own_answer_and_is_not_unsaid_then(agent, person):
    run = agent.open_run()
    agent.post_turns(run, a_turn("ls"), a_turn("cat tests", agent="tester"))
    stands = agent.ask("GET", f"/api/v1/runs/{run}/directive/").json["version"]
    assert person.tap(run, "continue", version=stands).status == 201
    told = {"message": "Test it again.", "agent": "tester", "version": stands + 1}
    assert person.tap(run, "inject", key="told", **told).status == 201

    # This turn confirms the answer before: none is followed when the text leaves.
    other = agent.post_turns(run, a_turn("make")).json["directive"]
    own = agent.post_turns(run, a_turn("make test", agent="tester")).json["directive"]

    assert [message["text"] for message in other["messages"]] == []
    assert [message["text"] for message in own["messages"]] == ["Test it again."]
    assert person.tap(run, "undo", undoes="told").status == 409


@pytest.mark.parametrize("prefer", ["wait=20, return=minimal", 'Return = "minimal", wait=20'])
def test_late_turns_are_answered_without_texts(agent, person, prefer):
    run = agent.open_run()
    agent.post_turns(run, a_turn("ls"), a_turn("cat tests", agent="tester"))
    told = {"message": "Test it again.", "agent": "tester", "version": 0}
    assert person.tap(run, "inject", key="told", **told).status == 201

    late = {"turns": [a_turn("make"), a_turn("make test", agent="tester")]}
    path = f"/api/v1/runs/{run}/turns/"
    assert agent.ask("POST", path, late, Prefer=prefer).json["directive"]["messages"] == []

    assert person.tap(run, "undo", undoes="told").status == 201


def test_a_text_waits_while_the_run_is_paused_and_can_be_taken_back(agent, person):
    run = agent.open_run()
    agent.post_turns(run, a_turn("ls"))
    told = {"message": "Stop that.", "agent": "coder", "version": 0}
    assert person.tap(run, "inject", key="told", **told).status == 201
    assert person.tap(run, "pause").status == 201

    held = agent.post_turns(run, a_turn("make", phase="proposed")).json["directive"]
    assert (held["action"], held["messages"]) == ("hold", [])

    assert person.tap(run, "undo", undoes="told").status == 201
    assert agent.ask("GET", f"/api/v1/runs/{run}/directive/").json["messages"] == []


def test_a_poll_with_nothing_newer_answers_204(agent):
    run = agent.open_run()
    version = agent.ask("GET", f"/api/v1/runs/{run}/directive/").json["version"]

    started = time.monotonic()
    response = agent.poll(run, version, wait=1)

    assert response.status == 204
    assert time.monotonic() - started > 0.9


def test_a_terminated_run_is_answered_with_stop_for_ever(agent, person):
    run = agent.open_run()
    agent.get_stuck(run)

    person.tap(run, "terminate")
    stopped = agent.post_turns(run, a_turn("still here"))
    agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "failed"})

    assert stopped.json["directive"]["action"] == "stop"
    assert person.get(f"/api/v1/runs/{run}/")["status"] == "terminated"
    assert agent.post_turns(run, a_turn("again")).json["directive"]["action"] == "stop"


def test_completed_ends_the_run_and_closes_nothing_that_is_not_there(agent, person):
    run = agent.open_run()

    response = agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})

    assert response.json["status"] == "completed"
    assert response.json["ended_at"] is not None


def test_the_auto_mode_corrects_without_a_tap(agent, person):
    run = agent.open_run(mode="auto", workspace=["src/token.py", "README.md"])
    read = {"tool": "Read", "args": {"file_path": "src/tokens.py"}}
    for _ in range(2):
        agent.post_turns(run, a_turn(error="File does not exist: src/tokens.py", **read))
    reply = agent.post_turns(run, a_turn(phase="proposed", **read)).json["directive"]

    freed = agent.poll(run, reply["version"]).json if reply["action"] == "hold" else reply

    assert (freed["action"], freed["call"]) == ("proceed", "skip")
    assert "src/token.py" in freed["messages"][0]["text"]


@pytest.mark.parametrize("key", ["", "Bearer mc_wrong", "Basic abc", "Bearer mcu_wrong"])
def test_nothing_is_accepted_without_a_known_key(nobody, agent, key):
    run = agent.open_run()

    response = nobody.ask(
        "POST", f"/api/v1/runs/{run}/turns/", {"turns": [a_turn()]}, Authorization=key
    )

    assert response.status == 401
    assert response.json["code"] == "not_signed_in"


def test_an_unknown_run_is_a_404(agent):
    assert agent.post_turns(str(uuid4()), a_turn()).status == 404
    assert agent.poll(str(uuid4()), 0, wait=0).status == 404


def test_a_body_over_the_limit_is_refused(agent):
    response = agent.post_turns(agent.open_run(), a_turn(result="x" * 9_000_000))

    assert (response.status, response.json["code"]) == (413, "body_too_large")


def test_hostile_text_is_stored_and_served_as_it_is(agent, person):
    run = agent.open_run(name="<script>alert(1)</script>")
    agent.post_turns(run, a_turn("echo '<img src=x onerror=alert(1)>'", result="\u202e\u0000 fin"))

    (turn,) = person.get(f"/api/v1/runs/{run}/turns/")["results"]
    assert turn["result"] == "\u202e fin"
    assert "<img" in turn["args"]["command"]


def _eventually(look, seconds=60.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        seen = look()
        if seen:
            return seen
        time.sleep(0.05)
    raise AssertionError("it did not come true in time")


def test_a_host_that_is_not_ours_is_refused_on_every_path(agent):
    run = agent.open_run()

    thin = agent.ask("GET", f"/api/v1/runs/{run}/directive/", Host="evil.example")
    whole = agent.ask("GET", f"/api/v1/runs/{run}/", Host="evil.example")

    assert (thin.status, whole.status) == (400, 400)
    assert thin.json["code"] == whole.json["code"] == "invalid_request"


def test_an_unknown_address_is_a_problem_document(agent):
    response = agent.ask("GET", "/api/v1/nope/")

    assert (response.status, response.json["code"]) == (404, "not_found")


def test_a_caller_cannot_set_the_root_path(agent):
    below = {"Daphne-Root-Path": "/api/below"}

    asked = agent.ask("POST", "/api/below/api/v1/runs/", {"name": "uncounted"}, **below)

    assert asked.status == 404


def test_another_method_is_a_405(agent):
    response = agent.ask("GET", "/api/v1/hooks/claude-code/")

    assert (response.status, response.json["code"]) == (405, "method_not_allowed")
    assert response.headers["Allow"] == "POST"


def test_joining_a_run_reports_capabilities(agent):
    run = {"key": "run:1", "name": "night shift"}
    agent.ask(
        "POST", "/api/v1/runs/", run | {"capabilities": {"inject": [], "terminate": "signal"}}
    )

    joined = agent.ask("POST", "/api/v1/runs/", run | {"capabilities": {"inject": ["now"]}})
    looked = agent.ask("POST", "/api/v1/runs/", run)

    assert (joined.status, looked.status) == (200, 200)
    assert looked.json["capabilities"] == {"inject": ["now"], "terminate": "signal"}


def test_hooks_of_an_unknown_agent_are_a_404(agent):
    response = agent.ask("POST", "/api/v1/hooks/nobody/", {"hook_event_name": "Stop"})

    assert (response.status, response.json["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "prefer", ['wait="5"', "respond-async, wait=5", "wait = 5", "handling=lenient; wait=5"]
)
def test_prefer_is_parsed_as_in_its_rfc(agent, prefer):
    body = {"turns": [a_turn("ls")]}
    response = agent.ask("POST", f"/api/v1/runs/{agent.open_run()}/turns/", body, Prefer=prefer)

    assert response.headers["Preference-Applied"] == "wait=5"


@pytest.mark.parametrize("budget", [{"tokens": "1e300000"}, {"usd": "1e-400"}, {"calls": -1}])
def test_an_invalid_budget_is_refused_at_once(agent, budget):
    response = agent.ask("POST", "/api/v1/runs/", {"name": "x", "budget": budget})

    assert (response.status, response.json["code"]) == (400, "invalid_request")


def test_an_invalid_wait_counts_as_no_wait(agent):
    response = agent.ask("GET", f"/api/v1/runs/{agent.open_run()}/directive/?wait=nan&after=99")

    assert response.status == 204


def test_a_call_whose_name_no_database_holds_is_asked_about_without_what_it_lacks(agent):
    run = agent.open_run()
    agent.post_turns(run, a_turn() | {"key": "ca\0ll"})

    assert agent.ask("GET", f"/api/v1/runs/{run}/directive/?call=ca%00ll").status == 200


@pytest.mark.parametrize("path", ["/metrics", "/v1/nothing"])
def test_an_unknown_api_address_is_a_404_and_not_a_page(nobody, path):
    response = nobody.ask("GET", path)

    assert (response.status, response.json["code"]) == (404, "not_found")


def test_a_correction_answers_its_own_agents_call_and_lets_the_one_beside_it_run(agent, person):
    run = agent.open_run()
    agent.get_stuck(run)
    beside = a_turn("make", agent="writer", key=uuid4().hex, phase="proposed")
    assert agent.post_turns(run, beside).json["directive"]["action"] == "hold"
    card = person.card_of(run)

    fields = {"decision": card["id"], "version": card["version"], "message": "Read the log."}
    assert person.tap(run, "inject", **fields).status == 201

    calls = agent.ask("GET", f"/api/v1/runs/{run}/directive/?call={beside['key']}")
    assert (calls.json["action"], calls.json["call"]) == ("proceed", "run")
    turns = person.get(f"/api/v1/runs/{run}/turns/")["results"]
    assert [turn["skipped"] for turn in turns] == [False, False, True, False]
