"""Exports of tools and tracers, each with the same run: what stands where, not what wrote it."""

from __future__ import annotations

import html
import json

import pytest

from guard.errors import UnreadableRecording
from guard.formats import read_recording
from guard.turn import Role
from tests.guard.build import first_trip

GOAL = "The harbour's timetable is an hour off. Find out why."
CALLS = [
    ("look_up", {"table": "ferries"}, "id, day, hour", False),
    ("look_up", {"table": "tides"}, "id, height", False),
    ("run_check", {"day": "monday"}, "expected 12, found 11", True),
    ("write_note", {"text": "an hour is missing"}, "written", False),
]
STUCK = [*CALLS, *[("send_list", {"to": "pilot"}, "Denied: pilot has no mailbox", True)] * 6]


def numbered(calls):
    return [(f"call_{n}", json.dumps(one[1]), *one) for n, one in enumerate(calls)]


def goose(calls):
    rows = [{"role": "user", "created": 1, "content": [{"type": "text", "text": GOAL}]}]
    for key, _, tool, args, came, failed in numbered(calls):
        went = {"status": "success", "value": {"name": tool, "arguments": args}}
        right = {"status": "success", "value": {"content": [{"type": "text", "text": came}]}}
        told = {"status": "error", "error": came} if failed else right
        asked = [{"type": "toolRequest", "id": key, "toolCall": went}]
        answer = [{"type": "toolResponse", "id": key, "toolResult": told}]
        rows += [{"role": "assistant", "content": asked}, {"role": "user", "content": answer}]
    return rows


def haystack(calls):
    rows = [{"role": "user", "content": [{"text": GOAL}], "meta": {}}]
    for key, _, tool, args, came, failed in numbered(calls):
        asked = {"tool_name": tool, "arguments": args, "id": key}
        told = {"result": came, "origin": asked, "error": failed}
        rows += [
            {"role": "assistant", "content": [{"tool_call": asked}], "meta": {}},
            {"role": "tool", "content": [{"tool_call_result": told}], "meta": {}},
        ]
    return rows


def letta(calls):
    rows = [{"message_type": "user_message", "content": GOAL}]
    for key, given, tool, _, came, failed in numbered(calls):
        asked = {"name": tool, "arguments": given, "tool_call_id": key}
        status = "error" if failed else "success"
        told = {"tool_return": came, "status": status, "tool_call_id": key}
        rows += [
            {"message_type": "tool_call_message", "tool_call": asked},
            {"message_type": "tool_return_message", **told},
        ]
    return rows


def mlflow(calls):
    spans = [{"name": "agent", "attributes": {"mlflow.spanType": '"AGENT"'}}]
    for _, given, tool, _, came, failed in numbered(calls):
        attributes = {
            "mlflow.spanType": '"TOOL"',
            "mlflow.spanInputs": given,
            "mlflow.spanOutputs": json.dumps(came),
        }
        status = {"code": "STATUS_CODE_ERROR" if failed else "STATUS_CODE_OK", "message": ""}
        spans.append({"name": tool, "status": status, "attributes": attributes})
    return {"info": {"trace_id": "tr-1"}, "data": {"spans": spans}}


def open_telemetry(calls):
    spans = []
    for key, given, tool, _, came, failed in numbered(calls):
        named = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": key,
            "gen_ai.tool.call.arguments": given,
            "gen_ai.tool.call.result": came,
        }
        listed = [{"key": name, "value": {"stringValue": one}} for name, one in named.items()]
        status = {"code": "STATUS_CODE_ERROR"} if failed else {}
        spans.append({"name": f"execute_tool {tool}", "attributes": listed, "status": status})
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def phoenix(calls):
    rows = []
    for _, given, tool, _, came, failed in numbered(calls):
        attributes = {"tool": {"name": tool}, "input": {"value": given}, "output": {"value": came}}
        state = "ERROR" if failed else "OK"
        rows.append({"name": tool, "span_kind": "TOOL", "status_code": state})
        rows[-1]["attributes"] = attributes
    return rows


def braintrust(calls):
    rows = [{"span_id": "r", "input": GOAL, "output": "", "span_attributes": {"type": "task"}}]
    for key, _, tool, args, came, failed in numbered(calls):
        span = {"span_id": key, "span_attributes": {"name": tool, "type": "tool"}, "input": args}
        rows.append({**span, "output": None if failed else came, "error": came if failed else None})
    return rows


def autogpt(calls):
    episodes = []
    for _, _, tool, args, came, failed in numbered(calls):
        action = {"thoughts": {"text": "On."}, "use_tool": {"name": tool, "arguments": args}}
        went = {"outputs": came, "status": "success"}
        result = {"reason": came, "error": None, "status": "error"} if failed else went
        episodes.append({"action": action, "result": result})
    return {"agent_id": "a", "history": {"episodes": episodes, "cursor": len(episodes)}}


def bedrock_trace(calls):
    def event(name, inner):
        return {"sessionId": "s", "trace": {"orchestrationTrace": {name: inner}}}

    rows = []
    for _, _, tool, args, came, _ in numbered(calls):
        given = [{"name": name, "type": "string", "value": one} for name, one in args.items()]
        asked = {"actionGroupName": "harbour", "function": tool, "parameters": given}
        rows += [
            event("rationale", {"text": "On."}),
            event("invocationInput", {"actionGroupInvocationInput": asked}),
            event("observation", {"actionGroupInvocationOutput": {"text": came}}),
        ]
    return rows


def json_rpc(calls):
    rows = [
        {"jsonrpc": "2.0", "id": 90, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 90, "result": {"tools": [{"name": "look_up"}]}},
    ]
    for n, (_, _, tool, args, came, failed) in enumerate(numbered(calls)):
        asked = {"method": "tools/call", "params": {"name": tool, "arguments": args}}
        told = {"content": [{"type": "text", "text": came}], "isError": failed}
        rows += [{"jsonrpc": "2.0", "id": n, **asked}, {"jsonrpc": "2.0", "id": n, "result": told}]
    return [{"direction": "both", "message": row} for row in rows]


def copilot_chat(calls):
    rounds, came_back, shown = [], {}, []
    for key, given, tool, _, came, _ in numbered(calls):
        asked = [{"id": key, "name": tool, "arguments": given}]
        rounds.append({"response": f"Next: {tool}.", "toolCalls": asked})
        came_back[key] = {"content": [{"value": came}]}
        shown.append({"kind": "toolInvocationSerialized", "toolCallId": f"u{key}", "toolId": tool})
    metadata = {"toolCallRounds": rounds, "toolCallResults": came_back}
    request = {"message": {"text": GOAL}, "response": shown, "result": {"metadata": metadata}}
    return {"responderUsername": "Copilot", "requests": [request]}


def amazon_q(calls):
    rows, said = [], {"Prompt": {"prompt": GOAL}}
    for key, _, tool, args, came, failed in numbered(calls):
        uses = [{"id": key, "name": tool, "args": args}]
        asked = {"ToolUse": {"content": "On.", "tool_uses": uses}}
        rows.append({"user": {"content": said}, "assistant": asked})
        told = {"tool_use_id": key, "content": [{"Text": came}]}
        told["status"] = "Error" if failed else "Success"
        said = {"ToolUseResults": {"tool_use_results": [told]}}
    rows.append({"user": {"content": said}, "assistant": {"Response": {"content": "Done."}}})
    return {"conversation_id": "q", "history": rows}


def zed(calls):
    rows = [{"User": {"id": "u", "content": [{"Text": GOAL}]}}]
    for key, _, tool, args, came, failed in numbered(calls):
        asked = [{"Text": "On."}, {"ToolUse": {"id": key, "name": tool, "input": args}}]
        told = {"tool_use_id": key, "is_error": failed, "content": {"Text": came}}
        rows.append({"Agent": {"content": asked, "tool_results": {key: told}}})
    return {"title": "Timetable", "messages": rows}


def crush(calls):
    rows = [{"role": "user", "parts": [{"type": "text", "data": {"text": GOAL}}]}]
    for key, given, tool, _, came, failed in numbered(calls):
        asked = {"type": "tool_call", "data": {"id": key, "name": tool, "input": given}}
        told = {"tool_call_id": key, "name": tool, "content": came, "is_error": failed}
        rows += [
            {"role": "assistant", "parts": [asked]},
            {"role": "tool", "parts": [{"type": "tool_result", "data": told}]},
        ]
    return rows


def amp(calls):
    rows = [{"role": "user", "content": [{"type": "text", "text": GOAL}]}]
    for key, _, tool, args, came, failed in numbered(calls):
        run = {"status": "done", "result": {"output": came, "exitCode": int(failed)}}
        asked = {"type": "tool_use", "id": key, "name": tool, "input": args}
        rows += [
            {"role": "assistant", "content": [asked]},
            {"role": "user", "content": [{"type": "tool_result", "toolUseID": key, "run": run}]},
        ]
    return {"id": "T-1", "messages": rows}


def llama_index(calls):
    rows = []
    for key, _, tool, args, came, failed in numbered(calls):
        asked = {"tool_name": tool, "tool_kwargs": args, "tool_id": key}
        told = {"raw_output": came, "is_error": failed}
        rows += [
            {"qualified_name": "workflow.ToolCall", "value": asked},
            {"qualified_name": "workflow.ToolCallResult", "value": {**asked, "tool_output": told}},
        ]
    return rows


def dspy(calls):
    steps = {}
    for n, (_, _, tool, args, came, _) in enumerate(numbered(calls)):
        step = {"thought": "On.", "tool_name": tool, "tool_args": args, "observation": came}
        steps |= {f"{name}_{n}": value for name, value in step.items()}
    return {"trajectory": steps, "answer": "An hour."}


def n8n(calls):
    steps = []
    for key, _, tool, args, came, _ in numbered(calls):
        action = {"tool": tool, "toolInput": args, "toolCallId": key, "messageLog": []}
        steps.append({"action": action, "observation": came})
    run = {"data": {"main": [[{"json": {"output": "An hour.", "intermediateSteps": steps}}]]}}
    return {"status": "success", "data": {"resultData": {"runData": {"AI Agent": [run]}}}}


def nested_lists(calls):
    rows = [{"role": "user", "content": GOAL}]
    for _, given, tool, _, came, failed in numbered(calls):
        told = {"error" if failed else "response": came}
        asked = {"name": tool, "arguments": given}
        rows += [
            {"role": "assistant", "content": "", "function_call": asked},
            {"role": "function", "name": tool, "content": json.dumps(told)},
        ]
    return {"answer_generation": {"query": GOAL, "train_messages": [rows]}}


def open_webui(calls):
    shown = [
        f'<details type="tool_calls" done="true" id="{key}" name="{tool}" '
        f'arguments="{html.escape(json.dumps(given))}" result="{html.escape(json.dumps(came))}">'
        "\n<summary>Tool Executed</summary>\n</details>\n"
        for key, given, tool, _, came, _ in numbered(calls)
    ]
    rows = [{"role": "user", "content": GOAL}, {"role": "assistant", "content": "".join(shown)}]
    return [{"title": "Timetable", "chat": {"messages": rows}}]


def cline(calls):
    rows = [{"ts": 1, "type": "say", "say": "text", "text": GOAL}]
    for n, (_, given, tool, args, came, failed) in enumerate(numbered(calls)):
        asked = {"toolName": tool, "arguments": given}
        rows += [
            {"ts": n, "type": "say", "say": "api_req_started", "text": '{"tokensIn": 9}'},
            {"ts": n, "type": "say", "say": "text", "text": f"{args}", "partial": True},
            {"ts": n, "type": "ask", "ask": "use_mcp_server", "text": json.dumps(asked)},
            {"ts": n, "type": "say", "say": "use_mcp_server", "text": json.dumps(asked)},
            {"ts": n, "type": "say", "say": "error" if failed else "mcp_server_response"},
        ]
        rows[-1]["text"] = came
    return rows


FORMS = [
    *(goose, haystack, letta, mlflow, open_telemetry, phoenix, braintrust, autogpt, bedrock_trace),
    *(json_rpc, copilot_chat, amazon_q, zed, crush, amp, llama_index, dspy, n8n, nested_lists),
    *(open_webui, cline),
]
# These do not tell that a call failed, but by its words.
SILENT = [bedrock_trace, copilot_chat, dspy, n8n, nested_lists, open_webui]
# These tell of the calls alone, or of the task in words of their own.
CALLS_ALONE = [
    *(mlflow, open_telemetry, phoenix, braintrust, autogpt, bedrock_trace, json_rpc, copilot_chat),
    *(llama_index, dspy, n8n),
]


@pytest.fixture
def read(tmp_path):
    def write_and_read(value):
        file = tmp_path / "a-run.json"
        file.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
        return [turn for turn in read_recording(file).turns if turn]

    return write_and_read


@pytest.mark.parametrize("form", FORMS)
def test_each_call_has_its_name_arguments_and_answer(form, read):
    calls = [turn for turn in read(form(CALLS)) if turn.tool]

    assert [(call.tool, call.args) for call in calls] == [(call[0], call[1]) for call in CALLS]
    came = [call.result or call.error or "" for call in calls]
    assert all(told in answer for answer, (_, _, told, _) in zip(came, CALLS, strict=True))


@pytest.mark.parametrize("form", [form for form in FORMS if form not in SILENT])
def test_what_failed_is_told_as_an_error(form, read):
    calls = [turn for turn in read(form(CALLS)) if turn.tool]

    assert [call.error is not None for call in calls] == [failed for *_, failed in CALLS]


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_is_seen_and_work_is_none(form, read):
    assert first_trip(read(form(STUCK))) is not None
    assert first_trip(read(form(CALLS))) is None


@pytest.mark.parametrize("form", [form for form in FORMS if form not in CALLS_ALONE])
def test_a_person_is_heard_once_and_in_their_words(form, read):
    words = [turn.content for turn in read(form(CALLS)) if turn.role is Role.USER]

    assert words == [GOAL]


def test_what_a_model_says_beside_its_calls_is_no_answer_to_them(read):
    (call,) = read({"rounds": [copilot_chat(CALLS[:1])["requests"][0]["result"]]})

    assert call.result == "id, day, hour"


def test_a_tool_s_message_that_names_its_call_again_is_the_answer(read):
    asked = {"id": "c1", "name": "look_up", "arguments": {"table": "ferries"}}
    told = {"tool_call_id": "c1", "tool_name": "look_up", "tool_args": {"table": "ferries"}}
    rows = [
        {"role": "assistant", "content": "On.", "tool_calls": [asked]},
        {"role": "tool", "content": "id, hour", **told, "metrics": {"time": 0.1}},
    ]

    (call,) = read({"messages": rows})

    assert (call.tool, call.result) == ("look_up", "id, hour")


def test_a_request_and_its_response_are_no_two_who_speak(read):
    call = {"id": "c1", "function": {"name": "look_up", "arguments": "{}"}}
    told = [{"role": "user", "content": GOAL}, {"role": "assistant", "tool_calls": [call]}]
    answer = {"role": "tool", "tool_call_id": "c1", "content": "id, hour"}
    logged = [
        {"request": {"messages": rows}, "response": {"choices": [{"message": {"content": ""}}]}}
        for rows in (told[:1], [*told, answer])
    ]

    turns = read("\n".join(map(json.dumps, logged)))

    assert [(turn.tool, turn.result) for turn in turns] == [(None, None), ("look_up", "id, hour")]


def test_a_stream_of_server_sent_events_is_read(read):
    events = [
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "look_up", "input": {}},
        {"type": "tool-output-available", "toolCallId": "c1", "output": "id, hour"},
    ]

    (call,) = read("".join(f"data: {json.dumps(event)}\n\n" for event in events))

    assert (call.tool, call.result) == ("look_up", "id, hour")


@pytest.mark.parametrize(
    "asked",
    [
        '2026-05-04T10:00:01Z INFO loop tool_call id=c1 name=look_up args={"table": "tides"}',
        '10:00:01 [main] DEBUG loop - tool_call {"name": "look_up", "args": {"table": "tides"}}',
        'level=info msg="tool call" name=look_up args="{\\"table\\": \\"tides\\"}"',
    ],
)
def test_lines_of_a_log_are_read_by_the_fields_at_their_end(asked, read):
    told = '10:00:02 INFO loop tool_result name=look_up ok=false output="no such table"'

    turns = read(f"{asked}\n{told}\n")

    assert [(turn.tool, turn.args, turn.error) for turn in turns] == [
        ("look_up", {"table": "tides"}, "no such table")
    ]


def test_a_transcript_whose_lines_end_in_objects_keeps_its_person(read):
    text = f"User: {GOAL}\n" + "".join(
        f'Assistant: {{"action": "look_up", "action_input": {{"table": "{name}"}}}}\n'
        f'Observation: {{"content": "{name} here", "n": 1}}\n'
        for name in ("ferries", "tides", "quays")
    )

    turns = read(text)

    assert (turns[0].role, turns[0].content) == (Role.USER, GOAL)


@pytest.mark.parametrize(
    "text",
    [
        'level=info msg="request done" name=pier status=200 path=/pier agent=curl\n' * 4,
        '{"event": "metric", "output": "0.5", "data": {"name": "loss"}}\n' * 4,
    ],
)
def test_a_log_in_which_nobody_calls_is_no_empty_run(text, read):
    with pytest.raises(UnreadableRecording):
        read(text)


def test_a_run_appended_to_another_s_file_begins_anew(read):
    step = {"thought": "On.", "action": "click [7]", "observation": "[1] page"}

    runs = read("\n".join(json.dumps({"step": n, **step}) for n in (1, 2) * 3))

    assert [turn.session for turn in runs] == ["0", "0", "1", "1", "2", "2"]
    assert first_trip(runs) is None
    assert first_trip(read("\n".join(json.dumps({"step": n, **step}) for n in range(6))))


@pytest.mark.parametrize("steps", [(1, 2, 3, 2, 3, 1, 2), (5, 4, 3, 2, 1, 0)])
def test_a_number_to_which_one_goes_back_is_that_of_no_run(steps, read):
    turns = read("\n".join(json.dumps({"step": n, "tool": "dig", "input": {}}) for n in steps))

    assert {turn.session for turn in turns} == {None}


def test_who_is_called_in_again_and_again_begins_no_run(read):
    rows = []
    for n in range(6):
        given = {"input": {"task": "find the key"}, "output": "not found"}
        rows.append({"agent": "mate", "step": n + 1, "tool": "send", **given})
        for place in range(3):
            seen = {"input": {"at": f"cabin {n}{place}"}, "output": f"rope {n}{place}"}
            rows.append({"agent": "boy", "step": place + 1, "tool": "look", **seen})

    turns = read("\n".join(map(json.dumps, rows)))

    assert {turn.session for turn in turns} == {None}
    assert first_trip(turns) is not None


def test_steps_of_which_some_name_their_session_are_of_one_run(read):
    call = {"tool": "moor", "input": {"at": "quay"}, "output": "error: the quay is full"}
    rows = [{"step": n, **call} | ({"session_id": "s"} if n % 2 else {}) for n in range(6)]

    assert first_trip(read("\n".join(map(json.dumps, rows)))) is not None


def test_who_made_a_call_and_for_whom_are_no_two_who_speak(read):
    who = {"user": {"id": 1, "name": "Ada"}, "agent": {"id": "pilot"}}
    rows = [{"tool": "moor", "input": {"at": n}, "output": f"pier {n}", **who} for n in range(6)]

    turns = read("\n".join(map(json.dumps, rows)))

    assert [(turn.tool, turn.args, turn.result) for turn in turns] == [
        ("moor", {"at": n}, f"pier {n}") for n in range(6)
    ]


@pytest.mark.parametrize("state", [{"status": "cancelled"}, {"level": "error"}])
def test_what_was_looked_up_may_have_failed_and_the_call_has_not(state, read):
    rows = [
        {"tool": "find_trip", "input": {"id": n}, "output": {"trip": n, "of": f"boat {n}", **state}}
        for n in range(6)
    ]

    turns = read("\n".join(map(json.dumps, rows)))

    assert [turn.error for turn in turns] == [None] * 6
    assert first_trip(turns) is None


@pytest.mark.parametrize(
    ("ended", "failed"),
    [
        ({"stdout": "", "exit_code": 1}, False),  # as grep and test say no
        ({"stdout": "", "stderr": "no such quay", "exit_code": 1}, True),
        ({"stdout": "", "exit_code": 2}, True),
        ({"stdout": "pier.md", "exit_code": 0}, False),
    ],
)
def test_a_program_that_finds_nothing_has_not_failed(ended, failed, read):
    row = {"tool": "shell", "input": {"command": "grep -r quay ."}, "output": ended}

    (call,) = read(json.dumps(row))

    assert (call.error is not None) == failed


@pytest.mark.parametrize("order", [1, -1])
def test_a_tracer_s_rows_of_requests_tell_no_call_again(order, read):
    rows, said = [], [{"type": "human", "content": GOAL}]
    for n, (tool, args, came, _) in enumerate(STUCK):
        listed = {"messages": [[{"kwargs": one} for one in said]]}
        rows.append({"run_type": "llm", "name": "Model", "session_id": "p", "inputs": listed})
        came_back = {"content": came, "tool_call_id": f"c{n}"}
        row = {"run_type": "tool", "name": tool, "session_id": "p", "inputs": args}
        rows.append({**row, "outputs": {"output": came_back}})
        said.append({"type": "ai", "tool_calls": [{"name": tool, "args": args, "id": f"c{n}"}]})
        said.append({"type": "tool", **came_back})

    turns = read("\n".join(map(json.dumps, rows[::order])))

    assert sum(turn.tool is not None for turn in turns) == len(STUCK)
    assert [turn.content for turn in turns if turn.role is Role.USER] == [GOAL]
    assert first_trip(turns) is not None


def test_ids_of_a_trace_beside_an_answer_are_no_part_of_it(read):
    rows = bedrock_trace(STUCK)
    for n, row in enumerate(rows):
        if told := row["trace"]["orchestrationTrace"].get("observation"):
            told |= {"traceId": f"t-{n}", "type": "ACTION_GROUP"}

    turns = read("\n".join(map(json.dumps, rows)))

    assert [turn.result for turn in turns if turn.tool] == [came for *_, came, _ in STUCK]
    assert first_trip(turns) is not None


def test_an_event_of_a_trace_that_has_no_attributes_is_no_call(read):
    span = {"name": "GET", "events": [{"name": "retry", "attributes": []}] * 3}

    with pytest.raises(UnreadableRecording):
        read({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


def test_what_a_cline_command_prints_and_costs_stands_with_it(read):
    rows = [
        {"ts": 1, "type": "say", "say": "text", "text": GOAL},
        {"ts": 2, "type": "say", "say": "api_req_started", "text": '{"tokensIn": 9, "cost": 0.1}'},
        {"ts": 3, "type": "ask", "ask": "command", "text": "ls quay"},
        {"ts": 4, "type": "say", "say": "command_output", "text": "pier.md"},
        {"ts": 5, "type": "ask", "ask": "command_output", "text": "tides.csv"},
        {"ts": 6, "type": "say", "say": "tool", "text": '{"tool": "readFile", "content": "a"}'},
        {"ts": 7, "type": "say", "say": "user_feedback", "text": "Look again."},
    ]

    goal, command, file, feedback = read(rows)

    assert (goal.role, feedback.role) == (Role.USER, Role.USER)
    assert (command.args, command.result) == ({"command": "ls quay"}, "pier.md\ntides.csv")
    assert (command.usage.input, str(command.cost_usd)) == (9, "0.1")
    assert (file.tool, file.result) == ("readFile", "a")


def test_a_cline_command_that_prints_nothing_is_called_as_often_as_it_is_asked_for(read):
    rows = [{"ts": 0, "type": "say", "say": "text", "text": GOAL}]
    for n in range(5):
        rows += [
            {"ts": 3 * n + 1, "type": "say", "say": "api_req_started", "text": "{}"},
            {"ts": 3 * n + 2, "type": "ask", "ask": "command", "text": "moor --quiet"},
            {"ts": 3 * n + 3, "type": "say", "say": "command", "text": "moor --quiet"},
        ]

    assert [turn.tool for turn in read(rows)] == [None, *["execute_command"] * 5]
