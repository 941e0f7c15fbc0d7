"""What Claude Code's model calls used: read from its transcript, or sent by itself."""

import json
from decimal import Decimal

import pytest

from guard.adapters.base import Wiring
from guard.adapters.claude_code.adapter import (
    SETTINGS,
    USAGE_EVENT,
    local_facts,
    sends_telemetry,
    usage_body,
)
from guard.adapters.claude_code.hooks import calls_of, read
from guard.pricing import price
from guard.sdk.connections import USER_WIDE

KEY, URL = "mc_secret_key_1234567890", "http://127.0.0.1:9"
USAGE = {
    "input_tokens": 1200,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 9000,
    "output_tokens": 42,
    "cache_creation": {"ephemeral_1h_input_tokens": 0},
}


def a_record(message_id, *, model="claude-sonnet-4-5", **more):
    message = {"id": message_id, "model": model, "role": "assistant", "usage": USAGE}
    return {"type": "assistant", "sessionId": "s-1", "message": message, **more}


def write(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


@pytest.fixture
def transcript(tmp_path):
    return tmp_path / "s-1.jsonl"


def told_by(transcript):
    body = {"session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": "Bash"}
    body |= {"transcript_path": str(transcript), "tool_input": {}}
    return calls_of(body | local_facts(body))


def in_settings(settings, **fields):
    defaults = {"client": "claude-code", "place": "/shop", "url": URL, "key": KEY}
    defaults |= {"fail": "open", "forwarder": ["/opt/guard"], "via": "http"}
    return SETTINGS.with_hooks(settings, Wiring(**(defaults | fields)))


def test_an_answer_of_several_blocks_is_one_call_and_costs_what_it_costs(transcript):
    write(transcript, a_record("msg_1"), a_record("msg_1"), a_record("msg_2"))

    first, second = told_by(transcript)

    assert (first.call_id, second.call_id, first.source) == ("msg_1", "msg_2", "transcript")
    assert price(first.usage, model=first.model, provider=first.provider) == Decimal("0.008055")


def test_a_call_names_the_first_tool_its_answer_asked_for(transcript):
    blocks = [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_1"}]
    records = [a_record("msg_1") for _ in blocks]
    for record, block in zip(records, blocks, strict=True):
        record["message"]["content"] = [block]
    write(transcript, *records, a_record("msg_2"))

    assert [call.turn_key for call in told_by(transcript)] == ["toolu_1", None]


def test_a_subagents_calls_are_read_and_are_its_own(transcript):
    write(transcript, a_record("msg_1"))
    folder = transcript.with_suffix("") / "subagents"
    write(folder / "agent-a1.jsonl", a_record("msg_2", agentId="a1", isSidechain=True))
    (folder / "agent-a1.meta.json").write_text(json.dumps({"agentType": "Explore"}))

    assert {(call.call_id, call.agent) for call in told_by(transcript)} == {
        ("msg_1", ""),
        ("msg_2", "Explore:a1"),
    }


def test_claude_codes_own_texts_cost_nothing(transcript):
    write(transcript, a_record("m", model="<synthetic>"))

    assert told_by(transcript) == ()


def test_an_unreadable_transcript_gives_no_calls(transcript):
    assert told_by(transcript) == ()
    transcript.write_bytes(b'{"message": 7}\n[]\n\xff\n{"message": {"id"')
    assert told_by(transcript) == ()


def test_a_usage_hooks_body_reports_usage_alone():
    body = {
        "session_id": "s",
        "hook_event_name": "PostToolUse",
        "tool_input": {"a": 1},
        "cwd": "/x",
    }

    sent = usage_body(body)

    assert sent == {"session_id": "s", "hook_event_name": USAGE_EVENT, "cwd": "/x"}
    assert (read(sent).turns, read(sent).takes_messages) == ((), False)


def test_a_persons_own_settings_send_us_the_log_and_no_transcript_is_read():
    written = in_settings({}, place=USER_WIDE)

    assert written["env"]["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] == f"{URL}/v1/logs"
    assert sends_telemetry(written)
    assert "--usage" not in json.dumps(written)


def test_a_project_reads_the_transcript_since_its_telemetry_settings_are_ignored():
    written = in_settings({})

    assert "env" not in written
    told_after = [name for name, groups in written["hooks"].items() if "--usage" in str(groups)]
    assert told_after == ["PostToolUse", "Stop"]


def test_a_forwarder_that_sees_every_hook_needs_none_beside_it():
    assert "--usage" not in json.dumps(in_settings({}, via="command"))


def test_telemetry_that_goes_elsewhere_is_left_alone():
    theirs = {"env": {"OTEL_LOGS_EXPORTER": "otlp", "EDITOR": "vi"}}

    written = in_settings(theirs, place=USER_WIDE)

    assert written["env"] == theirs["env"]
    assert "--usage" in json.dumps(written)


@pytest.mark.parametrize("place", [USER_WIDE, "/shop"])
def test_disconnecting_keeps_other_entries(place):
    theirs = {"env": {"EDITOR": "vi"}, "model": "opus"}

    twice = in_settings(in_settings(theirs, place=place), place=place)

    assert twice == in_settings(theirs, place=place)
    assert SETTINGS.without_hooks(twice) == theirs
