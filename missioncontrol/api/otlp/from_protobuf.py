"""OTLP in protobuf, as OpenTelemetry's exporters send it unless told otherwise."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from missioncontrol.api.otlp.batch import (
    DEEPEST,
    Batch,
    Unreadable,
    began,
    event_name,
    hex_id,
    moment,
    named,
    read_each,
)
from missioncontrol.api.otlp.counting import NO_PROTOBUF, check_protobuf
from missioncontrol.api.otlp.record import Event, Record, Signal
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs.cleaning import storable_text

MESSAGES: dict[Signal, Any] = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}
GROUPS: dict[Signal, tuple[str, str, str]] = {
    "traces": ("resource_spans", "scope_spans", "spans"),
    "logs": ("resource_logs", "scope_logs", "log_records"),
    "metrics": ("resource_metrics", "scope_metrics", "metrics"),
}
POINTS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
# STATUS_CODE_ERROR; unset (0) and OK (1) tell of no failure.
FAILED = 2


def read(body: bytes, signal: Signal) -> Batch:
    """Read a request.

    Raises:
        InvalidRequest: it is no such protobuf message.
        BodyTooLarge: it holds too many.
    """
    check_protobuf(body, MESSAGES[signal].DESCRIPTOR)
    try:
        message = MESSAGES[signal].FromString(body)
    except DecodeError:
        raise InvalidRequest(NO_PROTOBUF) from None
    resources, scopes, records = GROUPS[signal]
    rows = (
        (given, resource)
        for group in getattr(message, resources)
        # Read once a group: all of its records share it.
        for resource in [_attributes(group.resource.attributes)]
        for within in getattr(group, scopes)
        for given in getattr(within, records)
    )

    def read_one(place: int, given: Any, resource: dict[str, Any]) -> Record | int:
        if signal != "metrics":
            return (_span if signal == "traces" else _log)(place, given, resource)
        kind = given.WhichOneof("data")
        if not given.name or kind not in POINTS:
            raise Unreadable("a metric has a name and data points")
        return len(getattr(given, kind).data_points)

    return read_each(signal, rows, read_one)


def _span(place: int, given: Any, resource: dict[str, Any]) -> Record:
    since, until = given.start_time_unix_nano, given.end_time_unix_nano
    # Bytes here and hexadecimal in JSON: kept in one form.
    trace = hex_id(given.trace_id.hex(), 32, "trace_id")
    span = hex_id(given.span_id.hex(), 16, "span_id")
    if not trace or not span:
        raise Unreadable("a span has a trace_id and a span_id")
    return Record(
        signal="traces",
        place=place,
        name=storable_text(given.name)[:200],
        resource=resource,
        attributes=_attributes(given.attributes),
        trace=trace,
        span=span,
        parent=hex_id(given.parent_span_id.hex(), 16, "parent_span_id"),
        time_ns=since,
        began_at=moment(since),
        ended_at=moment(until),
        failure=given.status.message or "error" if given.status.code == FAILED else None,
        events=tuple(
            Event(name=event.name, attributes=_attributes(event.attributes))
            for event in given.events
        ),
    )


def _log(place: int, given: Any, resource: dict[str, Any]) -> Record:
    attributes = _attributes(given.attributes)
    body = _value(given.body, 0)
    # When it was observed, where it has no time of its own (OpenTelemetry's data model of logs).
    when = given.time_unix_nano or given.observed_time_unix_nano
    return Record(
        signal="logs",
        place=place,
        resource=resource,
        time_ns=when,
        name=event_name(attributes, given.event_name, body),
        attributes=attributes | (body if isinstance(body, dict) else {}),
        trace=hex_id(given.trace_id.hex(), 32, "trace_id"),
        span=hex_id(given.span_id.hex(), 16, "span_id"),
        began_at=began(when, attributes),
        ended_at=moment(when),
    )


def _attributes(pairs: Iterable[Any], depth: int = 0) -> dict[str, Any]:
    return named((pair.key, _value(pair.value, depth)) for pair in pairs)


def _value(given: Any, depth: int) -> Any:
    kind = given.WhichOneof("value")
    # A sender may nest without end, and each level is one call of ours.
    if kind is None or depth > DEEPEST:
        return None
    value = getattr(given, kind)
    if kind == "array_value":
        return [_value(one, depth + 1) for one in value.values]
    if kind == "kvlist_value":
        return _attributes(value.values, depth + 1)
    # As OTLP has bytes in JSON: what is kept is the same either way.
    return base64.b64encode(value).decode() if kind == "bytes_value" else value
