"""The unmodified Codex and Gemini CLI, seen by their own telemetry and nothing else."""

import json
from decimal import Decimal

import pytest

from guard.formats.codex import usage_of
from guard.pricing import price
from tests.agents import messages_api
from tests.agents.person import Person
from tests.agents.responses_api import MODEL, USAGE, Reply
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents


def runs_two_commands(conversation):
    done = conversation.commands()
    if len(done) == len(COMMANDS):
        return Reply(text="Done.")
    return Reply(commands=(COMMANDS[len(done)],))


def runs_two_shell_commands(conversation):
    done = conversation.calls()
    if len(done) == len(COMMANDS):
        return messages_api.Reply(text="Done.")
    command = {"command": COMMANDS[len(done)]}
    return messages_api.Reply(calls=(("run_shell_command", command),))


COMMANDS = ("echo one", "cat nowhere")


def run_of(installation, key, *, output):
    """The run, once so many tokens of output were counted."""

    def whole():
        run = Person(installation).run_of(key)
        return run if run and run["usage"]["output"] == output else None

    return wait_for(whole)


def test_codex_is_a_run_with_its_turns_and_its_cost(installation, responses, codex):
    api = responses(runs_two_commands)
    client = codex(api)
    headers = f'{{ Authorization = "Bearer {installation.agent_key}" }}'
    exporter = f'endpoint = "{installation.url}/v1/logs", protocol = "json", headers = {headers}'
    with client.config.open("a") as config:
        config.write(f"\n[otel]\nexporter = {{ otlp-http = {{ {exporter} }} }}\n")
    once_only = client.config.read_text().replace('[otel]\nmetrics_exporter = "none"\n', "", 1)
    client.config.write_text(once_only + 'metrics_exporter = "none"\n')

    assert client.start("Run two commands.").wait(PATIENCE_S) == 0, client.output()

    started = next(line for line in client.output().splitlines() if '"thread.started"' in line)
    key = f"codex:{json.loads(started)['thread_id']}"
    calls = len(api.conversations)
    run = run_of(installation, key, output=calls * USAGE["output_tokens"])
    usage = usage_of({"input_tokens": 1500, "cached_input_tokens": 1000, "output_tokens": 42})
    assert Decimal(run["cost_usd"]) == calls * price(usage, model=MODEL, provider="openai")
    ran = [turn for turn in Person(installation).turns(run["id"]) if turn["tool"]]
    assert [turn["args"]["cmd"] for turn in ran] == list(COMMANDS)
    assert [bool(turn["error"]) for turn in ran] == [False, True]


def test_gemini_is_a_run_with_its_turns_and_its_cost(installation, gemini_model, gemini):
    api = gemini_model(runs_two_shell_commands)
    client = gemini(api)
    file = client.home / ".gemini" / "settings.json"
    telemetry = {"enabled": True, "target": "local", "otlpProtocol": "http"}
    settings = {"telemetry": telemetry | {"otlpEndpoint": installation.url, "logPrompts": True}}
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    client.env["OTEL_EXPORTER_OTLP_HEADERS"] = f"Authorization=Bearer {installation.agent_key}"

    assert client.start("Run two commands.").wait(PATIENCE_S) == 0, client.output()

    run = run_of(installation, f"gemini:{client.session()}", output=api.total().output)
    costs = [price(used, model="gemini-2.5-flash", provider="google") for used in api.calls()]
    assert abs(Decimal(run["cost_usd"]) - sum(costs)) <= len(costs) * Decimal("0.0000005")
    ran = [turn for turn in Person(installation).turns(run["id"]) if turn["tool"]]
    assert [turn["args"]["command"] for turn in ran] == list(COMMANDS)
    assert [bool(turn["error"]) for turn in ran] == [False, True]
