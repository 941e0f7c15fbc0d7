"""What the unmodified Claude Code used, told by its log or its transcript, counted once."""

import uuid
from decimal import Decimal

import pytest

from tests.agents.messages_api import USAGE, Reply
from tests.agents.person import Person
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents

A_CALL = Decimal("0.008055")
"""By hand: 1200 x 3.00 + 300 x 3.75 + 9000 x 0.30 + 42 x 15.00 dollars a million."""
STEPS = (
    (("Bash", {"command": "echo one"}),),
    (("Bash", {"command": "cat nowhere"}), ("Read", {"file_path": "settings.py"})),
    (("Agent", {"description": "look", "prompt": "look around", "subagent_type": "Explore"}),),
)
LOG = {
    "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
    "OTEL_LOGS_EXPORTER": "otlp",
    "OTEL_TRACES_EXPORTER": "otlp",
    "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
    "OTEL_METRICS_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
}


def works(conversation):
    """Run a command, then two at once, then a subagent; then be done."""
    if "look around" in str(conversation.body["messages"][0]):
        return Reply(text="I looked.")
    done = sum(message["role"] == "assistant" for message in conversation.body["messages"])
    return Reply(calls=STEPS[done]) if done < len(STEPS) else Reply(text="All done.")


class Worked:
    """A session that has ended, and the run it was."""

    def __init__(self, server, api, client, **env):
        self.session = str(uuid.uuid4())
        client.env.update(env)
        process = client.start("Do it.", session=self.session)
        assert process.wait(PATIENCE_S) == 0, client.output()
        self.person, key = Person(server), f"claude-code:{self.session}"
        self.calls = len(api.conversations)
        self.run = wait_for(lambda: self.person.run_of(key))["id"]

    def counted(self, source):
        """The run, once every model call was counted from this source."""

        def whole():
            run = self.person.run(self.run)
            counted = run["usage"]["output"] == self.calls * USAGE["output_tokens"]
            return run if counted and run["usage_source"] == source else None

        return wait_for(whole)


@pytest.fixture
def ready(model, claude):
    api = model(works)
    return api, claude(api, files={"settings.py": "A = 1\n"})


def the_tools_of(worked):
    turns = worked.person.turns(worked.run)
    return sorted((turn["tool"], turn["phase"]) for turn in turns if turn["tool"])


EACH_IS_DONE = [("Agent", "done"), ("Bash", "done"), ("Bash", "done"), ("Read", "done")]


def test_connected_for_a_person_it_costs_what_its_log_says(installation, ready):
    api, client = ready
    args = ("--url", installation.url, "--key", installation.agent_key)
    assert client.guard("connect", "claude-code", *args).returncode == 0

    worked = Worked(installation, api, client)

    run = worked.counted("logs")
    assert worked.calls >= len(STEPS) + 2
    assert Decimal(run["cost_usd"]) == worked.calls * A_CALL
    assert run["usage"]["cache_write_5m"] == worked.calls * 300
    assert run["unpriced_calls"] == 0


def test_connected_for_a_project_it_costs_what_its_transcript_says(installation, ready):
    api, client = ready
    client.connect(installation.url, installation.agent_key)

    worked = Worked(installation, api, client)

    assert Decimal(worked.counted("transcript")["cost_usd"]) == worked.calls * A_CALL


def test_a_fork_pays_for_its_own_calls_alone(installation, ready):
    api, client = ready
    client.connect(installation.url, installation.agent_key)
    worked = Worked(installation, api, client)
    worked.counted("transcript")
    fork = ("--resume", worked.session, "--fork-session")
    session = str(uuid.uuid4())

    assert client.start("And again.", session=session, more=fork).wait(PATIENCE_S) == 0, (
        client.output()
    )

    own = len(api.conversations) - worked.calls
    expected = own * USAGE["output_tokens"]
    key = f"claude-code:{session}"
    wait_for(lambda: (run := worked.person.run_of(key)) and run["usage"]["output"] == expected)
    assert worked.person.run(worked.run)["usage"]["output"] == worked.calls * USAGE["output_tokens"]


def test_hooks_transcript_logs_and_spans_together_are_counted_once(installation, ready):
    api, client = ready
    client.connect(installation.url, installation.agent_key)
    headers = f"Authorization=Bearer {installation.agent_key}"

    worked = Worked(
        installation,
        api,
        client,
        **LOG,
        OTEL_EXPORTER_OTLP_ENDPOINT=installation.url,
        OTEL_EXPORTER_OTLP_HEADERS=headers,
    )

    run = worked.counted("logs")
    assert Decimal(run["cost_usd"]) == worked.calls * A_CALL
    assert the_tools_of(worked) == EACH_IS_DONE
    wait_for(lambda: costs_by_turn(worked) == [A_CALL] * len(STEPS))


def costs_by_turn(worked):
    """What the turns say they cost: of tools that one answer asked for, the first."""
    turns = worked.person.turns(worked.run)
    return [Decimal(turn["cost_usd"]) for turn in turns if turn["tool"] and turn["cost_usd"]]


def test_its_telemetry_alone_is_a_run_with_its_turns_and_its_cost(installation, ready):
    api, client = ready
    headers = f"Authorization=Bearer {installation.agent_key}"

    worked = Worked(
        installation,
        api,
        client,
        **LOG,
        OTEL_LOG_TOOL_DETAILS="1",
        OTEL_LOG_USER_PROMPTS="1",
        OTEL_EXPORTER_OTLP_ENDPOINT=installation.url,
        OTEL_EXPORTER_OTLP_HEADERS=headers,
    )

    run = worked.counted("logs")
    assert Decimal(run["cost_usd"]) == worked.calls * A_CALL
    assert the_tools_of(worked) == EACH_IS_DONE
    assert (run["name"], run["capabilities"]["hold"]) == ("claude-code: Do it.", False)
