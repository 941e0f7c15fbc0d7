from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.errors import UnreadableRecording
from guard.formats import FORMATS, read_recording
from guard.formats.fields import read_time, read_turn, read_usage
from guard.pricing import read_dollars
from guard.turn import Phase, Role, Usage
from tests.guard import transcripts
from tests.guard.build import first_trip
from tests.guard.transcripts import MISSING, write_lines

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=8), inner)),
    max_leaves=8,
)
WHOLE_TURN = {
    "key": "k",
    "agent": "coder",
    "role": "assistant",
    "phase": "proposed",
    "tool": "Bash",
    "args": {"command": "pytest -q"},
    "content": "c",
    "result": "r",
    "error": "e",
    "files": ["app/auth.py"],
    "state": "s",
    "action_class": "test_run",
    "call_id": "m",
    "model": "claude-sonnet-4-5",
    "provider": "anthropic",
    "usage": {"input": 1200, "cache_read": 9000, "cache_write_5m": 300, "output": 42},
    "cost_usd": "0.008055",
    "ts": "2026-11-21T21:08:00Z",
}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a-run.jsonl"


def test_a_turn_is_read_field_by_field():
    turn = read_turn(WHOLE_TURN, seq=3)

    assert (turn.key, turn.phase, turn.files, turn.seq) == (
        "k",
        Phase.PROPOSED,
        ("app/auth.py",),
        3,
    )
    assert turn.usage == Usage(input=1200, cache_read=9000, cache_write_5m=300, output=42)
    assert turn.cost_usd == Decimal("0.008055")
    assert turn.ts == datetime(2026, 11, 21, 21, 8, tzinfo=UTC)


@pytest.mark.parametrize("name", [name for name in WHOLE_TURN if name not in {"role", "tool"}])
@pytest.mark.parametrize("value", [7, True, [], {"x": [1]}, 1e400, "\ud800"])
def test_a_field_of_another_form_is_absent_and_the_turn_stays(name, value):
    assert read_turn({**WHOLE_TURN, name: value}) is not None


@given(st.dictionaries(st.sampled_from(list(WHOLE_TURN)), JSON))
def test_no_form_of_any_field_is_an_error(row):
    read_turn({**WHOLE_TURN, **row})


@pytest.mark.parametrize("role", ["wizard", 7, None, "Assistant"])
def test_whoever_is_not_known_acts(role):
    assert read_turn({"role": role, "tool": "Bash"}).role is Role.ASSISTANT


@pytest.mark.parametrize("role", ["user", "User", "human", "customer"])
def test_a_person_is_known_by_other_names_too(role):
    assert read_turn({"role": role, "content": "hi"}).role is Role.USER


@pytest.mark.parametrize("role", ["tool", "function", "observation", "Environment"])
def test_what_came_back_is_no_word_of_the_agent_s(role):
    assert read_turn({"role": role, "content": "hi"}).role is Role.TOOL


@pytest.mark.parametrize("given", ["ls -l", "[1]", [1], '{"broken": '])
def test_what_a_call_is_given_tells_it_from_the_next_whatever_it_is(given):
    assert read_turn({"tool": "Bash", "args": given}).args not in (None, {})


@pytest.mark.parametrize("given", [None, "", "null", "{}", {}])
def test_a_call_that_is_given_nothing_has_no_arguments(given):
    assert not read_turn({"tool": "Bash", "args": given}).args


def test_what_is_said_may_stand_in_blocks():
    blocks = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]

    assert read_turn({"role": "assistant", "content": blocks}).content == "one\ntwo"


@pytest.mark.parametrize("error", [False, {}, None, 0])
def test_an_error_that_says_there_was_none_is_none(error):
    assert read_turn({"tool": "Bash", "result": "done", "error": error}).error is None


def test_an_object_that_says_nothing_of_a_turn_is_none():
    assert read_turn({"weather": "fine"}) is None
    assert read_turn({"role": "assistant"}).content == ""


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-11-21T21:08:00+01:00", "2026-11-21T20:08:00+00:00"),
        ("2026-11-21 21:08:00", "2026-11-21T21:08:00+00:00"),
        (1795295317, "2026-11-21T21:08:37+00:00"),
        (1795295317000, "2026-11-21T21:08:37+00:00"),
        ("1795295317", "2026-11-21T21:08:37+00:00"),
    ],
)
def test_a_time_may_be_a_number_or_have_no_zone(value, moment):
    assert read_time(value).astimezone(UTC).isoformat() == moment


@pytest.mark.parametrize("value", ["soon", None, True, [], 1e300, float("nan"), "nan", -1e300])
def test_what_is_no_time_is_none(value):
    assert read_time(value) is None


@pytest.mark.parametrize("value", ["much", None, True, -1, "NaN", "Infinity", []])
def test_what_is_no_money_is_none(value):
    assert read_dollars(value) is None


def test_usage_without_a_count_is_none():
    assert read_usage({"input": "many", "output": -3}) is None


def test_a_turn_files_header_names_the_run_and_its_label_stays_unread(file):
    header = {"run": "r1", "label": {"looping": True}, "workspace": ["a.py"], "goal": "g"}
    write_lines(file, [header, {"role": "user", "content": "hi"}])

    recording = read_recording(file)

    assert (recording.run, recording.workspace, recording.goal) == ("r1", ("a.py",), "g")
    assert [turn.seq for turn in recording.turns] == [0]


def test_without_a_header_the_run_is_the_files_stem(file):
    write_lines(file, [{"role": "user", "content": "hi"}])

    assert read_recording(file).run == "a-run"


def fails_and_reads(times, sessions=("a", "b")):
    """One sub-agent fails the same way again and again while another of its name reads on."""
    looping, busy = sessions
    failing = {"role": "assistant", "agent": "coder", "tool": "Bash", "session": looping}
    reading = {"role": "assistant", "agent": "coder", "tool": "Read", "session": busy}
    for n in range(times):
        yield failing | {"args": {"command": "make"}, "error": "no rule to make target"}
        yield reading | {"args": {"path": f"{n}.md"}, "result": f"chapter {n}: {n * 7919}"}


def test_sub_agents_of_one_name_that_alternate_are_told_apart_by_their_sessions(file):
    write_lines(file, list(fails_and_reads(4)))

    recording = read_recording(file)

    assert [turn.agent for turn in recording.turns[:3]] == ["coder a", "coder b", "coder a"]
    assert first_trip(recording.turns) is not None


def test_of_alternating_sessions_a_person_stays_a_person(file):
    person = {"role": "user", "content": "try again", "session": "a"}
    write_lines(file, [*fails_and_reads(2), person])

    assert read_recording(file).turns[-1].agent is None


def test_sessions_that_follow_each_other_each_begin_anew(file):
    failing = [turn for turn in fails_and_reads(2) if turn["tool"] == "Bash"]
    later = [turn | {"session": "c"} for turn in failing]
    write_lines(file, [*failing, *later])

    recording = read_recording(file)

    assert [turn.session for turn in recording.turns] == ["a", "a", "c", "c"]
    assert first_trip(recording.turns) is None


def test_claude_codes_sub_agents_without_an_id_are_told_apart_by_their_chains(file):
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a"}}
    chain = [("u1", None), ("v1", None), ("u2", "u1"), ("v2", "v1"), ("u3", "u2")]
    records = [
        claude_record("assistant", [call | {"id": own}], isSidechain=True)
        | {
            "uuid": own,
            "parentUuid": before,
        }
        for own, before in chain
    ]
    write_lines(file, records)

    assert [turn.agent for turn in read_recording(file).turns] == [
        "side",
        "side 2",
        "side",
        "side 2",
        "side",
    ]


def test_lines_that_cannot_be_read_are_counted_and_keep_their_position(file):
    turn = json.dumps({"role": "user", "content": "hi"})
    file.write_text(f'{{"run": "r"}}\n{turn}\n\n{{broken\n[1]\n{{"x": 1}}\n{turn}\n')

    recording = read_recording(file)

    assert [turn is not None for turn in recording.turns] == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]
    assert recording.malformed == 4
    assert recording.turns[-1].seq == 5


def test_bytes_that_are_no_text_do_not_stop_it(file):
    file.write_bytes(b'{"role": "user", "content": "hi"}\n\xff\xfe\x00\n')

    assert read_recording(file).malformed == 1


TURN = {"role": "user", "content": "hi"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TURN) + "\n" + json.dumps(TURN) + "\n",
        json.dumps([TURN, TURN], indent=2),
        json.dumps(TURN, indent=2) + "\n" + json.dumps(TURN, indent=2),
        json.dumps(TURN, indent=2).replace("{", "{  ", 1) + ",\r\n" + json.dumps(TURN),
    ],
)
def test_a_file_is_read_however_its_editor_wrote_it(file, text, encoding):
    file.write_bytes(text.encode(encoding))

    recording = read_recording(file)

    assert [turn and turn.content for turn in recording.turns] == ["hi", "hi"]
    assert recording.malformed == 0


def test_a_table_is_read_by_its_columns(file):
    file.write_text(
        "actor,message,tool_calls,timestamp\n"
        'user,"Count the lamps,\nplease.",,2026-05-05T10:00:00\n'
        'assistant,,"[{""name"": ""count"", ""args"": {""of"": ""lamps""}, ""id"": ""c1""}]",\n'
        "tool,seven,,\n"
    )

    recording = read_recording(file)

    assert [(turn.role, turn.content, turn.tool) for turn in recording.turns] == [
        (Role.USER, "Count the lamps,\nplease.", None),
        (Role.ASSISTANT, None, "count"),
        (Role.TOOL, "seven", None),
    ]
    assert recording.turns[1].args == {"of": "lamps"}


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_the_columns_of_a_table_may_be_parted_otherwise(file, delimiter):
    lines = [["tool", "input", "output"], ["count", '{"of":"lamps"}', "seven"]]
    file.write_text("".join(delimiter.join(line) + "\r\n" for line in lines))

    (turn,) = read_recording(file).turns

    assert (turn.tool, turn.args, turn.result) == ("count", {"of": "lamps"}, "seven")


def test_a_table_that_tells_of_no_agent_is_refused(file):
    file.write_text("day,loaves\nmonday,12\n")

    with pytest.raises(UnreadableRecording):
        read_recording(file)


@pytest.mark.parametrize("text", ["", "no json", '{"a": 1}\n', "[]"])
def test_a_file_of_no_known_form_is_refused_with_a_sentence(file, text):
    file.write_text(text)

    with pytest.raises(UnreadableRecording, match=r"a-run\.jsonl: "):
        read_recording(file)


def test_a_file_that_is_not_there_is_refused(file):
    with pytest.raises(UnreadableRecording, match="No such file"):
        read_recording(file)


def test_claude_code_transcripts_give_calls_with_their_errors(file):
    recording = read_recording(write_lines(file, transcripts.claude_code(2)))

    assert recording.run == "df28a4ce"
    roles = [(turn.role, turn.tool) for turn in recording.turns]
    assert roles == [(Role.USER, None)] + [(Role.ASSISTANT, None), (Role.ASSISTANT, "Read")] * 2
    assert recording.turns[2].error == MISSING
    assert recording.turns[2].usage == recording.turns[1].usage
    assert recording.turns[2].call_id == "msg_0"


def test_codex_rollouts_give_calls_with_their_exit_codes(file):
    recording = read_recording(write_lines(file, transcripts.codex(2)))

    assert recording.run == "01a1fff0"
    assert [turn.tool for turn in recording.turns] == [None, "exec_command", "exec_command"]
    assert recording.turns[1].error.startswith("exit code 1\ncat: app/tokens.py")
    assert recording.turns[1].model == "gpt-5.1-codex"


def test_codex_usage_told_twice_counts_once_and_leaves_out_what_was_cached(file):
    recording = read_recording(write_lines(file, transcripts.codex(2)))

    used = [turn.usage for turn in recording.turns if turn.usage]
    assert used == [Usage(input=500, cache_read=1000, output=42, reasoning=10)] * 2


def test_gemini_sessions_give_each_call_once(file):
    recording = read_recording(write_lines(file, transcripts.gemini(2)))

    assert recording.run == "7928e511"
    assert [turn.tool for turn in recording.turns] == [None, "read_file", "read_file"]
    assert recording.turns[1].error == MISSING
    assert recording.turns[1].usage.output == 52


def test_gemini_sessions_may_be_one_document(file):
    head, *rows = transcripts.gemini(2)
    messages = [row for row in rows if "id" in row and "toolCalls" in row]
    file.write_text(json.dumps({**head, "messages": messages}, indent=2))

    assert [turn.tool for turn in read_recording(file).turns] == ["read_file"] * 2


@pytest.mark.parametrize("rows", [transcripts.claude_code, transcripts.codex, transcripts.gemini])
def test_a_transcript_cut_anywhere_is_read_as_far_as_it_goes(file, rows):
    whole = "".join(json.dumps(row) + "\n" for row in rows())
    for end in range(len(whole) // 2, len(whole), 97):
        file.write_text(whole[:end])

        assert read_recording(file).turns


@given(rows=st.lists(st.dictionaries(st.sampled_from(["type", "payload", "message", "id"]), JSON)))
def test_strange_records_in_transcripts_are_passed_over(rows):
    for recognises, read in (FORMATS[form] for form in ("claude-code", "codex", "gemini")):
        recognises(rows)
        read(rows, stem="x")


def claude_record(kind: str, content: object, **fields) -> dict[str, object]:
    message = {"role": kind, "id": "m", "content": content}
    return {"type": kind, "uuid": "u", "message": message, **fields}


def test_claude_codes_machine_talk_is_no_person(file):
    rows = [
        claude_record("user", "<command-name>/clear</command-name>"),
        claude_record("user", "Caveat: generated", isMeta=True),
        claude_record("user", "the subagent's task", isSidechain=True),
        claude_record("user", "a summary", isCompactSummary=True),
        claude_record("user", [{"type": "text", "text": "Please go on."}]),
    ]

    assert [t.content for t in read_recording(write_lines(file, rows)).turns] == ["Please go on."]


def test_claude_codes_subagents_are_agents_of_their_own(file):
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    rows = [
        claude_record("assistant", [call], isSidechain=True),
        claude_record("assistant", [call], agentId="a1"),
        claude_record("assistant", "text as it stands"),
    ]

    assert [t.agent for t in read_recording(write_lines(file, rows)).turns] == ["side", "a1", None]


def test_claude_codes_results_may_be_blocks_or_belong_to_nothing(file):
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    blocks = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    rows = [
        claude_record("assistant", [call]),
        claude_record("user", [{"type": "tool_result", "tool_use_id": "t1", "content": blocks}]),
        claude_record("user", [{"type": "tool_result", "tool_use_id": "t9", "content": "lost"}]),
        claude_record("user", 7),
    ]

    assert [turn.result for turn in read_recording(write_lines(file, rows)).turns] == ["one\ntwo"]


def codex_item(**payload) -> dict[str, object]:
    return {"type": "response_item", "payload": payload}


@pytest.mark.parametrize(
    ("output", "result", "error"),
    [
        ('{"output": "hi", "metadata": {"exit_code": 0}}', "hi", None),
        ('{"output": "no", "metadata": {"exit_code": 2}}', None, "exit code 2\nno"),
        ('{"rows": 3}', '{"rows": 3}', None),
        ([{"type": "text", "text": "hi"}], "hi", None),
        ({"a": 1}, '{"a": 1}', None),
        (None, "", None),
    ],
)
def test_codex_outputs_of_any_form_are_read(file, output, result, error):
    rows = [
        codex_item(type="custom_tool_call", name="apply_patch", call_id="c", input="*** Begin"),
        codex_item(type="function_call_output", call_id="c", output=output),
        codex_item(type="function_call_output", call_id="lost", output="x"),
        codex_item(type="local_shell_call", id="l", action={"command": ["ls"]}),
    ]

    patch, shell = read_recording(write_lines(file, rows)).turns
    assert (patch.result, patch.error) == (result, error)
    assert patch.args == {"input": "*** Begin"}
    assert (shell.tool, shell.args) == ("local_shell_call", {"command": ["ls"]})


def test_gemini_answers_of_any_form_are_read(file):
    calls = [
        {"name": "a", "result": "text", "status": "success"},
        {"name": "b", "result": [{"text": "x", "more": 1}], "status": "success"},
        {"name": "c", "status": "cancelled"},
    ]
    message = {"id": "g", "type": "gemini", "content": {"text": "hello"}, "toolCalls": calls}
    rows = [message, {"id": "i", "type": "info", "content": "noise"}]

    turns = read_recording(write_lines(file, rows)).turns

    assert [turn.content for turn in turns] == ["hello", None, None, None]
    assert [turn.result for turn in turns[1:]] == ["text", '{"more": 1, "text": "x"}', None]
    assert turns[3].error == "cancelled"


def test_gemini_histories_told_again_replace_the_first_telling(file):
    message = {"id": "g", "type": "gemini", "content": "hello"}
    rows = [
        {"sessionId": "s", "projectHash": "h"},
        message,
        {"$set": {"messages": [{**message, "content": "hello again"}]}},
    ]

    assert [t.content for t in read_recording(write_lines(file, rows)).turns] == ["hello again"]
