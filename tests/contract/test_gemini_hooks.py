"""Gemini CLI's hook address on a real server: calls without ids, and what they cost."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import MappingProxyType
from uuid import uuid4

import pytest

from guard.pricing import price
from guard.turn import Usage
from tests.installations import wait_for

MODEL = "gemini-2.5-flash"
CORRECTION = "The file is settings.py."


class Session:
    """A Gemini CLI as the server sees it: bodies in, answers out."""

    def __init__(self, agent, person):
        self.agent, self.person = agent, person
        self.id, self._clock = str(uuid4()), count(1)

    def hook(self, event, headers=MappingProxyType({}), **fields):
        stamp = f"2026-11-22T06:00:00.{next(self._clock):06}Z"
        body = {"session_id": self.id, "cwd": "/tidepool", "timestamp": stamp} | fields
        response = self.agent.ask(
            "POST", "/api/v1/hooks/gemini/", body | {"hook_event_name": event}, **headers
        )
        assert response.status == 200, response.json
        return response.json

    def before(self, path="setings.py", **fields):
        call = {"tool_name": "read_file", "tool_input": {"file_path": path}}
        return self.hook("BeforeTool", **call, **fields)

    def after(self, path="setings.py", text="", error="File not found", **fields):
        call = {"tool_name": "read_file", "tool_input": {"file_path": path}}
        response = {"llmContent": text} | ({"error": {"message": error}} if error else {})
        return self.hook("AfterTool", **call, tool_response=response, **fields)

    def run(self):
        rows = self.person.get("/api/v1/runs/?limit=500")["results"]
        return next(row for row in rows if row["key"] == f"gemini:{self.id}")

    def turns(self):
        return self.person.get(f"/api/v1/runs/{self.run()['id']}/turns/?limit=500")["results"]

    def loop(self):
        """Fail twice, as an agent does that is about to be held."""
        for _ in range(2):
            assert self.before() == {}
            self.after()

    def card(self):
        mine = self.run()["id"]

        def waiting():
            rows = self.person.get("/api/v1/decisions/?status=open&limit=500")["results"]
            ours = (row for row in rows if row["run"] == mine)
            return next((r for r in ours if r["agent_waiting"] and r["status"] == "open"), None)

        return wait_for(waiting)

    def tap(self, action, **fields):
        card = self.card()
        body = {"decision": card["id"], "version": card["version"]} | fields
        response = self.person.tap(self.run()["id"], action, **body)
        assert response.status == 201, response.json


@pytest.fixture
def session(agent, person):
    return Session(agent, person)


def test_an_outcome_completes_the_call_it_belongs_to(session):
    for path in ("a.py", "b.py"):
        session.before(path)
    session.after("a.py", "A = 1", error=None)
    session.after("b.py")

    one, two = session.turns()

    assert (one["phase"], one["result"], one["error"]) == ("done", "A = 1", None)
    assert (two["phase"], two["result"], two["error"]) == ("done", None, "File not found")


def test_outcomes_of_equal_calls_at_once_are_each_kept(session):
    for _ in range(2):
        session.before("a.py")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda text: session.after("a.py", text, error=None), ["one", "two"]))

    turns = session.turns()

    assert [turn["phase"] for turn in turns] == ["done", "done"]
    assert {turn["result"] for turn in turns} == {"one", "two"}


def test_an_outcome_that_the_forwarder_sends_again_is_no_second_attempt(session):
    again = {"X-MissionControl-Repeat": "1"}
    for _ in range(2):
        assert session.before("a.py") == {}
        session.after("a.py")
        session.after("a.py", headers=again)

    assert [turn["phase"] for turn in session.turns()] == ["done", "done"]


def test_a_call_that_never_ended_takes_no_later_ones_result(session):
    session.before("a.py")
    session.before("a.py")
    session.after("a.py", "second", error=None)

    first, second = session.turns()

    assert (first["phase"], second["phase"], second["result"]) == ("proposed", "done", "second")


def test_an_outcome_without_a_proposal_is_a_turn(session):
    session.after("a.py", "A = 1", error=None)

    (turn,) = session.turns()

    assert (turn["phase"], turn["result"]) == ("done", "A = 1")


def test_the_third_equal_call_is_held_and_answered_with_the_correction(session):
    session.loop()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(session.before)
        session.tap("inject", message=CORRECTION)

    assert held.result() == {"decision": "deny", "reason": CORRECTION}
    assert session.before("settings.py") == {}
    assert "hookSpecificOutput" not in session.after("settings.py", "A = 1", error=None)


def test_a_correction_lost_on_its_way_is_given_to_the_hook_that_asks_again(session):
    """The connection broke during the hold: the answer left, and nobody read it."""
    session.loop()
    with ThreadPoolExecutor(2) as pool:
        lost = pool.submit(session.before, timestamp="once")
        session.card()
        alive = pool.submit(session.before, timestamp="once")
        session.tap("inject", message=CORRECTION)

    corrected = {"decision": "deny", "reason": CORRECTION}
    assert corrected in (lost.result(), alive.result())
    assert session.before(timestamp="once") == corrected
    assert session.before("settings.py") == {}


def test_a_person_ends_a_held_session(session):
    session.loop()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(session.before)
        session.tap("terminate")

    assert held.result()["continue"] is False
    assert session.hook("AfterModel")["continue"] is False
    assert session.hook("SessionEnd", reason="exit") == {}
    assert session.run()["status"] == "terminated"


USED = {"promptTokenCount": 1500, "candidatesTokenCount": 42, "totalTokenCount": 1552}


def an_answer(usage=USED):
    response = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage}
    return {"llm_request": {"model": MODEL}, "llm_response": response}


def cost_of(*usages):
    return sum(price(usage, model=MODEL, provider="google") for usage in usages)


def test_what_its_hooks_say_of_each_model_call_is_counted_once(session):
    answer = an_answer(USED | {"cachedContentTokenCount": 1000, "thoughtsTokenCount": 10})
    for _ in range(2):
        session.hook("AfterModel", **answer, timestamp="2026-11-22T06:00:00Z")
    session.hook("AfterModel", **answer)

    run, used = session.run(), Usage(input=500, cache_read=1000, output=52, reasoning=10)

    assert run["usage"]["cache_read"] == 2000
    assert run["usage"]["input"] == 1000
    assert (run["usage"]["output"], run["usage"]["reasoning"]) == (104, 20)
    assert float(run["cost_usd"]) == float(cost_of(used, used))


def test_the_transcripts_count_replaces_the_hooks_own_and_never_adds(session):
    session.hook("AfterModel", **an_answer())
    tokens = {"input": 1500, "output": 42, "cached": 1000, "thoughts": 10, "tool": 0}
    calls = [{"id": f"m-{n}", "model": MODEL, "tokens": tokens} for n in (1, 2)]
    session.before("a.py", guard={"model_calls": calls[:1]})
    session.after("a.py", guard={"model_calls": calls[:1]})
    session.before("b.py", guard={"model_calls": calls})
    session.hook("AfterModel", **an_answer())

    run, used = session.run(), Usage(input=500, cache_read=1000, output=52, reasoning=10)

    assert (run["usage"]["input"], run["usage"]["cache_read"]) == (1000, 2000)
    assert float(run["cost_usd"]) == float(cost_of(used, used))
    assert run["unpriced_calls"] == 0


@pytest.mark.parametrize("odd", [{"model_calls": "x"}, {"model_calls": [{"id": 3}, 4]}, [], "x"])
def test_what_a_forwarder_adds_may_be_odd(session, odd):
    session.before("a.py", guard=odd)

    assert set(session.run()["usage"].values()) == {0}
