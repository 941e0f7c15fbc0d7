"""Any input is read or refused with a reason, and the valid records are stored."""

import contextlib
import gzip
import json
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from missioncontrol.api.otlp import decoding
from missioncontrol.api.otlp.serving import MAX_DECOMPRESSED_BYTES, MAX_GZIP_MEMBERS, decompress
from missioncontrol.errors import BodyTooLarge, InvalidRequest, MissionControlError
from tests.build import NOON, a_project
from tests.examples import examples_for
from tests.otlp.build import (
    BEGAN_NS,
    TRACE,
    a_log,
    a_span,
    attributes,
    logs,
    read,
    receive,
    session_records_of,
    spans,
)

NAMES = st.sampled_from(
    [
        "gen_ai.operation.name",
        "gen_ai.usage.input_tokens",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.id",
        "gen_ai.prompt.0.role",
        "gen_ai.prompt.0.content",
        "gen_ai.completion.0.tool_calls.0.id",
        "gen_ai.conversation.id",
        "session.id",
        "event.sequence",
        "event.name",
        "cost_usd",
        "openinference.span.kind",
        "llm.input_messages.0.message.content",
        "llm.cost.total",
        "traceloop.span.kind",
        "traceloop.entity.input",
        "tool_name",
        "model",
        "input_tokens",
    ]
)
WORDS = st.sampled_from(["chat", "execute_tool", "LLM", "TOOL", "[]", "{", '[{"parts": 7}]', "\0"])
VALUES = st.recursive(
    WORDS | st.text(max_size=20) | st.integers() | st.booleans() | st.none() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
ANY_JSON = VALUES | st.dictionaries(
    st.sampled_from(["resourceSpans", "scopeSpans", "spans", "attributes", "key", "value"]), VALUES
)
ROUGH = settings(
    deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples_for(18)
)


def sized(inner: bytes, *, field: int) -> bytes:
    """Write a message within another."""
    size, length = b"", len(inner)
    while length > 0x7F:
        size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
    return bytes([field << 3 | 2]) + size + bytes([length]) + inner


@ROUGH
@given(body=st.binary(max_size=400), signal=st.sampled_from(["traces", "logs", "metrics"]))
def test_any_bytes_are_read_or_refused(body, signal):
    for decode in (decoding.read_json, decoding.read_protobuf):
        with contextlib.suppress(MissionControlError):
            decode(body, signal)


@ROUGH
@given(body=st.binary(max_size=400))
def test_any_bytes_are_decompressed_or_refused(body):
    for packed in (body, gzip.compress(body)[: len(body)]):
        with contextlib.suppress(MissionControlError):
            decompress(packed, "gzip")


@ROUGH
@given(body=ANY_JSON, inside=ANY_JSON)
def test_any_json_is_read_or_refused(body, inside):
    record = a_span("any", {"gen_ai.operation.name": "chat"}) | {"attributes": inside}

    with contextlib.suppress(MissionControlError):
        decoding.read_json(json.dumps(body).encode(), "traces")
    decoding.read_json(json.dumps(spans(record)).encode(), "traces")


@ROUGH
@given(values=st.dictionaries(NAMES, VALUES, max_size=8), name=st.text(max_size=30))
@pytest.mark.django_db
def test_any_attributes_are_stored_or_refused_and_the_good_record_is_kept(caplog, values, name):
    given_ = {one: value for one, value in values.items() if value is not None}
    good = a_span("good", {"gen_ai.operation.name": "execute_tool", "session.id": "s"})

    runs = receive(a_project(), spans(a_span(name, given_), good))

    assert "my-agent:s" in {run.key for run in runs}
    assert not [entry for entry in caplog.records if entry.name.endswith("otlp.session_records")]


@pytest.mark.django_db
def test_unstorable_characters_are_left_out_of_names():
    odd = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "t\0", "a\0": "\ud83d"}

    (run,) = receive(a_project(), spans(a_span("odd\0\udc00", {**odd, "session.id": "s\0\ud83d"})))

    assert run.key.startswith("my-agent:s")
    assert "\0" not in run.key


def test_a_programs_attributes_are_read_once_for_all_its_records():
    values = spans(a_span("one", {}), a_span("two", {}))

    one, two = read(values).records

    assert one.resource == {"service.name": "my-agent"}
    assert one.resource is two.resource


def test_a_long_name_of_a_scope_is_not_copied_for_each_record():
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add(scope={"name": "s" * 100_000})
    for number in range(1, 101):
        scope.spans.add(trace_id=bytes.fromhex(TRACE), span_id=number.to_bytes(8, "big"))
    body = message.SerializeToString()

    tracemalloc.start()
    batch = decoding.read_protobuf(body, "traces")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(batch.records) == 100
    assert most < 20 * len(body)


def test_a_program_that_cannot_be_read_refuses_its_own_records_alone():
    odd, good = spans(a_span("odd", {}), a_span("odd too", {})), spans(a_span("good", {}))
    odd["resourceSpans"][0]["resource"]["attributes"] = "none"

    batch = read({"resourceSpans": odd["resourceSpans"] + good["resourceSpans"]})

    assert [one.name for one in batch.records] == ["good"]
    assert list(batch.refused.values()) == ["attributes must be a list"] * 2


def test_a_gzip_bomb_is_not_decompressed():
    bomb = gzip.compress(b"\0" * (MAX_DECOMPRESSED_BYTES + 1))

    with pytest.raises(BodyTooLarge):
        decompress(bomb, "gzip")


EMPTY_IN_PROTOBUF = {
    "groups": b"\n\x00" * 8_000_000,
    "groups, after a group of the old kind": b"\x0b\x0c" + b"\n\x00" * 8_000_000,
    "spans": sized(sized(b"\x12\x00" * 8_000_000, field=2), field=1),
    "values in an attribute": sized(
        sized(sized(sized(sized(b"\n\x00" * 7_000_000, field=5), field=2), field=1), field=1),
        field=1,
    ),
}


@pytest.mark.parametrize("body", EMPTY_IN_PROTOBUF.values(), ids=EMPTY_IN_PROTOBUF)
def test_millions_of_empty_messages_are_refused_before_they_are_built(body):
    with pytest.raises((BodyTooLarge, InvalidRequest)):
        decoding.read_protobuf(body, "traces")


def test_millions_of_empty_objects_are_refused_before_they_are_built():
    with pytest.raises(BodyTooLarge):
        decoding.read_json(b'{"resourceSpans":[' + b"{}," * 5_000_000 + b"{}]}", "traces")


def test_a_large_request_of_real_spans_is_accepted():
    message = ExportTraceServiceRequest()
    within = message.resource_spans.add().scope_spans.add()
    for number in range(1, 5_001):
        span = within.spans.add(name="chat", trace_id=bytes.fromhex(TRACE))
        span.span_id = number.to_bytes(8, "big")
        for name in range(20):
            span.attributes.add(key=f"gen_ai.{name}").value.string_value = "x" * 120

    batch = decoding.read_protobuf(message.SerializeToString(), "traces")

    assert (len(batch.records), batch.refused) == (5_000, {})


def test_gzip_of_several_members_is_decompressed_completely():
    assert decompress(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip") == b"one two"


@pytest.mark.parametrize("absurd", [10**320, 2**64], ids=["no float", "no moment"])
def test_a_time_out_of_range_affects_no_other_record(absurd):
    odd = a_span("odd", {}) | {"startTimeUnixNano": absurd, "endTimeUnixNano": absurd}

    batch = read(spans(odd, a_span("good", {})))

    assert [one.name for one in batch.records if one.began_at is not None] == ["good"]


@pytest.mark.parametrize("took", [1e308, float("inf"), float("nan")])
def test_a_duration_out_of_range_is_ignored(took):
    record = a_log("tool_result", duration_ms=took)

    (read_back,) = read(logs(record)).records

    assert read_back.began_at == read_back.ended_at


def test_a_duration_out_of_range_in_protobuf_is_ignored():
    message = ExportLogsServiceRequest()
    group = message.resource_logs.add()
    record = group.scope_logs.add().log_records.add(time_unix_nano=BEGAN_NS)
    record.attributes.add(key="duration_ms").value.double_value = 1e308

    (read_back,) = decoding.read_protobuf(message.SerializeToString(), "logs").records

    assert (read_back.began_at, read_back.ended_at) == (NOON, NOON)


def test_gzip_of_too_many_members_is_refused():
    with pytest.raises(InvalidRequest, match="100"):
        decompress(gzip.compress(b"") * (MAX_GZIP_MEMBERS + 1), "gzip")


def test_protobuf_and_json_are_read_the_same():
    values = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sh", "n": 3, "x": [1.5]}
    message = ExportTraceServiceRequest()
    group = message.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "my-agent"
    span = group.scope_spans.add(scope={"name": "demo"}).spans.add(
        trace_id=bytes.fromhex(TRACE),
        span_id=b"12345678",
        name="sh",
        status={"code": 2},
        start_time_unix_nano=10**18,
        end_time_unix_nano=10**18 + 5,
    )
    for name in ("gen_ai.operation.name", "gen_ai.tool.name"):
        span.attributes.add(key=name).value.string_value = values[name]
    span.attributes.add(key="n").value.int_value = 3
    span.attributes.add(key="x").value.array_value.values.add().double_value = 1.5
    written = {
        "traceId": TRACE.upper(),
        "spanId": b"12345678".hex(),
        "name": "sh",
        "startTimeUnixNano": 10**18,
        "endTimeUnixNano": str(10**18 + 5),
        "attributes": attributes(values),
        "status": {"code": "STATUS_CODE_ERROR"},
    }

    (from_bytes,) = decoding.read_protobuf(message.SerializeToString(), "traces").records

    assert read(spans(written)).records == [from_bytes]


def test_figures_out_of_range_refuse_their_record():
    absurd = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 10**12}

    assert session_records_of(spans(a_span("chat", absurd))) == []
