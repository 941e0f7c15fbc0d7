"""Logs of frameworks and interfaces, told by what their records hold: each with the same run."""

from __future__ import annotations

import json

import pytest

from guard.errors import UnreadableRecording
from guard.formats import read_recording
from guard.turn import Role
from tests.guard.build import first_trip
from tests.guard.transcripts import write_lines

GOAL = "The bakery's order list is a day late. Find out why."
CALLS = [
    ("look_up", {"table": "orders"}, "id, day, loaves", False),
    ("look_up", {"table": "ovens"}, "id, heat", False),
    ("run_check", {"day": "monday"}, "expected 12 loaves, found 11", True),
    ("write_note", {"text": "a loaf is missing"}, "written", False),
]
STUCK = [*CALLS, *[("send_list", {"to": "baker"}, "Denied: baker has no mailbox", True)] * 6]


def langchain(calls):
    rows = [{"type": "human", "content": GOAL, "id": "h"}]
    for n, (tool, args, came, failed) in enumerate(calls):
        call = {"name": tool, "args": args, "id": f"c{n}", "type": "tool_call"}
        status = "error" if failed else "success"
        rows += [
            {"type": "ai", "content": "", "id": f"m{n}", "tool_calls": [call]},
            {"type": "tool", "content": came, "tool_call_id": f"c{n}", "status": status},
        ]
    return rows


def langgraph(calls):
    return {"values": {"messages": langchain(calls)}, "next": []}


def langchain_dicts(calls):
    return [{"type": row["type"], "data": row} for row in langchain(calls)]


def langchain_dumps(calls):
    rows = [{"lc": 1, "type": "constructor", "kwargs": row} for row in langchain(calls)]
    return {"messages": rows}


def langchain_steps(calls):
    steps = [[{"tool": tool, "tool_input": args}, came] for tool, args, came, _ in calls]
    return {"input": GOAL, "output": "Done.", "intermediate_steps": steps}


def autogen(calls):
    rows = [{"source": "user", "type": "TextMessage", "content": GOAL}]
    for n, (tool, args, came, failed) in enumerate(calls):
        asked = {"id": f"c{n}", "name": tool, "arguments": json.dumps(args)}
        told = {"call_id": f"c{n}", "name": tool, "content": came, "is_error": failed}
        rows += [
            {"source": "clerk", "type": "ToolCallRequestEvent", "content": [asked]},
            {"source": "clerk", "type": "ToolCallExecutionEvent", "content": [told]},
        ]
    return rows


def gemini(calls):
    rows = [{"role": "user", "parts": [{"text": GOAL}]}]
    for tool, args, came, failed in calls:
        told = {"name": tool, "response": {"error" if failed else "result": came}}
        rows += [
            {"role": "model", "parts": [{"functionCall": {"name": tool, "args": args}}]},
            {"role": "user", "parts": [{"functionResponse": told}]},
        ]
    return {"contents": rows}


def adk(calls):
    rows = gemini(calls)["contents"]
    return [{"author": row["role"], "content": row, "timestamp": 1.0} for row in rows]


def gemini_stream(calls):
    rows = [{"type": "init", "session_id": "s"}, {"type": "message", "role": "user"}]
    rows[1]["content"] = GOAL
    for n, (tool, args, came, failed) in enumerate(calls):
        status = "error" if failed else "success"
        rows += [
            {"type": "tool_use", "tool_name": tool, "tool_id": f"c{n}", "parameters": args},
            {"type": "tool_result", "tool_id": f"c{n}", "status": status, "output": came},
        ]
    return rows


def bedrock(calls):
    rows = [{"role": "user", "content": [{"text": GOAL}]}]
    for n, (tool, args, came, failed) in enumerate(calls):
        status = "error" if failed else "success"
        asked = {"toolUse": {"toolUseId": f"c{n}", "name": tool, "input": args}}
        told = {"toolResult": {"toolUseId": f"c{n}", "content": [{"text": came}]}}
        told["toolResult"]["status"] = status
        rows += [
            {"role": "assistant", "content": [{"text": "I look."}, asked]},
            {"role": "user", "content": [told]},
        ]
    return rows


def strands(calls):
    return [{"message": row, "message_id": n} for n, row in enumerate(bedrock(calls))]


def pydantic_ai(calls):
    rows = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": GOAL}]}]
    for n, (tool, args, came, failed) in enumerate(calls):
        part = {"tool_name": tool, "tool_call_id": f"c{n}"}
        asked = {**part, "part_kind": "tool-call", "args": json.dumps(args)}
        told = {**part, "part_kind": "retry-prompt" if failed else "tool-return", "content": came}
        rows += [{"kind": "response", "parts": [asked]}, {"kind": "request", "parts": [told]}]
    return rows


def responses(calls):
    rows = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": GOAL}]}]
    for n, (tool, args, came, _) in enumerate(calls):
        asked = {"type": "function_call", "id": f"f{n}", "call_id": f"c{n}", "name": tool}
        rows += [
            {"type": "reasoning", "summary": []},
            {**asked, "arguments": json.dumps(args)},
            {"type": "function_call_output", "call_id": f"c{n}", "output": came},
        ]
    return rows


def ai_sdk(calls):
    rows = [{"role": "user", "parts": [{"type": "text", "text": GOAL}]}]
    for n, (tool, args, came, failed) in enumerate(calls):
        told = {"state": "output-available", "output": came}
        if failed:
            told = {"state": "output-error", "errorText": came}
        part = {"type": f"tool-{tool}", "toolCallId": f"c{n}", "input": args, **told}
        rows.append({"role": "assistant", "parts": [{"type": "step-start"}, part]})
    return {"id": "chat", "messages": rows}


def ai_sdk_invocations(calls):
    rows = [{"role": "user", "content": GOAL}]
    for n, (tool, args, came, _) in enumerate(calls):
        inner = {"toolCallId": f"c{n}", "toolName": tool, "args": args}
        inner |= {"state": "result", "result": came}
        part = {"type": "tool-invocation", "toolInvocation": inner}
        rows.append({"role": "assistant", "content": "", "parts": [part]})
    return rows


def ai_sdk_model(calls):
    rows = [{"role": "user", "content": GOAL}]
    for n, (tool, args, came, failed) in enumerate(calls):
        part = {"toolCallId": f"c{n}", "toolName": tool}
        output = {"type": "error-text" if failed else "text", "value": came}
        rows += [
            {"role": "assistant", "content": [{**part, "type": "tool-call", "input": args}]},
            {"role": "tool", "content": [{**part, "type": "tool-result", "output": output}]},
        ]
    return rows


def opencode(calls):
    rows = [{"info": {"role": "user"}, "parts": [{"type": "text", "text": GOAL}]}]
    for n, (tool, args, came, failed) in enumerate(calls):
        state = {"status": "error" if failed else "completed", "input": args}
        state["error" if failed else "output"] = came
        part = {"type": "tool", "callID": f"c{n}", "tool": tool, "state": state}
        rows.append({"info": {"role": "assistant"}, "parts": [part]})
    return {"info": {"id": "s"}, "messages": rows}


def open_hands(calls):
    said = {"role": "user", "content": [{"type": "text", "text": GOAL}]}
    rows = [{"kind": "MessageEvent", "source": "user", "llm_message": said}]
    for n, (tool, args, came, failed) in enumerate(calls):
        named = {"tool_name": tool, "tool_call_id": f"c{n}"}
        asked = {"id": f"c{n}", "name": tool, "arguments": json.dumps(args)}
        told = {"content": [{"type": "text", "text": came}], "is_error": failed}
        action = {"kind": "Action", **args}
        rows += [
            {"kind": "ActionEvent", "source": "agent", **named, "tool_call": asked},
            {"kind": "ObservationEvent", "source": "environment", **named, "observation": told},
        ]
        rows[-2]["action"] = action
    return rows


def smolagents(calls):
    rows = [{"task": GOAL}]
    for n, (tool, args, came, failed) in enumerate(calls):
        call = {"id": f"c{n}", "type": "function", "function": {"name": tool, "arguments": args}}
        error = {"type": "AgentToolError", "message": came}
        told = {"error": error if failed else None, "observations": None if failed else came}
        before = [{"role": "user", "content": GOAL}]
        rows.append({"step_number": n, "tool_calls": [call], **told})
        rows[-1] |= {"model_output": "I look.", "model_input_messages": before}
    return {"state": "success", "steps": rows}


def browser_use(calls):
    steps = []
    for tool, args, came, failed in calls:
        output = {"next_goal": "Look.", "action": [{tool: args}]}
        told = {"is_done": False, "error" if failed else "extracted_content": came}
        steps.append({"model_output": output, "result": [told], "state": {"url": "/"}})
    return {"history": steps}


def steps_in_words(calls):
    steps = [
        {"thought": "I look.", "action": tool, "action_input": args, "observation": came}
        for tool, args, came, _ in calls
    ]
    return {"task": GOAL, "steps": steps}


def rounds(calls):
    before = [{"role": "user", "content": GOAL}]
    steps = [
        {"input_messages": before, "action": {"name": tool, "args": args}, "observation": came}
        for tool, args, came, _ in calls
    ]
    return {"query": GOAL, "rounds": steps}


def support_chat(calls):
    rows = [{"role": "user", "content": GOAL, "tool_call": None, "tool_result": None}]
    for tool, args, came, failed in calls:
        asked, told = {"name": tool, "args": args}, {"error" if failed else "found": came}
        rows += [
            {"role": "assistant", "content": "", "tool_call": asked, "tool_result": None},
            {"role": "tool", "content": "", "tool_call": None, "tool_result": told},
        ]
    return {"id": "t1", "turns": rows}


def block_rows(calls):
    rows = [{"role": "user", "content": {"type": "text", "text": GOAL}}]
    for n, (tool, args, came, failed) in enumerate(calls):
        asked = {"type": "tool_use", "tool_name": tool, "tool_id": f"c{n}", "input": args}
        told = {"type": "tool_result", "tool_id": f"c{n}", "output": came, "is_error": failed}
        rows += [{"role": "assistant", "content": asked}, {"role": "tool", "content": told}]
    return rows


def events(calls):
    rows = []
    for tool, args, came, failed in calls:
        rows += [
            {"event": "tool_call", "tool": tool, "args": args},
            {"event": "tool_result", "tool": tool, "result": came, "error": failed},
        ]
    return rows


FORMS = [
    *(langchain, langgraph, langchain_dicts, langchain_dumps, langchain_steps, autogen),
    *(gemini, adk, gemini_stream, bedrock, strands, pydantic_ai, responses, ai_sdk),
    *(ai_sdk_invocations, ai_sdk_model, opencode, open_hands, smolagents, browser_use),
    *(steps_in_words, rounds, support_chat, block_rows, events),
]
# These do not tell that a call failed, but by its words.
SILENT = [langchain_steps, responses, ai_sdk_invocations, steps_in_words, rounds, support_chat]


@pytest.fixture
def read(tmp_path):
    def write_and_read(value):
        file = tmp_path / "a-run.json"
        file.write_text(json.dumps(value, indent=1))
        return [turn for turn in read_recording(file).turns if turn]

    return write_and_read


@pytest.mark.parametrize("form", FORMS)
def test_each_call_has_its_name_arguments_and_answer(form, read):
    turns = read(form(CALLS))

    calls = [turn for turn in turns if turn.tool]
    assert [(call.tool, call.args) for call in calls] == [(call[0], call[1]) for call in CALLS]
    came = [call.result or call.error or "" for call in calls]
    assert all(told in answer for answer, (_, _, told, _) in zip(came, CALLS, strict=True))
    assert {turn.role for turn in turns} <= {Role.USER, Role.ASSISTANT}


@pytest.mark.parametrize("form", [form for form in FORMS if form not in SILENT])
def test_what_failed_is_told_as_an_error(form, read):
    calls = [turn for turn in read(form(CALLS)) if turn.tool]

    assert [call.error is not None for call in calls] == [failed for *_, failed in CALLS]


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_is_seen_and_work_is_none(form, read):
    assert first_trip(read(form(STUCK))) is not None
    assert first_trip(read(form(CALLS))) is None


@pytest.mark.parametrize(
    "form",
    [
        *(langgraph, autogen, gemini, adk, bedrock, pydantic_ai, responses, ai_sdk, opencode),
        *(gemini_stream, open_hands, support_chat, block_rows),
    ],
)
def test_a_person_is_heard_once_and_in_their_words(form, read):
    words = [turn.content for turn in read(form(CALLS)) if turn.role is Role.USER]

    assert words == [GOAL]


def test_the_members_of_a_group_are_told_apart(read):
    rows = [
        {"step": 0, "agent_name": "human", "content": GOAL},
        {"step": 1, "agent_name": "Baker", "content": "I counted eleven."},
        {"step": 2, "agent_name": "Clerk", "content": "The list says twelve."},
    ]

    turns = read({"question": GOAL, "trajectory": rows, "mistake_step": 1})

    assert [turn.agent for turn in turns] == [None, "Baker", "Clerk"]
    assert turns[0].role is Role.USER


@pytest.mark.parametrize(
    "before",
    [
        [{"source": "bread.md", "content": "Rye needs a day."}],
        [{"name": "look_up", "parameters": {"type": "object", "properties": {}}}],
    ],
)
def test_what_stands_before_the_messages_of_a_document_is_passed_over(before, read):
    turns = read({"known": before, "messages": langchain(CALLS)})

    assert [turn.tool for turn in turns if turn.tool] == [tool for tool, *_ in CALLS]


def test_calls_and_answers_side_by_side_belong_together_by_place(read):
    asked = [{"tool_key": tool, "params": args} for tool, args, *_ in CALLS]
    told = [{"ok": not failed, "error": came if failed else ""} for *_, came, failed in CALLS]

    calls = read([{"trace_id": "t", "plan_calls": asked, "exec_result": told}])

    assert [call.error for call in calls] == [None, None, CALLS[2][2], None]


def test_a_call_told_by_two_nodes_is_one(read):
    call = [{"name": "look_up", "args": {"table": "orders"}, "id": "c1"}]
    nodes = [
        {"node_name": "agent", "output": "", "tool_calls": call},
        {"node_name": "tools", "output": "id, day", "tool_calls": call},
    ]

    turns = read({"trajectory": nodes})

    assert [(turn.tool, turn.result) for turn in turns] == [("look_up", "id, day")]


def test_what_a_model_call_used_and_cost_stands_with_its_first_call(read):
    calls = [{"id": f"c{n}", "name": "look_up", "args": {"table": "ovens"}} for n in range(2)]
    used = {"input_tokens": 100, "cached_tokens": 90, "output_tokens": 7}
    row = {"type": "ai", "content": "", "tool_calls": calls, "usage_metadata": used, "cost": 0.5}

    first, second = read([{**row, "response_metadata": {"model_name": "gpt-5"}}])

    assert (first.usage.input, first.usage.cache_read, first.usage.output) == (10, 90, 7)
    assert (first.model, str(first.cost_usd)) == ("gpt-5", "0.5")
    assert (second.usage, second.cost_usd) == (None, None)


def test_answers_without_an_id_go_to_the_calls_of_their_name_in_order(read):
    parts = [{"functionCall": {"name": "look_up", "args": {"table": t}}} for t in ("a", "b")]
    told = [{"functionResponse": {"name": "look_up", "response": {"r": t}}} for t in ("A", "B")]

    turns = read([{"role": "model", "parts": parts}, {"role": "user", "parts": told}])

    assert [turn.result for turn in turns] == ["A", "B"]


def test_an_action_in_free_words_is_a_call_of_its_own(read):
    step = {"thought": "I open it.", "action": "click on 'Orders'", "observation": "A list."}

    (turn,) = read([step])

    assert (turn.tool, turn.args, turn.result) == ("act", {"input": step["action"]}, "A list.")


@pytest.mark.parametrize(
    "value",
    [
        {"history": [{"iteration": 1, "steps": {"testing": {"quality": 0.4}}}]},
        [{"event": "rule", "msg_id": "m1", "source": "inbox", "reason": "automated"}],
        {"tools": [{"name": "look_up", "description": "Looks up.", "parameters": {}}]},
        [{"type": "GENERATION", "name": "chat", "input": "Hello", "output": "Hi"}],
        {"name": "a-package", "scripts": {"test": "vitest"}, "files": ["a", "b"]},
    ],
)
def test_what_is_no_log_of_an_agent_is_refused(value, read):
    with pytest.raises(UnreadableRecording):
        read(value)


def test_a_turn_file_with_steps_of_its_own_stays_one(tmp_path):
    bare = {"role": "assistant", "agent": "a", "tool": "look_up", "content": "Once more."}
    rows = [{"tool": "look_up", "args": {"n": 1}, "files": ["a.py"], "result": "x"}, bare]

    recording = read_recording(write_lines(tmp_path / "r.jsonl", rows))

    assert recording.form == "turns"
    assert recording.turns[0].files == ("a.py",)


def test_runs_that_one_file_was_written_by_each_begin_anew(read):
    rows = [
        {"session_id": session, "tool_name": "look_up", "tool_input": {}, "tool_output": "x"}
        for session in ("monday", "tuesday")
    ]

    assert [turn.session for turn in read(rows)] == ["monday", "tuesday"]


def test_blocks_that_hold_no_words_are_no_empty_messages(read):
    rows = [
        {"role": "user", "content": GOAL},
        *[{"role": "assistant", "content": [{"type": "chart", "points": [1, 2]}]}] * 4,
        {"role": "assistant", "content": "Done."},
    ]

    assert [turn.content for turn in read(rows)] == [GOAL, "Done."]


def test_a_persons_words_beside_what_was_done_are_theirs(read):
    rows = [
        {"user_query": GOAL, "tool_calls": [{"function": "look_up", "args": {}}], "answer": None},
        {"type": "command", "utterance": "thank you", "tool": None, "success": False},
        {"type": "command", "utterance": "open the list", "tool": "open", "success": False},
    ]

    turns = read(rows)

    assert [turn.content for turn in turns if turn.role is Role.USER] == [
        GOAL,
        "thank you",
        "open the list",
    ]
    assert [(turn.tool, turn.error) for turn in turns if turn.tool] == [
        ("look_up", None),
        ("open", "failed"),
    ]


def test_questions_with_their_answers_are_no_log(read):
    with pytest.raises(UnreadableRecording):
        read([{"question": "How many loaves?", "answer": "Twelve."}])


def test_a_call_told_by_a_message_and_by_events_is_one(read):
    block = {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"table": "orders"}}
    rows = [
        {"role": "assistant", "content": block},
        {"event": "tool_start", "tool_name": "look_up", "args": {"table": "orders"}},
        {"event": "tool_end", "tool_name": "look_up", "output": "id, day"},
        {"role": "user", "content": {"type": "tool_result", "tool_use_id": "c1", "content": "id"}},
    ]

    assert [(turn.tool, turn.result) for turn in read(rows)] == [("look_up", "id")]


def test_equal_calls_without_ids_are_several(read):
    rows = [{"type": "tool_call", "name": "look_up", "arguments": {"table": "orders"}}] * 3

    assert len(read(rows)) == 3


def test_an_answer_that_is_missing_moves_those_of_its_batch_alone(read):
    def pair(table):
        return [
            {"type": "tool_call", "name": "look_up", "arguments": {"table": table}},
            {"type": "tool_result", "name": "look_up", "result": table.upper()},
        ]

    both = {"type": "tool_call", "name": "look_up", "arguments": {"table": "lost"}}
    turns = read([*pair("a"), both, *pair("b"), *pair("c")])

    assert [turn.result for turn in turns] == ["A", "B", None, "C"]


def test_what_is_nested_without_end_is_read_as_it_stands(read):
    came = "deep"
    for _ in range(900):
        came = {"inner": came}

    (turn,) = read([{"tool_name": "look_up", "tool_input": {}, "tool_output": came}])

    assert "deep" in (turn.result or "")


def test_a_conversation_that_each_request_tells_again_is_one(read):
    rows = bedrock(CALLS)
    requests = [{"request": {"messages": rows[: 2 * n + 1]}} for n in range(len(CALLS) + 1)]

    turns = read(requests)

    assert [turn.tool for turn in turns if turn.tool] == [tool for tool, *_ in CALLS]
    assert [turn.content for turn in turns if turn.role is Role.USER] == [GOAL]
    assert {turn.session for turn in turns} == {"0"}


@pytest.mark.parametrize("newest_first", [False, True])
def test_the_tools_of_a_trace_are_its_calls_oldest_first(read, newest_first):
    spans = [
        {"type": "TOOL", "name": tool, "input": args, "output": came, "startTime": f"2026-05-0{n}"}
        for n, (tool, args, came, _) in enumerate(CALLS, start=1)
    ]
    spans.append({"type": "GENERATION", "name": "chat", "input": [], "output": "Done."})
    trace = {"name": "a-run", "input": GOAL, "output": "Done.", "observations": spans}
    trace["observations"] = spans[::-1] if newest_first else spans

    calls = [turn for turn in read(trace) if turn.tool]

    assert [(call.tool, call.result) for call in calls] == [
        (tool, came) for tool, _, came, _ in CALLS
    ]


def test_a_span_that_failed_says_why(read):
    span = {"type": "TOOL", "name": "look_up", "input": {}, "output": None, "level": "ERROR"}

    (call,) = read([{**span, "statusMessage": "no such table"}])

    assert call.error == "no such table"


def test_names_of_attributes_are_read_without_their_dots(read):
    span = {
        "name": "look_up",
        "span_kind": "TOOL",
        "status_code": "ERROR",
        "attributes.tool.name": "look_up",
        "attributes.input.value": '{"table": "orders"}',
        "attributes.output.value": "no such table",
    }

    (call,) = read([span])

    assert (call.args, call.error) == ({"table": "orders"}, "no such table")


def test_a_step_with_a_tool_and_an_input_is_no_turn_files(read):
    step = {"agent": "Clerk", "tool": "look_up", "input": '{"table": "orders"}', "output": "id"}

    (call,) = read([step])

    assert (call.args, call.result) == ({"table": "orders"}, "id")


def test_a_tools_name_may_be_words(read):
    steps = [
        {"tool": "Search the shelf", "tool_input": {"for": "rye"}, "result": "two"},
        {"action": "Search the shelf", "action_input": {"for": "rye"}, "observation": "two"},
    ]

    assert [(turn.tool, turn.args) for turn in read(steps)] == [
        ("Search the shelf", {"for": "rye"}),
        ("act", {"input": "Search the shelf", "for": "rye"}),
    ]


def test_what_else_a_call_without_arguments_says_tells_it_from_the_next(read):
    rows = [
        {"agent_id": f"a{n % 2}", "step": n, "action": "browse", "content": f"press {n}"}
        for n in range(6)
    ]

    turns = read(rows)

    assert [turn.args for turn in turns] == [{"input": f"press {n}"} for n in range(6)]
    assert {turn.agent for turn in turns} == {"a0", "a1"}
    assert first_trip(turns) is None


def test_who_acts_in_a_play_is_named(read):
    rows = [{"agent": name, "action": f"{name} waits.", "time": 0} for name in ("Ida", "Ole")]

    assert [turn.agent for turn in read(rows)] == ["Ida", "Ole"]


def test_steps_that_only_tell_what_was_done_are_calls(read):
    steps = [{"step_num": n, "action": f"click({n}, 20)", "reward": 0} for n in range(2)]

    assert [turn.args["input"] for turn in read(steps)] == ["click(0, 20)", "click(1, 20)"]


def test_a_row_with_a_role_and_a_tool_keeps_what_it_calls_in_other_words(read):
    told = {"role": "assistant", "tool": "look", "input": {"at": "sky"}, "output": "grey"}

    (turn,) = read([told])

    assert (turn.tool, turn.args, turn.result) == ("look", {"at": "sky"}, "grey")


@pytest.mark.parametrize("who", ["agent", "sender", "speaker", "agent_name"])
def test_the_message_beside_an_agent_s_name_is_what_it_says(who, read):
    rows = [{who: "coder", "message": "It is wet."}, {who: "user", "message": "Go on."}]

    said = [(turn.role, turn.agent, turn.content) for turn in read(rows)]

    assert said == [(Role.ASSISTANT, "coder", "It is wet."), (Role.USER, None, "Go on.")]


def test_a_tool_s_events_are_one_call_though_a_message_told_it_before(tmp_path):
    def event(kind, **data):
        return json.dumps({"event": kind, "name": "look", "run_id": "r", "data": data})

    sky = {"at": "sky"}
    asks = {"type": "ai", "content": "", "tool_calls": [{"name": "look", "args": sky, "id": "c"}]}
    file = tmp_path / "events.jsonl"
    file.write_text(
        "\n".join(
            [
                event("on_chain_stream", chunk={"agent": {"messages": [asks]}}),
                event("on_tool_start", input=sky),
                event("on_tool_end", output="grey", input=sky),
                event("on_tool_start", input={"at": "sea"}),
                event("on_tool_end", output="wet"),
            ]
        )
    )

    turns = read_recording(file).turns

    told = [(turn.tool, turn.args, turn.result) for turn in turns]
    assert told == [("look", sky, "grey"), ("look", {"at": "sea"}, "wet")]
