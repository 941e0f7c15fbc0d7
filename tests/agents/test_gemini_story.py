"""The unmodified Gemini CLI under a real Mission Control.

Its model is a script that decides from the conversation it receives; everything
else is real: the client, its hooks, the forwarder, the server, the person's session.
"""

import signal
import threading
import uuid

import pytest

from guard.adapters.base import NOT_RUN
from guard.pricing import price
from tests.agents.messages_api import Reply
from tests.agents.person import Person
from tests.contract.conversation import the_person_of
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents

CORRECTION = "The file is settings.py; there is one t too few in what you read."
LOOP = (("read_file", {"file_path": "setings.py"}),)
MOST_REQUESTS = 30
"""A script that nobody stops ends by itself, so that a failing test does too."""


def reads_the_missing_file(conversation):
    """Read it again and again; when corrected, thank and then do it again."""
    if len(conversation.calls()) > MOST_REQUESTS:
        return Reply(text="I give up.")
    if CORRECTION in conversation.last:
        return Reply(text="Thanks.", calls=(("run_shell_command", {"command": "echo thanks"}),))
    return Reply(text="Let me look.", calls=LOOP)


def reads_it_whatever_is_said(conversation):
    """Read it again and again, correction or not: Gemini CLI itself gives up at the fifth."""
    if len(conversation.calls()) > MOST_REQUESTS:
        return Reply(text="I give up.")
    return Reply(text="Let me look.", calls=LOOP)


def reads_it_twice_at_once(conversation):
    """The third time in two calls: whichever comes first is held, and the other one with it."""
    if CORRECTION in conversation.text or len(conversation.calls()) > MOST_REQUESTS:
        return Reply(text="Thank you.")
    if len(conversation.calls()) < 2:
        return Reply(calls=LOOP)
    tool, args = LOOP[0]
    return Reply(calls=(*LOOP, (tool, {**args, "description": "To be sure."})))


def reads_one_file_after_another(conversation):
    """Never twice the same, whatever is said, and no end to it."""
    read = len(conversation.calls())
    if read > MOST_REQUESTS:
        return Reply(text="I give up.")
    return Reply(calls=(("read_file", {"file_path": f"part_{read}.py"}),))


def touches_a_file(conversation):
    if conversation.calls():
        return Reply(text="Done.")
    return Reply(calls=(("run_shell_command", {"command": "touch it-ran"}),))


def proposed_and_not_run(turn):
    return turn["phase"] == "proposed" and turn["result"] is None and turn["error"] is None


def run_of(person, client):
    """The id of the client's run, once its first hook has told of it."""
    key = f"gemini:{wait_for(client.session)}"
    return wait_for(lambda: person.run_of(key))["id"]


class Looping:
    """A connected Gemini CLI that has just been held in its loop."""

    def __init__(self, server, api, client, *connecting):
        self.api, self.client, self.person = api, client, Person(server)
        client.connect(server.url, server.agent_key, *connecting)
        self.process = client.start("Which settings are there?")
        self.run = run_of(self.person, client)
        self.card = self.person.open_card(self.run)

    def both_held(self):
        """Both calls that were made at once wait for the person."""
        return sum(map(proposed_and_not_run, self.person.turns(self.run))) == 2


@pytest.fixture
def looping(gemini_model, gemini):
    def start(server, script, *connecting):
        api = gemini_model(script)
        client = gemini(api, files={"settings.py": "A = 1\n", "app/main.py": ""})
        return Looping(server, api, client, *connecting)

    return start


def test_a_loop_is_held_corrected_held_again_and_ended(installation, looping, person):
    story = looping(installation, reads_the_missing_file)

    assert story.process.poll() is None
    assert person.run(story.run)["status"] == "held"
    *ran, third = [turn for turn in person.turns(story.run) if turn["tool"] == "read_file"]
    assert [turn["phase"] for turn in ran] == ["done", "done"]
    assert all("File not found" in turn["error"] for turn in ran)
    assert proposed_and_not_run(third)
    assert len(story.api.conversations) == 3

    person.tap(story.card, "inject", message=CORRECTION)
    wait_for(lambda: len(story.api.conversations) > 3)
    assert CORRECTION in story.api.conversations[3].last
    assert not any(CORRECTION in c.text for c in story.api.conversations[:3])

    second = person.open_card(story.run)
    assert second["id"] != story.card["id"]
    asked_so_far = len(story.api.conversations)
    person.tap(second, "terminate")

    assert story.process.wait(PATIENCE_S) is not None
    assert len(story.api.conversations) == asked_so_far == 5
    wait_for(lambda: person.run(story.run)["status"] == "terminated")


def test_a_correction_that_is_ignored_is_enforced_at_the_fourth_call(installation, looping, person):
    story = looping(installation, reads_it_whatever_is_said)
    assert len(story.api.conversations) == 3

    person.tap(story.card, "inject", message=CORRECTION)
    second = wait_for(
        lambda: (card := person.open_card(story.run))["id"] != story.card["id"] and card
    )

    assert story.process.poll() is None
    assert person.run(story.run)["status"] == "held"
    *before, fourth = [turn for turn in person.turns(story.run) if turn["tool"] == "read_file"]
    assert [(turn["phase"], turn["skipped"]) for turn in before] == [
        ("done", False),
        ("done", False),
        ("proposed", True),
    ]
    assert proposed_and_not_run(fourth)
    assert second["evidence"]["summary"] == "It was corrected and is about to do the same again."
    assert len(story.api.conversations) == 4

    person.tap(second, "terminate")
    assert story.process.wait(PATIENCE_S) is not None
    assert len(story.api.conversations) == 4
    wait_for(lambda: person.run(story.run)["status"] == "terminated")


def test_an_agent_that_is_asked_to_finish_is_ended_after_its_last_turns(own_installation, looping):
    budget = {"budget": {"calls": 2}}
    the_person_of(own_installation).ask(
        "PATCH", f"/api/v1/projects/{own_installation.project}/", budget
    )
    story = looping(own_installation, reads_one_file_after_another)
    person = story.person
    assert story.card["kind"] == "budget"
    asked_so_far = len(story.api.conversations)

    person.tap(story.card, "finish")

    assert story.process.wait(PATIENCE_S) is not None
    wait_for(lambda: person.run(story.run)["status"] == "terminated")
    ran = [turn for turn in person.turns(story.run) if turn["tool"] and not turn["skipped"]]
    assert len(story.api.conversations) == asked_so_far + 3
    assert [turn["phase"] for turn in ran] == ["done"] * 4 + ["proposed"]


def test_its_cost_is_what_the_endpoint_counted(installation, looping, person):
    story = looping(installation, reads_the_missing_file)
    person.tap(story.card, "inject", message=CORRECTION)
    person.tap(person.open_card(story.run), "terminate")
    story.process.wait(PATIENCE_S)

    run = wait_for(lambda: (run := person.run(story.run))["status"] == "terminated" and run)
    used = story.api.total()
    calls = [price(call, model="gemini-2.5-flash", provider="google") for call in story.api.calls()]
    assert run["usage"] == {
        "input": used.input,
        "cache_read": used.cache_read,
        "cache_write_5m": 0,
        "cache_write_1h": 0,
        "output": used.output,
        "reasoning": used.reasoning,
    }
    assert f"{sum(calls):.6f}" == f"{float(run['cost_usd']):.6f}"
    assert (len(calls), run["unpriced_calls"]) == (5, 0)


def test_the_judge_knows_the_existing_files(installation, looping, person):
    story = looping(installation, reads_the_missing_file)

    assert story.card["verdict"]["loop"] is True
    assert "settings.py" in story.card["verdict"]["fix"]
    person.tap(story.card, "terminate")


def test_one_tap_releases_two_held_calls_and_its_text_is_given_once(installation, looping, person):
    story = looping(installation, reads_it_twice_at_once)

    wait_for(story.both_held)
    person.tap(story.card, "inject", message=CORRECTION)
    story.process.wait(PATIENCE_S)

    answered = story.api.conversations[-1].last
    assert answered.count(CORRECTION) == 1
    assert answered.count(NOT_RUN) == 1
    assert story.process.returncode == 0


def test_a_released_call_runs(installation, looping, person):
    story = looping(installation, reads_the_missing_file)

    person.tap(story.card, "continue")
    wait_for(lambda: len(story.api.conversations) > 3)

    third = [turn for turn in person.turns(story.run) if turn["tool"] == "read_file"][2]
    assert third["phase"] == "done"
    assert "File not found" in third["error"]


def test_a_second_tap_has_no_second_effect(installation, looping, person):
    story = looping(installation, reads_it_twice_at_once)
    fields = {"message": CORRECTION, "key": uuid.uuid4().hex}

    wait_for(story.both_held)  # a call that comes after the tap is one of its own
    first = person.tap(story.card, "inject", **fields)
    again = person.tap(story.card, "inject", **fields)
    story.process.wait(PATIENCE_S)

    assert again["id"] == first["id"]
    assert story.api.conversations[-1].text.count(CORRECTION) == 1


def test_a_tap_for_an_agent_that_was_killed_finds_nobody_waiting(installation, looping, person):
    story = looping(installation, reads_the_missing_file)

    story.process.kill()
    wait_for(lambda: "hold.abandoned" in person.journal(story.run))
    card = person.card(story.card["id"])
    person.tap(card, "terminate")

    assert card["agent_waiting"] is False
    assert person.run(story.run)["status"] in {"stopping", "terminated"}
    assert len(story.api.conversations) == 3


def test_a_message_reaches_the_model_with_a_tools_own_error(
    installation, gemini_model, gemini, person
):
    thinking, may_go_on = threading.Event(), threading.Event()

    def reads_once(conversation):
        thinking.set()
        assert may_go_on.wait(PATIENCE_S)
        return Reply(text="Done.") if conversation.calls() else Reply(calls=LOOP)

    api = gemini_model(reads_once)
    client = gemini(api)
    client.connect(installation.url, installation.agent_key)
    process = client.start("Which settings are there?")
    assert thinking.wait(PATIENCE_S)
    run = run_of(person, client)
    person.say(run, CORRECTION)
    may_go_on.set()

    assert process.wait(PATIENCE_S) == 0
    assert api.conversations[1].last.count(CORRECTION) == 1
    assert "File not found" in api.conversations[1].last


def test_doctor_and_disconnect_work_against_the_real_server(installation, gemini_model, gemini):
    client = gemini(gemini_model(touches_a_file))
    client.connect(installation.url, installation.agent_key)

    examined = client.guard("doctor", "gemini", "--project-dir", ".")
    assert examined.returncode == 0, examined.stdout
    assert "NO" not in examined.stdout

    assert client.guard("disconnect", "gemini", "--project-dir", ".").returncode == 0
    assert client.guard("doctor", "gemini", "--project-dir", ".").returncode == 1


@pytest.mark.parametrize(("fail", "ran"), [("open", True), ("closed", False)])
def test_without_its_server_tools_run_or_are_blocked_as_agreed(
    own_installation, gemini_model, gemini, fail, ran
):
    client = gemini(gemini_model(touches_a_file))
    client.connect(own_installation.url, own_installation.agent_key, "--fail", fail)
    own_installation.stop(by=signal.SIGKILL)

    process = client.start("Touch it.")

    assert process.wait(PATIENCE_S) is not None
    assert (client.project / "it-ran").exists() is ran


def test_a_hold_survives_a_restart_of_the_server(own_installation, looping):
    story = looping(own_installation, reads_the_missing_file)

    own_installation.restart()
    person = Person(own_installation)
    card = person.open_card(story.run)

    assert story.process.poll() is None
    assert len(story.api.conversations) == 3
    person.tap(card, "inject", message=CORRECTION)
    wait_for(lambda: len(story.api.conversations) > 3)
    assert CORRECTION in story.api.conversations[3].last
    person.tap(person.open_card(story.run), "terminate")
