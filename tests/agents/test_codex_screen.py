"""The unmodified Codex at its own screen: its session lives in Codex's daemon."""

import threading

import pytest

from tests.agents.person import Person
from tests.agents.responses_api import Reply
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents

NEWS = "The flag is called --dry-run."
MOST = 60


def works_on_and_on(conversation):
    """Do something new each time, which no rule stops, until somebody does."""
    done = len(conversation.commands())
    if done > MOST:
        return Reply(text="I give up.")
    return Reply(commands=(f"sleep 2; date > step-{done}",))


def says_it_is_done(conversation):
    return Reply(text="Thank you." if NEWS in conversation.last else "Done.")


def reads_the_missing_file(conversation):
    """Read it again and again, until corrected."""
    if NEWS in conversation.text or len(conversation.commands()) > MOST:
        return Reply(text="Thank you.")
    return Reply(commands=("cat setings.py",))


class Thinking:
    """A model that answers its first request when it is let; then it runs one command."""

    def __init__(self):
        self.goes_on = threading.Event()

    def __call__(self, conversation):
        assert self.goes_on.wait(PATIENCE_S)
        return Reply(text="Done.") if conversation.commands() else Reply(commands=("date",))


@pytest.fixture
def thinking():
    model = Thinking()
    yield model
    model.goes_on.set()


@pytest.fixture
def terminal_session(installation, responses, codex):
    """Sit at Codex's screen: its model, its person, the run's id and what the screen shows."""

    def sit(script):
        api = responses(script)
        client = codex(api)
        client.connect(installation.url, installation.agent_key)
        client.trust_hooks()
        person = Person(installation)
        before = person.get("runs/?agent=codex&limit=1")["results"]
        newest = max((run["id"] for run in before), default="")
        screen = client.sit_at("Do it.")

        def new():
            runs = person.get("runs/?agent=codex")["results"]
            return next((run["id"] for run in runs if run["id"] > newest), None)

        return api, person, wait_for(new), screen

    return sit


def test_terminate_interrupts_the_turn_and_blocks_the_session(terminal_session):
    api, person, run, screen = terminal_session(works_on_and_on)
    wait_for(lambda: len(api.conversations) >= 2)
    wait_for(lambda: person.run(run)["capabilities"]["terminate"] == "signal")
    assert "terminate" not in person.run(run)["unavailable"]

    person.act(run, "terminate")

    wait_for(lambda: person.run(run)["status"] == "terminated")
    wait_for(lambda: "Conversation interrupted" in screen.shown())
    assert len(api.conversations) < MOST


def test_a_text_is_steered_into_the_turn_under_way(terminal_session, thinking):
    """While the model thinks no hook is called: only `turn/steer` can bring the text."""
    api, person, run, screen = terminal_session(thinking)
    wait_for(lambda: api.conversations)
    wait_for(lambda: "now" in person.run(run)["capabilities"]["inject"])

    person.say(run, NEWS)
    wait_for(lambda: "message.delivered" in person.journal(run))
    assert len(api.conversations) == 1
    thinking.goes_on.set()

    wait_for(lambda: len(api.conversations) >= 2)
    assert api.conversations[0].user_texts().count(NEWS) == 0
    assert api.conversations[1].user_texts().count(NEWS) == 1
    wait_for(lambda: person.run(run)["presence"] == "idle")
    assert person.journal(run).count("message.delivered") == 1
    wait_for(lambda: NEWS in screen.shown())  # whoever sits at it sees what was said


def test_a_loop_is_held_and_its_correction_is_in_the_next_request(terminal_session):
    api, person, run, _ = terminal_session(reads_the_missing_file)
    card = person.open_card(run)
    asked = len(api.conversations)

    person.tap(card, "inject", message=NEWS)

    wait_for(lambda: len(api.conversations) > asked)
    assert NEWS in api.conversations[asked].last
    wait_for(lambda: person.run(run)["presence"] == "idle")
    calls = [turn for turn in person.turns(run) if turn["tool"]]
    assert [call["skipped"] for call in calls] == [False] * (asked - 1) + [True]


def test_none_of_its_processes_outlives_its_screen(responses, codex):
    client = codex(responses(says_it_is_done))
    client.sit_at("Do it.")
    wait_for(lambda: len(client.processes()) > 1)  # the screen, and what it left behind

    client.end()

    assert client.processes() == []


def test_a_text_wakes_a_session_at_rest(terminal_session):
    api, person, run, _ = terminal_session(says_it_is_done)
    wait_for(lambda: person.run(run)["presence"] == "idle" and api.conversations)
    asked = len(api.conversations)

    person.say(run, NEWS)

    wait_for(lambda: len(api.conversations) > asked)
    assert NEWS in api.conversations[asked].last


def test_an_ended_session_at_rest_is_ended_at_once(terminal_session):
    api, person, run, _ = terminal_session(says_it_is_done)
    wait_for(lambda: person.run(run)["presence"] == "idle" and api.conversations)

    person.act(run, "terminate")

    wait_for(lambda: person.run(run)["status"] == "terminated")
