"""The Claude Agent SDK with a real Claude Code, under a real Mission Control."""

from decimal import Decimal

import pytest

from tests.agents.claude_code import binary
from tests.agents.frameworks.play import GREET
from tests.agents.messages_api import Reply
from tests.installations import wait_for

pytestmark = pytest.mark.agents

CORRECTION = "The file is settings.py; there is one t too few in what you read."
MOST_CALLS = 30
"""A script that nobody stops ends by itself, so that a failing test does too."""

CALL_USD = Decimal("0.008055")
"""By hand: 1,200 x $3 + 300 x $3.75 + 9,000 x $0.30 + 42 x $15, each per million."""


def reads_the_missing_file(conversation):
    """Read it again and again; when corrected, thank and then do it again."""
    if GREET in conversation.text:
        return Reply(text="Hello.")
    if len(conversation.calls()) > MOST_CALLS:
        return Reply(text="I give up.")
    if CORRECTION in conversation.last:
        return Reply(calls=(("Bash", {"command": "echo thanks"}),))
    return Reply(calls=(("Read", {"file_path": "setings.py"}),))


@pytest.fixture
def story(play, model):
    """Start the small agent over a scripted Messages API."""
    if (client := binary()) is None:
        pytest.skip("Claude Code is not installed: run .ci/install-agents")
    api = model(reads_the_missing_file)
    env = {
        "CLAUDE": str(client),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return play("claude-agent-sdk", "claude_sdk_agent", **env), api


def of_the_loop(api):
    """The requests of the agent that loops."""
    return [one for one in api.conversations if GREET not in one.text]


def test_a_loop_is_held_corrected_held_again_and_ended(story, person):
    program, api = story
    first = program.card(person)
    run = first["run"]

    assert person.run(run)["status"] == "held"
    *done, third = [turn for turn in person.turns(run) if turn["tool"] == "Read"]
    assert [turn["phase"] for turn in done] == ["done", "done"]
    assert all("does not exist" in turn["error"] for turn in done)
    assert (third["phase"], third["error"]) == ("proposed", None)
    assert len(of_the_loop(api)) == 3

    person.tap(first, "inject", message=CORRECTION)
    wait_for(lambda: len(of_the_loop(api)) > 3)
    assert CORRECTION in of_the_loop(api)[3].last
    assert not any(CORRECTION in one.text for one in of_the_loop(api)[:3])

    person.tap(program.card(person), "terminate")
    assert "ended" in str(program.account()["ended"])
    assert len(of_the_loop(api)) == 5
    wait_for(lambda: person.run(run)["status"] == "terminated")
    charged(person.run(run), calls=5)

    greeted = person.run(program.run(person, "greet"))
    assert greeted["status"] == "completed"
    charged(greeted, calls=2)


def charged(run, *, calls):
    """Compare a run's cost with what the endpoint charged for so many calls."""
    assert Decimal(run["cost_usd"]) == calls * CALL_USD
    assert run["usage"]["input"] == calls * 1200
    assert run["usage"]["cache_read"] == calls * 9000
    assert run["usage"]["cache_write_5m"] == calls * 300
    assert run["usage"]["output"] == calls * 42
