"""Agents built with other people's frameworks, under a real Mission Control.

Each runs in its framework's own environment, against a scripted model; it is held,
corrected, held again and ended, and its cost is what the endpoint charged.
"""

import threading
from decimal import Decimal

import pytest

from guard.sdk.conversation import ANSWERED_ELSEWHERE
from tests.agents.chat_api import CACHED, CALL_USD, PROMPT, SAID, ScriptedChatApi
from tests.agents.frameworks.play import GREET
from tests.agents.messages_api import Reply
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents

CORRECTION = "The file is settings.py; there is one t too few in what you read."
HAND_OFF = "transfer_to_reader"
MOST_CALLS = 30
"""A script that nobody stops ends by itself, so that a failing test does too."""


def reads_the_missing_file(request):
    """Read it again and again; when corrected, list the folder and then do it again."""
    if GREET in request.text:
        return Reply(text="Hello.")
    if HAND_OFF in request.tools:
        return Reply(calls=((HAND_OFF, {}),))
    if request.calls > MOST_CALLS:
        return Reply(text="I give up.")
    if CORRECTION in request.last:
        return Reply(calls=(("list_files", {"folder": "."}),))
    return Reply(calls=(("read_file", {"path": "setings.py"}),))


class ReadsTwoFilesAtOnce:
    """List the folder, wait until the test says so, then read two files in one breath."""

    def __init__(self):
        self.paused = threading.Event()

    def __call__(self, request):
        if GREET in request.text or CORRECTION in request.text:
            return Reply(text="Thank you.")
        if HAND_OFF in request.tools:
            return Reply(calls=((HAND_OFF, {}),))
        if "settings.py" not in request.text:
            return Reply(calls=(("list_files", {"folder": "."}),))
        self.paused.wait(PATIENCE_S)
        return Reply(calls=tuple(("read_file", {"path": path}) for path in ("a.py", "b.py")))


@pytest.fixture
def api():
    with ScriptedChatApi(reads_the_missing_file) as serving:
        yield serving


@pytest.fixture
def play_agent(play, api):
    """Start one of `AGENTS` over the scripted model."""

    def start(agent):
        openai = {"OPENAI_BASE_URL": api.url, "OPENAI_API_KEY": "dummy"}
        return play(*AGENTS[agent], **openai)

    return start


def of_the_loop(api):
    """The requests of the agent that loops."""
    requests = (request for request in api.requests if GREET not in request.text)
    return [request for request in requests if HAND_OFF not in request.tools]


AGENTS = {
    "langgraph": ("langgraph", "langgraph_agent"),
    "langgraph-async": ("langgraph", "langgraph_agent", "async"),
    "openai-agents": ("openai-agents", "openai_agents_agent"),
    "openai-agents-chat": ("openai-agents", "openai_agents_agent", "chat"),
    "litellm": ("litellm", "litellm_agent"),
    "crewai": ("crewai", "crewai_agent"),
}
PARALLEL = ("langgraph", "langgraph-async", "openai-agents", "crewai", "litellm")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_loop_is_held_corrected_held_again_and_ended(play_agent, api, person, agent):
    program = play_agent(agent)
    first = program.card(person)
    run = first["run"]

    assert program.process.poll() is None
    assert person.run(run)["status"] == "held"
    *done, third = [turn for turn in person.turns(run) if turn["tool"] == "read_file"]
    assert [turn["phase"] for turn in done] == ["done", "done"]
    assert (third["phase"], third["result"]) == ("proposed", None)
    assert len(of_the_loop(api)) == 3

    person.tap(first, "inject", message=CORRECTION)
    wait_for(lambda: len(of_the_loop(api)) > 3)
    assert CORRECTION in of_the_loop(api)[3].last
    assert not any(CORRECTION in request.text for request in of_the_loop(api)[:3])

    person.tap(program.card(person), "terminate")
    account = program.account()
    assert account["ran"] == [*["setings.py"] * 2, "."]
    assert "ended" in str(account["ended"])
    assert len(of_the_loop(api)) == 5
    wait_for(lambda: person.run(run)["status"] == "terminated")
    handed_over = [turn for turn in person.turns(run) if turn["tool"] == HAND_OFF]
    charged(person.run(run), calls=5 + len(handed_over))

    greeted = person.run(program.run(person, "greet"))
    assert greeted["status"] == "completed"
    charged(greeted, calls=1)


@pytest.mark.parametrize("agent", PARALLEL)
def test_two_calls_held_by_a_pause_are_answered_by_one_tap(play_agent, api, person, agent):
    api.script = ReadsTwoFilesAtOnce()
    program = play_agent(agent)
    run = program.opened(person, "loop")

    def phases(tool):
        return [turn["phase"] for turn in person.turns(run) if turn["tool"] == tool]

    wait_for(lambda: phases("list_files") == ["done"])
    person.act(run, "pause")
    api.script.paused.set()
    wait_for(lambda: phases("read_file") == ["proposed"] * 2)
    person.act(run, "inject", message=CORRECTION)

    assert program.account()["ran"] == ["."]
    prompt = of_the_loop(api)[2].last
    assert prompt.count(CORRECTION) == 1
    assert prompt.count(ANSWERED_ELSEWHERE) == 1
    wait_for(lambda: person.run(run)["status"] == "completed")


def charged(run, *, calls):
    """Compare a run's cost with what the endpoint charged for so many calls."""
    assert Decimal(run["cost_usd"]) == calls * CALL_USD
    assert run["usage"]["input"] == calls * (PROMPT - CACHED)
    assert run["usage"]["cache_read"] == calls * CACHED
    assert run["usage"]["output"] == calls * SAID
    assert run["unpriced_calls"] == 0


def test_a_hand_off_is_a_turn_of_the_agent_that_hands_over(play_agent, person):
    program = play_agent("openai-agents")
    run = program.card(person)["run"]

    turns = [(turn["agent"], turn["tool"]) for turn in person.turns(run) if turn["tool"]]
    assert turns == [("desk", HAND_OFF), *[("reader", "read_file")] * 3]


def test_litellm_reports_its_own_cost_and_refuses_requests_after_the_end(play_agent, person):
    program = play_agent("litellm")
    card = program.card(person)
    person.tap(card, "terminate")

    assert program.account()["refused"] is True
    rows = person.get(f"audit/?run={card['run']}&limit=500")["results"]
    paid = [row for row in rows if row["type"] == "cost.attributed"]
    assert len(paid) == 3
    assert {row["payload"]["priced_by"] for row in paid} == {"agent"}
