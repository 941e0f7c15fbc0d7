"""OTLP/HTTP at a running Mission Control: what it takes, what it refuses, and how."""

import gzip
import json
from uuid import uuid4

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.otlp.build import a_log, a_span, logs, spans

PROTOBUF = "application/x-protobuf"


def a_tool_span(session, **fields):
    return a_span(
        "execute_tool Bash",
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "Bash",
            "gen_ai.tool.call.id": f"toolu_{uuid4().hex}",
            "gen_ai.conversation.id": session,
            "gen_ai.tool.call.arguments": json.dumps({"command": "ls"}),
            **fields,
        },
    )


def run_of(person, key):
    found = [run for run in person.get("/api/v1/runs/?q=")["results"] if run["key"] == key]
    return found[0] if found else None


def test_json_spans_are_a_run_and_the_answer_is_empty(agent, person):
    session = uuid4().hex

    response = agent.ask("POST", "/v1/traces", spans(a_tool_span(session)))

    assert (response.status, response.json) == (200, {})
    run = run_of(person, f"my-agent:{session}")
    turns = person.get(f"/api/v1/runs/{run['id']}/turns/")["results"]
    assert [(turn["tool"], turn["args"]) for turn in turns] == [("Bash", {"command": "ls"})]


def test_every_other_attribute_is_kept_and_pages(agent, person, nobody):
    session = uuid4().hex
    tool_spans = [a_tool_span(session, **{"acme.tenant": name}) for name in ("north", "south")]
    agent.ask("POST", "/v1/traces", spans(*tool_spans))
    address = f"/api/v1/runs/{run_of(person, f'my-agent:{session}')['id']}/telemetry/"

    first = person.get(f"{address}?limit=1")
    second = person.get(first["next"].removeprefix(person.url))

    kept = [row["attributes"]["acme.tenant"] for row in (*first["results"], *second["results"])]
    assert kept == ["north", "south"]
    assert (agent.ask("GET", address).status, nobody.ask("GET", address).status) == (403, 401)


def test_an_unmodified_exporter_sends_protobuf_and_gzip(installation, person):
    session = uuid4().hex
    exporter = OTLPSpanExporter(
        endpoint=f"{installation.url}/v1/traces",
        compression=Compression.Gzip,
        headers={"Authorization": f"Bearer {installation.agent_key}"},
    )
    provider = TracerProvider(resource=Resource({"service.name": "real-sdk"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session,
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.usage.input_tokens": 10500,
        "gen_ai.usage.output_tokens": 42,
        "gen_ai.usage.cache_read.input_tokens": 9000,
        "gen_ai.usage.cache_creation.input_tokens": 300,
    }

    with provider.get_tracer("test").start_as_current_span("chat", attributes=attributes):
        pass
    provider.shutdown()

    run = run_of(person, f"real-sdk:{session}")
    assert (run["cost_usd"], run["usage_source"]) == ("0.008055", "spans")
    assert run["unavailable"].keys() >= {"pause", "inject", "terminate"}


def test_bad_records_are_counted_and_named_and_good_ones_kept(agent, person):
    session = uuid4().hex
    bad = {**a_tool_span(session), "traceId": "no id"}

    response = agent.ask("POST", "/v1/traces", spans(bad, a_tool_span(session), 7))

    assert response.status == 200
    partial = response.json["partialSuccess"]
    assert partial["rejectedSpans"] == "2"
    assert partial["errorMessage"].startswith("record 0: traceId must be 32 hexadecimal digits")
    assert run_of(person, f"my-agent:{session}")["turns"] == 1


def test_bad_records_in_protobuf_are_answered_in_protobuf(installation, agent):
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add().scope_spans.add()
    group.spans.add(name="no ids")

    status, kind, body = raw(installation, "/v1/traces", request.SerializeToString(), PROTOBUF)

    partial = ExportTraceServiceResponse.FromString(body).partial_success
    assert (status, kind, partial.rejected_spans) == (200, PROTOBUF, 1)
    assert "trace_id" in partial.error_message


def raw(installation, path, body, kind, *, method="POST", **headers):
    """Send bytes and see bytes."""
    import urllib.error
    import urllib.request

    named = {"Content-Type": kind, "Authorization": f"Bearer {installation.agent_key}", **headers}
    request = urllib.request.Request(f"{installation.url}{path}", body, named, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.headers["Content-Type"], response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def test_invalid_protobuf_is_refused_with_a_protobuf_status(installation):
    status, kind, body = raw(installation, "/v1/logs", b"\xff\xff\xff", PROTOBUF)

    assert (status, kind) == (400, PROTOBUF)
    assert b"no OTLP request in protobuf" in body


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{}", {"Content-Type": "text/plain"}, 415, "wrong_media_type"),
        (b"{}", {"Content-Encoding": "br"}, 415, "wrong_media_type"),
        (b"not gzip", {"Content-Encoding": "gzip"}, 400, "invalid_request"),
        (gzip.compress(b"{}", mtime=0)[:-9], {"Content-Encoding": "gzip"}, 400, "invalid_request"),
        (b"[]", {}, 400, "invalid_request"),
        (b'{"resourceLogs": 7}', {}, 400, "invalid_request"),
        (
            gzip.compress(b" " * 40_000_000, mtime=0),
            {"Content-Encoding": "gzip"},
            413,
            "body_too_large",
        ),
        (b" " * 9_000_000, {}, 413, "body_too_large"),
        (b"{}", {"Authorization": "Bearer mc_wrong"}, 401, "not_signed_in"),
    ],
)
def test_an_unacceptable_request_is_refused_with_its_reason(agent, body, headers, status, code):
    response = agent.ask("POST", "/v1/logs", body, **headers)

    assert (response.status, response.json["code"]) == (status, code)


def test_only_posting_is_offered(agent):
    assert agent.ask("GET", "/v1/traces").status == 405


def test_another_method_is_refused_in_the_encoding_of_its_body(installation):
    status, kind, _ = raw(installation, "/v1/traces", b"", PROTOBUF, method="PUT")

    assert (status, kind) == (405, PROTOBUF)


def test_gzip_of_json_logs_is_read(installation, person):
    session = uuid4().hex
    event = a_log(
        "claude_code.user_prompt", session__id=session, event__sequence=1, prompt="fix it"
    )
    body = gzip.compress(json.dumps(logs(event)).encode())

    status, _, answer = raw(
        installation,
        "/v1/logs",
        body,
        "application/json; charset=utf-8",
        **{"Content-Encoding": "gzip"},
    )

    assert (status, answer) == (200, b"{}")
    assert run_of(person, f"claude-code:{session}")["name"] == "claude-code: fix it"


def test_metrics_are_accepted_and_not_stored(agent):
    point = {"timeUnixNano": "1", "asInt": "3"}
    metric = {"name": "gen_ai.client.token.usage", "sum": {"dataPoints": [point]}}
    body = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric, {"name": "no data"}]}]}]}

    response = agent.ask("POST", "/v1/metrics", body)

    assert response.json["partialSuccess"]["rejectedDataPoints"] == "1"


def test_an_empty_request_is_a_success(installation):
    status, kind, body = raw(installation, "/v1/logs", b"", PROTOBUF)

    assert (status, kind) == (200, PROTOBUF)
    assert ExportLogsServiceResponse.FromString(body) == ExportLogsServiceResponse()


def test_an_sdk_that_joins_later_controls_the_run(agent, person):
    session = uuid4().hex
    agent.ask("POST", "/v1/traces", spans(a_tool_span(session)))
    seen = run_of(person, f"my-agent:{session}")
    body = {"key": f"my-agent:{session}", "name": "mine", "capabilities": {"hold": True}}

    joined = agent.ask("POST", "/api/v1/runs/", body)
    agent.ask("POST", "/v1/traces", spans(a_tool_span(session)))

    assert (joined.status, joined.json["id"]) == (200, seen["id"])
    now = person.get(f"/api/v1/runs/{seen['id']}/")
    assert (now["unavailable"], now["turns"]) == ({}, 1)


def test_nobody_sends_without_a_key(nobody):
    response = nobody.ask("POST", "/v1/traces", spans(a_tool_span(uuid4().hex)))

    assert response.status == 401
