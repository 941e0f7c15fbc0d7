"""Agents instrumented by GenAI conventions, OpenLLMetry or OpenInference."""

import json
from decimal import Decimal

import pytest

from missioncontrol.runs.models import ModelCall, TelemetryRecord, Turn
from tests.build import a_project
from tests.otlp.build import (
    TRACE,
    a_span,
    model_uses_of,
    receive,
    session_records_of,
    spans,
    turns_of,
)

LS = json.dumps({"command": "ls"})
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-sonnet-4-5",
    "gen_ai.conversation.id": "run-1",
    "gen_ai.agent.name": "coder",
    "gen_ai.usage.input_tokens": 10500,
    "gen_ai.usage.output_tokens": 42,
    "gen_ai.usage.cache_read.input_tokens": 9000,
    "gen_ai.usage.cache_creation.input_tokens": 300,
}
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "Bash",
    "gen_ai.tool.call.id": "toolu_1",
    "gen_ai.tool.call.arguments": LS,
    "gen_ai.tool.call.result": "a b",
    "gen_ai.conversation.id": "run-1",
}
OPENLLMETRY = {
    "gen_ai.system": "OpenAI",
    "llm.request.type": "chat",
    "gen_ai.request.model": "gpt-5.1",
    "gen_ai.usage.prompt_tokens": 1500,
    "gen_ai.usage.completion_tokens": 42,
    "gen_ai.usage.cache_read_input_tokens": 1000,
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "list the files",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.tool_calls.0.id": "call_1",
    "gen_ai.completion.0.tool_calls.0.name": "sh",
    "gen_ai.completion.0.tool_calls.0.arguments": LS,
}
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "session.id": "s-9",
    "llm.model_name": "gpt-5.1",
    "llm.provider": "openai",
    "llm.token_count.prompt": 1500,
    "llm.token_count.completion": 42,
    "llm.token_count.prompt_details.cache_read": 1000,
    "llm.cost.total": 0.25,
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "list the files",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "I look.",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "call_1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "sh",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": LS,
}


def a_chat(given=(), answered=(), **more):
    attributes = {**CHAT, **more}
    attributes |= {"gen_ai.input.messages": json.dumps(given)} if given else {}
    attributes |= {"gen_ai.output.messages": json.dumps(answered)} if answered else {}
    return a_span("chat claude-sonnet-4-5", attributes)


def text(role, content):
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def a_proposed(call_id="toolu_1", command="ls"):
    call = {"type": "tool_call", "id": call_id, "name": "Bash", "arguments": {"command": command}}
    return {"role": "assistant", "parts": [call]}


def an_answer(call_id="toolu_1", response="a b"):
    part = {"type": "tool_call_response", "id": call_id, "response": response}
    return {"role": "tool", "parts": [part]}


def only_use(span):
    (use,) = model_uses_of(spans(span))
    return use


def told_of(*bodies):
    return [(t.role, t.phase, t.key, t.tool, t.content, t.result) for t in turns_of(*bodies)]


# --- GenAI conventions -----------------------------------------------------------


def test_input_tokens_that_include_the_cache_are_counted_without_it():
    usage = only_use(a_chat()).usage

    assert (usage.input, usage.cache_read, usage.cache_write_5m) == (1200, 9000, 300)


def test_input_tokens_below_the_cached_ones_exclude_them():
    usage = only_use(a_chat(**{"gen_ai.usage.input_tokens": 1200})).usage

    assert (usage.input, usage.cache_read) == (1200, 9000)


def test_a_tool_span_is_a_turn_with_what_went_in_and_came_out():
    (turn,) = turns_of(spans(a_span("execute_tool Bash", TOOL)))

    assert (turn.key, turn.tool, turn.args, turn.result) == (
        "toolu_1",
        "Bash",
        {"command": "ls"},
        "a b",
    )


def test_a_failed_tool_span_is_an_error():
    raised = {
        "name": "exception",
        "attributes": [
            {"key": "exception.message", "value": {"stringValue": "no such file"}},
        ],
    }

    (turn,) = turns_of(spans(a_span("execute_tool", TOOL, failure="", events=[raised])))

    assert turn.error == "no such file"


def test_a_conversation_is_its_prompts_proposals_results_and_words():
    asked = text("user", "list the files")
    first = a_chat([asked], [a_proposed()])
    second = a_chat([asked, a_proposed(), an_answer()], [text("assistant", "Two files.")])

    rows = told_of(spans(first, second))

    assert [row[:2] for row in rows] == [
        ("user", "done"),
        ("assistant", "proposed"),
        ("assistant", "done"),
        ("assistant", "done"),
    ]
    assert [row[4] or row[5] for row in rows] == ["list the files", None, "a b", "Two files."]
    assert rows[1][2] == rows[2][2] == "toolu_1"


@pytest.mark.parametrize("id_of", [lambda _: "Bash_0", lambda _: None, lambda n: f"call_{n % 2}"])
def test_calls_whose_ids_do_not_tell_them_apart_are_calls_each(id_of):
    history, bodies = [text("user", "go")], []
    for n in range(4):
        bodies.append(spans(a_chat(history, [a_proposed(id_of(n), f"ls {n}")])))
        history += [a_proposed(id_of(n), f"ls {n}"), an_answer(id_of(n), f"file {n}")]
    bodies.append(spans(a_chat(history, [text("assistant", "Done.")])))

    turns = [turn for body in bodies for turn in turns_of(body)]

    proposed = {turn.key: turn.args["command"] for turn in turns if turn.phase == "proposed"}
    done = {turn.key: turn.result for turn in turns if turn.tool and turn.phase == "done"}
    assert list(proposed.values()) == [f"ls {n}" for n in range(4)]
    assert done == dict(zip(proposed, [f"file {n}" for n in range(4)], strict=True))


def test_an_answer_is_its_calls_though_the_place_in_its_message_differs():
    call = a_proposed("Bash_1")
    call["parts"].insert(0, {"type": "text", "content": "I look."})

    turns = turns_of(spans(a_chat([text("user", "go"), call, an_answer("Bash_0")])))

    assert [(turn.tool, turn.result) for turn in turns] == [("Bash", "a b")]


def test_a_tool_result_without_a_call_is_a_tool_turn():
    asked = [text("user", "go"), text("assistant", "<execute_bash>\nls\n</execute_bash>")]

    turns = turns_of(spans(a_chat([*asked, {"role": "tool", "content": "a b"}])))

    assert [(turn.role, turn.content) for turn in turns] == [("tool", "a b")]


def test_a_span_without_a_session_gets_its_traces_even_in_a_later_request():
    unnamed = {name: one for name, one in TOOL.items() if name != "gen_ai.conversation.id"}

    found = session_records_of(spans(a_chat()), spans(a_span("execute_tool Bash", unnamed)))

    assert {one.run_key for one in found} == {"my-agent:run-1"}


def test_a_trace_that_names_no_session_is_one():
    unnamed = {name: one for name, one in TOOL.items() if name != "gen_ai.conversation.id"}

    (one,) = session_records_of(spans(a_span("execute_tool Bash", unnamed)))

    assert one.run_key == f"my-agent:{TRACE}"


def test_a_tool_belongs_to_the_agent_of_the_enclosing_span():
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "critic"}

    found = session_records_of(
        spans(
            a_span("invoke_agent critic", agent, span="00000000000000aa"),
            a_span("execute_tool", TOOL, parent="00000000000000aa"),
        )
    )

    assert [one.turns[0].agent for one in found if one.turns] == ["critic"]


def test_spans_of_no_agent_are_ignored():
    assert session_records_of(spans(a_span("GET /cart", {"http.request.method": "GET"}))) == []


# --- OpenLLMetry and OpenInference -------------------------------------------------


def test_openllmetrys_numbered_messages_and_older_names_are_read():
    prompt, proposal = turns_of(spans(a_span("openai.chat", OPENLLMETRY)))
    usage = only_use(a_span("openai.chat", OPENLLMETRY)).usage

    assert (prompt.role, prompt.content) == ("user", "list the files")
    assert (proposal.key, proposal.tool, proposal.args) == ("call_1", "sh", {"command": "ls"})
    assert (usage.input, usage.cache_read, usage.output) == (500, 1000, 42)


def test_a_traceloop_tool_is_a_turn():
    attributes = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "sh",
        "traceloop.entity.input": json.dumps({"inputs": {"command": "ls"}}),
        "traceloop.entity.output": json.dumps({"output": "a b"}),
        "traceloop.association.properties.session_id": "s-2",
    }

    (one,) = session_records_of(spans(a_span("sh.tool", attributes)))

    (turn,) = one.turns
    assert (one.run_key, turn.tool, turn.args, turn.result) == (
        "my-agent:s-2",
        "sh",
        {"command": "ls"},
        "a b",
    )


def test_openinferences_flattened_messages_are_read():
    prompt, words, proposal = turns_of(spans(a_span("ChatCompletion", OPENINFERENCE)))
    use = only_use(a_span("ChatCompletion", OPENINFERENCE))

    assert (prompt.content, words.content) == ("list the files", "I look.")
    assert (proposal.key, proposal.tool, proposal.args) == ("call_1", "sh", {"command": "ls"})
    assert (use.usage.input, use.usage.cache_read, use.cost_usd) == (500, 1000, Decimal("0.25"))


def test_an_openinference_tool_is_a_turn():
    attributes = {
        "openinference.span.kind": "TOOL",
        "tool.name": "sh",
        "input.value": LS,
        "output.value": "a b",
        "session.id": "s-9",
    }

    (turn,) = turns_of(spans(a_span("sh", attributes)))

    assert (turn.tool, turn.args, turn.result) == ("sh", {"command": "ls"}, "a b")


# --- stored --------------------------------------------------------------------------


@pytest.mark.django_db
def test_an_agent_without_our_sdk_is_a_run_that_says_it_cannot_be_held():
    (run,) = receive(a_project(), spans(a_chat(), a_span("execute_tool Bash", TOOL)))

    assert (run.key, run.agent, run.meters.usage_source) == ("my-agent:run-1", "coder", "spans")
    assert (run.meters.cost_usd, run.capabilities["hold"]) == (Decimal("0.008055"), False)
    (turn,) = Turn.objects.filter(run=run)
    assert (turn.tool, turn.result, run.meters.tool_calls) == ("Bash", "a b", 1)


@pytest.mark.django_db
@pytest.mark.parametrize("apart", [True, False])
def test_a_call_with_a_secret_completes_its_proposal_too(apart):
    secret = "curl -u ana:hunter2 https://x.example"
    tool = {**TOOL, "gen_ai.tool.call.arguments": json.dumps({"command": secret})}
    del tool["gen_ai.tool.call.id"]
    asked = a_chat([text("user", "go")], [a_proposed("toolu_7", secret)])

    done = a_span("execute_tool", tool)

    (run,) = receive(a_project(), *([spans(asked), spans(done)] if apart else [spans(asked, done)]))

    (call,) = Turn.objects.filter(run=run, tool="Bash")
    assert (call.phase, call.args) == (
        "done",
        {"command": "curl -u ana:[masked] https://x.example"},
    )


@pytest.mark.django_db
def test_a_tool_call_without_its_id_completes_the_proposal_it_matches():
    nameless = {name: one for name, one in TOOL.items() if name != "gen_ai.tool.call.id"}
    proposal = spans(a_chat([text("user", "go")], [a_proposed("toolu_7")]))

    (run,) = receive(a_project(), proposal, spans(a_span("execute_tool Bash", nameless)))

    calls = Turn.objects.filter(run=run, tool="Bash")
    assert [(turn.key, turn.phase, turn.result) for turn in calls] == [("toolu_7", "done", "a b")]


@pytest.mark.django_db
def test_the_same_request_sent_again_changes_nothing():
    body = spans(a_chat([text("user", "go")], [a_proposed()]), a_span("execute_tool", TOOL))

    (run,) = receive(a_project(), body, body)

    assert (Turn.objects.filter(run=run).count(), run.meters.cost_usd) == (2, Decimal("0.008055"))
    assert TelemetryRecord.objects.filter(run=run).count() == 2


@pytest.mark.django_db
def test_a_model_call_reported_by_two_instrumentations_counts_once():
    inner = a_span("openai.chat", {**CHAT, "gen_ai.response.id": "msg_1"})
    outer = a_span("ChatModel", {**CHAT, "gen_ai.response.id": "msg_1"})
    nested = a_span("chat", CHAT, parent="00000000000000ab")
    around = a_span("chat", CHAT, span="00000000000000ab")

    (run,) = receive(a_project(), spans(inner, nested, around), spans(outer))

    assert ModelCall.objects.filter(run=run).count() == 2


@pytest.mark.django_db
def test_the_third_identical_call_opens_a_card_with_no_sdk_at_all():
    project = a_project()
    again = [
        a_span("execute_tool", {**TOOL, "gen_ai.tool.call.id": f"toolu_{n}"}) for n in range(4)
    ]

    (run,) = receive(project, *(spans(span) for span in again))

    assert run.open_decision is not None


@pytest.mark.django_db
def test_a_loop_of_calls_without_ids_opens_a_card():
    project, history = a_project(), [text("user", "go")]
    for _ in range(5):
        (run,) = receive(project, spans(a_chat(history, [a_proposed("Bash_0")])))
        history += [a_proposed("Bash_0"), an_answer("Bash_0", "no such file")]

    assert run.open_decision is not None


@pytest.mark.django_db
def test_an_outermost_span_ends_the_run_and_the_next_one_brings_it_back():
    project = a_project()
    root = a_span("invoke_agent", {"gen_ai.operation.name": "invoke_agent", **CHAT}, parent="")

    (ended,) = receive(project, spans(a_chat(), root))
    (back,) = receive(project, spans(a_span("execute_tool", TOOL)))

    assert (ended.status, back.status) == ("completed", "running")


@pytest.mark.django_db
def test_unknown_attributes_are_kept_without_secrets():
    attributes = {**TOOL, "acme.tenant": "north", "acme.api_key": "sk-" + "a1" * 20}

    (run,) = receive(a_project(), spans(a_span("execute_tool", attributes)))

    (record,) = TelemetryRecord.objects.filter(run=run)
    assert record.attributes["acme.tenant"] == "north"
    assert record.attributes["acme.api_key"] == "[masked]"
    assert run.metadata["otel"] == {"service.name": "my-agent"}
