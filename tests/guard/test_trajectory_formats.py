"""The forms in which harnesses and models' interfaces write a run, each with one loop."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.formats import FORMATS, read_recording
from guard.turn import Role
from tests.guard.build import first_trip
from tests.guard.transcripts import write_lines

COMMAND = "npx vitest run tests/orders.spec.ts"
FAILURE = "FAIL tests/orders.spec.ts\nExpected total 42.50, received 42.05\n1 failed, 11 passed"
GOAL = "Order totals are a few cents off. Mend it."
ARGUMENTS = {"command": COMMAND}
ASKED = {"role": "user", "content": GOAL}


def openai(times):
    rows = [{"role": "system", "content": "You mend code."}, ASKED]
    for n in range(times):
        call = {"id": f"c{n}", "function": {"name": "bash", "arguments": json.dumps(ARGUMENTS)}}
        rows += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": FAILURE},
        ]
    return rows


def anthropic(times):
    rows = [ASKED]
    for n in range(times):
        call = {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": ARGUMENTS}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": FAILURE}
        rows += [
            {"role": "assistant", "content": [{"type": "text", "text": "Run it."}, call]},
            {"role": "user", "content": [result]},
        ]
    return rows


def share_gpt(times):
    call = json.dumps({"name": "bash", "arguments": ARGUMENTS})
    pair = [
        {"from": "gpt", "value": f"<tool_call>\n{call}\n</tool_call>"},
        {"from": "observation", "value": FAILURE},
    ]
    return [{"from": "human", "value": GOAL}, *pair * times]


def mini_swe_agent(times):
    pair = [
        {"role": "assistant", "content": f"THOUGHT: Run it.\n\n```bash\n{COMMAND}\n```"},
        {"role": "user", "content": f"<returncode>1</returncode>\n<output>\n{FAILURE}\n</output>"},
    ]
    return {"messages": [ASKED, *pair * times], "trajectory_format": "mini-swe-agent-1"}


def swe_agent(times):
    step = {"action": COMMAND + "\n", "observation": FAILURE, "thought": "Run it.", "state": "{}"}
    return {"environment": "swe_main", "trajectory": [step] * times, "info": {}}


def open_hands(times):
    rows = [{"id": 0, "source": "user", "action": "message", "args": {"content": GOAL}}]
    for n in range(times):
        metadata = {"exit_code": 1}
        rows += [
            {"id": 2 * n + 1, "source": "agent", "action": "run", "args": {**ARGUMENTS}},
            {
                "id": 2 * n + 2,
                "source": "agent",
                "cause": 2 * n + 1,
                "observation": "run",
                "content": FAILURE,
                "extras": {"metadata": metadata},
            },
        ]
    return rows


def atif(times):
    steps = [{"step_id": 1, "source": "user", "message": GOAL}]
    for n in range(times):
        call = {"tool_call_id": f"c{n}", "function_name": "bash", "arguments": ARGUMENTS}
        steps.append(
            {
                "step_id": n + 2,
                "source": "agent",
                "model_name": "sonnet",
                "message": "Run it.",
                "tool_calls": [call],
                "observation": {"results": [{"source_call_id": f"c{n}", "content": FAILURE}]},
                "metrics": {"prompt_tokens": 100, "cached_tokens": 90, "cost_usd": 0.01},
            }
        )
    return {"schema_version": "ATIF-v1.5", "session_id": "a1", "steps": steps}


def claude_stream(times):
    rows = [{"type": "system", "subtype": "init", "session_id": "s1"}]
    for n in range(times):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": ARGUMENTS}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": FAILURE}
        rows += [
            {"type": kind, "session_id": "s1", "message": {"role": kind, "content": [block]}}
            for kind, block in (("assistant", call), ("user", {**result, "is_error": True}))
        ]
    return [*rows, {"type": "result", "result": "gave up", "session_id": "s1"}]


def codex_exec(times):
    item = {
        "type": "command_execution",
        "command": COMMAND,
        "aggregated_output": FAILURE,
        "exit_code": 1,
        "status": "failed",
    }
    rows = [{"type": "thread.started", "thread_id": "x1"}, {"type": "turn.started"}]
    for n in range(times):
        rows += [
            {"type": f"item.{stage}", "item": {"id": f"i{n}", **item}}
            for stage in ("started", "completed")
        ]
    return rows


def as_lines(file, rows):
    return write_lines(file, rows)


def as_document(file, value):
    file.write_text(json.dumps(value, indent=1))
    return file


def as_messages(file, rows):
    return as_document(file, {"messages": rows})


FORMS = {
    "OpenAI's messages, a line each": (openai, as_lines),
    "OpenAI's messages, a list": (openai, as_document),
    "OpenAI's messages, a document": (openai, as_messages),
    "Anthropic's messages, a line each": (anthropic, as_lines),
    "Anthropic's messages, a document": (anthropic, as_messages),
    "ShareGPT": (lambda times: {"conversations": share_gpt(times)}, as_document),
    "mini-swe-agent": (mini_swe_agent, as_document),
    "SWE-agent": (swe_agent, as_document),
    "OpenHands": (open_hands, as_document),
    "ATIF": (atif, as_document),
    "Claude Code's stream": (claude_stream, as_lines),
    "codex exec": (codex_exec, as_lines),
}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a-run.json"


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_is_seen_in_each_form(form, file):
    run, write = FORMS[form]

    turns = read_recording(write(file, run(5))).turns

    assert first_trip(turn for turn in turns if turn is not None) is not None


NATIVE = [form for form in FORMS if form not in {"ShareGPT", "mini-swe-agent"}]


@pytest.mark.parametrize("form", NATIVE)
def test_a_call_has_its_arguments_and_what_came_back(form, file):
    run, write = FORMS[form]

    turns = read_recording(write(file, run(2))).turns

    calls = [turn for turn in turns if turn and turn.tool]
    assert [call.args["command"] for call in calls] == [COMMAND, COMMAND]
    assert all(FAILURE in (call.result or call.error or "") for call in calls)
    assert [turn.seq for turn in turns if turn] == list(range(len(turns)))


@pytest.mark.parametrize("form", ["OpenHands", "Claude Code's stream", "codex exec"])
def test_a_failure_is_told_as_one(form, file):
    run, write = FORMS[form]

    turns = read_recording(write(file, run(1))).turns

    assert any(turn.error for turn in turns if turn)


def test_several_documents_in_a_file_are_sessions_of_their_own(file):
    recording = read_recording(as_lines(file, [{"messages": openai(1)}, {"messages": openai(1)}]))

    assert {turn.session for turn in recording.turns} == {"0", "1"}


def test_what_a_step_cost_is_told_once(file):
    document = atif(1)
    first = document["steps"][1]["tool_calls"][0]
    document["steps"][1]["tool_calls"].append({**first, "tool_call_id": "other"})

    turns = read_recording(as_document(file, document)).turns

    assert [turn.cost_usd for turn in turns] == [None, Decimal("0.01"), None]
    assert (turns[1].usage.input, turns[1].usage.cache_read) == (10, 90)


def test_a_stream_tells_a_subagent_from_the_agent(file):
    rows = claude_stream(2)
    for row in rows[3:5]:
        row["parent_tool_use_id"] = "toolu_task"

    turns = read_recording(as_lines(file, rows)).turns

    assert [turn.agent for turn in turns] == [None, "side"]


def test_a_person_beside_results_is_heard(file):
    rows = anthropic(1)
    rows[-1]["content"].append({"type": "text", "text": "Leave the tests alone."})

    last = read_recording(as_lines(file, rows)).turns[-1]

    assert (last.role, last.content) == (Role.USER, "Leave the tests alone.")


def test_a_turn_file_with_plain_messages_stays_one(file):
    rows = [{"run": "r", "goal": GOAL}, ASKED, {"role": "assistant", "content": "Done."}]

    assert read_recording(as_lines(file, rows)).run == "r"


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=8), inner)),
    max_leaves=8,
)
WORDS = (
    "role from content value messages tool_calls tool_call_id function_call steps schema_version"
    " trajectory action observation source args id cause extras type item name message"
    " parts kind functionCall functionResponse toolUse state status output error usage step tool"
    " model_output result utterance data"
)
NAMES = st.sampled_from(WORDS.split())
ROWS = st.lists(st.dictionaries(NAMES, JSON), max_size=4)


@given(ROWS, st.sampled_from(sorted(FORMATS)))
def test_strange_records_are_passed_over(rows, form):
    recognises, read = FORMATS[form]

    assert recognises(rows) in {True, False}
    assert read([*rows, None], stem="x").malformed >= 1
