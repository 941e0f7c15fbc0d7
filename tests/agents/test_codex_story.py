"""The unmodified Codex CLI under a real Mission Control.

Its model is a script that decides from the conversation it receives; everything
else is real: the client, its hooks, the forwarder, the server, its worker.
"""

import json
import signal
from decimal import Decimal

import pytest

from tests.agents.person import Person
from tests.agents.responses_api import Reply
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents

CORRECTION = "The file is settings.py; there is one t too few in what you read."
READ = "cat setings.py"
ONE_CALL = Decimal("0.00117")
"""By hand, at $1.25, $0.125 and $10 a million: 500 new, 1000 cached, 42 out."""
MOST_REQUESTS = 30
"""A script that nobody stops ends by itself, so that a failing test does too."""


def reads_the_missing_file(conversation):
    """Read it again and again, until corrected."""
    if CORRECTION in conversation.text or len(conversation.commands()) > MOST_REQUESTS:
        return Reply(text="Thank you.")
    return Reply(commands=(READ,))


def touches_a_file(conversation):
    if conversation.commands():
        return Reply(text="Done.")
    return Reply(commands=("touch it-ran",))


def thread_of(client):
    """The session's id, once the client has told it."""
    for line in client.output().splitlines():
        if line.startswith('{"type":"thread.started"'):
            return json.loads(line)["thread_id"]
    return None


class Looping:
    """A connected Codex that has just been held in its loop."""

    run_with: tuple[str, ...] = ()

    def __init__(self, server, api, client, *connecting):
        self.api, self.client = api, client
        client.connect(server.url, server.agent_key, *connecting)
        self.process = client.start("Which settings are there?", run=self.run_with)
        self.person = Person(server)
        key = f"codex:{wait_for(lambda: thread_of(client))}"
        self.run = wait_for(lambda: self.person.run_of(key))["id"]
        self.card = self.person.open_card(self.run)

    def calls(self):
        return [turn for turn in self.person.turns(self.run) if turn["tool"] == "Bash"]


@pytest.fixture
def looping(responses, codex):
    def start(server, script, *connecting):
        api = responses(script)
        return Looping(server, api, codex(api), *connecting)

    return start


def test_the_third_identical_call_is_held_and_its_correction_read(installation, looping, person):
    story = looping(installation, reads_the_missing_file)

    assert story.process.poll() is None
    assert person.run(story.run)["status"] == "held"
    *ran, third = story.calls()
    assert ["No such file" in turn["error"] for turn in ran] == [True, True]
    assert (third["phase"], third["error"], third["result"]) == ("proposed", None, None)
    assert len(story.api.conversations) == 3

    person.tap(story.card, "inject", message=CORRECTION)
    assert story.process.wait(PATIENCE_S) == 0

    assert CORRECTION in story.api.conversations[3].last
    assert not any(CORRECTION in c.text for c in story.api.conversations[:3])
    assert len(story.api.conversations) == 4


def test_a_held_session_is_ended_by_a_signal_from_its_hook(installation, looping, person):
    story = looping(installation, reads_the_missing_file)
    assert person.run(story.run)["capabilities"]["terminate"] == "signal"

    person.tap(story.card, "terminate")

    assert story.process.wait(PATIENCE_S) == -signal.SIGTERM
    assert len(story.api.conversations) == 3
    wait_for(lambda: person.run(story.run)["status"] == "terminated")


def test_it_keeps_waiting_across_a_restart_of_the_server(own_installation, looping):
    story = looping(own_installation, reads_the_missing_file)
    own_installation.restart()

    person = Person(own_installation)
    card = person.open_card(story.run)
    assert story.process.poll() is None
    assert len(story.api.conversations) == 3

    person.tap(card, "inject", message=CORRECTION)
    assert story.process.wait(PATIENCE_S) == 0
    assert CORRECTION in story.api.conversations[3].last


@pytest.mark.parametrize(("fail", "ran"), [("open", True), ("closed", False)])
def test_without_its_server_tools_run_or_are_blocked_as_agreed(
    own_installation, responses, codex, fail, ran
):
    client = codex(responses(touches_a_file))
    client.connect(own_installation.url, own_installation.agent_key, "--fail", fail)
    own_installation.stop(by=signal.SIGKILL)

    process = client.start("Touch it.")

    assert process.wait(PATIENCE_S) == 0
    assert (client.project / "it-ran").exists() is ran


def test_its_cost_is_what_the_endpoint_counted(installation, looping, person):
    story = looping(installation, reads_the_missing_file)
    person.tap(story.card, "inject", message=CORRECTION)
    assert story.process.wait(PATIENCE_S) == 0

    asked = len(story.api.conversations)
    counted = wait_for(
        lambda: (run := person.run(story.run))["usage"]["output"] == 42 * asked and run
    )
    assert asked == 4
    assert counted["usage"] == {
        "input": 500 * 4,
        "cache_read": 1000 * 4,
        "cache_write_5m": 0,
        "cache_write_1h": 0,
        "output": 42 * 4,
        "reasoning": 10 * 4,
    }
    assert Decimal(counted["cost_usd"]) == ONE_CALL * 4


def test_the_doctor_says_what_is_left_to_the_person(installation, responses, codex):
    client = codex(responses(touches_a_file))
    client.connect(installation.url, installation.agent_key)

    unread = client.guard("doctor", "codex")
    assert unread.returncode == 1
    assert "ok  forwarder" in unread.stdout
    assert "NO  review     Codex runs none of them yet" in unread.stdout

    client.trust_hooks()
    trusted = client.guard("doctor", "codex")
    assert trusted.returncode == 0, trusted.stdout
    assert "NO" not in trusted.stdout


def test_disconnecting_leaves_no_hook(installation, responses, codex):
    client = codex(responses(touches_a_file))
    client.connect(installation.url, installation.agent_key)

    assert client.guard("disconnect", "codex").returncode == 0

    assert not (client.codex_home / "hooks.json").exists()
    assert client.guard("doctor", "codex").returncode == 1
