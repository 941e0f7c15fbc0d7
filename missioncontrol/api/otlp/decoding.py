"""OTLP in JSON or protobuf, read leniently: an unreadable record does not affect the others.

Field names are lower camel case, ids hexadecimal, 64-bit numbers texts or numbers, as in the
OTLP specification; unknown fields are ignored. Protobuf, which OpenTelemetry's exporters send by
default, is converted to OTLP's JSON form, and read in that form.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from missioncontrol.api.otlp.batch import (
    DEEPEST,
    MOST_RECORDS,
    NO_PROTOBUF,
    Batch,
    Unreadable,
    began,
    check_json,
    check_protobuf,
    event_name,
    hex_id,
    moment,
    named,
)
from missioncontrol.api.otlp.record import Event, Record, Signal, whole
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs.sanitizing import storable_text

GROUPS: dict[Signal, tuple[str, str, str]] = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
    "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
}
POINTS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
# JSON encoders write an enumeration as a number, as its text, or by name.
FAILED = (2, "2", "STATUS_CODE_ERROR")


def read_json(body: bytes, signal: Signal) -> Batch:
    """Read a request in JSON.

    Raises:
        InvalidRequest: it is not a JSON object, or its groups are not lists.
        BodyTooLarge: it contains too many objects.
    """
    check_json(body)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON, or is nested too deeply.") from None
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be a JSON object.")
    resources, scopes, records = GROUPS[signal]
    rows = (
        (given, resource)
        for group in _list(value, resources)
        # Read once per group: a group may have as many records as attributes.
        for resource in [_resource(_dict(group, "a group"))]
        for within in _list(group, scopes)
        for given in _list(_dict(within, "a scope's group"), records)
    )

    return read_records(rows, signal)


def read_records(rows: Iterable[tuple[Any, dict[str, Any] | str]], signal: Signal) -> Batch:
    """Read records in OTLP's JSON form, each with its resource's attributes.

    An unreadable record is refused, and the others are read. A text instead of the attributes says
    why every record of that resource is refused.
    """
    batch = Batch(signal)
    for place, (given, resource) in enumerate(rows):
        if place >= MOST_RECORDS:
            # Refused one by one, because the answer says how many were rejected.
            batch.refuse(place, f"at most {MOST_RECORDS} records a request")
            continue
        if not isinstance(given, dict):
            batch.refuse(place, "a record is an object")
            continue
        try:
            if signal == "metrics":
                batch.points += _points(given)
            elif isinstance(resource, str):
                batch.refuse(place, resource)
            else:
                read = _span if signal == "traces" else _log
                batch.records.append(read(given, place, resource))
        except (Unreadable, RecursionError, OverflowError) as fault:
            batch.refuse(place, str(fault))
    return batch


def _points(given: dict[str, Any]) -> int:
    """Count a metric's data points."""
    # JSON writes a protobuf oneof as one of these fields.
    kinds = [given[kind] for kind in POINTS if isinstance(given.get(kind), dict)]
    if not _text(given.get("name")) or not kinds:
        raise Unreadable("a metric has a name and data points")
    return sum(len(_list(kind, "dataPoints")) for kind in kinds)


def _resource(group: dict[str, Any]) -> dict[str, Any] | str:
    """Return a group's attributes, or why each of its records (not the request) is refused."""
    try:
        return read_attributes(_maybe(group.get("resource")))
    except Unreadable as fault:
        return str(fault)


def _span(given: dict[str, Any], place: int, resource: dict[str, Any]) -> Record:
    since, until = _nanos(given, "startTimeUnixNano"), _nanos(given, "endTimeUnixNano")
    status = _maybe(given.get("status"))
    trace, span = _id(given, "traceId", 32), _id(given, "spanId", 16)
    if not trace or not span:
        # Both names, because protobuf uses the latter.
        raise Unreadable("a span has a traceId (trace_id) and a spanId (span_id)")
    return Record(
        signal="traces",
        place=place,
        name=_text(given.get("name"))[:200],
        resource=resource,
        attributes=read_attributes(given),
        trace=trace,
        span=span,
        parent=_id(given, "parentSpanId", 16),
        time_ns=since,
        began_at=moment(since),
        ended_at=moment(until),
        failure=_text(status.get("message")) or "error" if status.get("code") in FAILED else None,
        events=tuple(
            Event(name=_text(event.get("name")), attributes=read_attributes(event))
            for event in _list(given, "events")
            if isinstance(event, dict)
        ),
    )


def _log(given: dict[str, Any], place: int, resource: dict[str, Any]) -> Record:
    attributes = read_attributes(given)
    body = _value(given.get("body"), 0)
    # A record without a time of its own has the time it was observed (OpenTelemetry's logs data
    # model).
    when = _nanos(given, "timeUnixNano") or _nanos(given, "observedTimeUnixNano")
    return Record(
        signal="logs",
        place=place,
        resource=resource,
        time_ns=when,
        name=event_name(attributes, _text(given.get("eventName")), body),
        # Some clients send an event's fields as its body.
        attributes=attributes | (body if isinstance(body, dict) else {}),
        trace=_id(given, "traceId", 32),
        span=_id(given, "spanId", 16),
        began_at=began(when, attributes),
        ended_at=moment(when),
    )


def read_attributes(given: dict[str, Any]) -> dict[str, Any]:
    """Read the attributes of a record, a resource or an event."""
    return named(
        (_text(one.get("key")), _value(one.get("value"), 0))
        for one in _list(given, "attributes")
        if isinstance(one, dict)
    )


def _value(given: Any, depth: int) -> Any:
    """Read an AnyValue; None for one of an unknown kind."""
    if not isinstance(given, dict) or depth > DEEPEST:
        return None
    # Bytes stay in base64, as OTLP writes them in JSON.
    for kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        # Any scalar will do: a number sent as a text is no reason to lose a record.
        if isinstance(given.get(kind), str | bool | int | float):
            return given[kind]
    if "intValue" in given:
        return whole(given["intValue"])
    if isinstance(given.get("arrayValue"), dict):
        return [_value(one, depth + 1) for one in _list(given["arrayValue"], "values")]
    if isinstance(given.get("kvlistValue"), dict):
        pairs = (one for one in _list(given["kvlistValue"], "values") if isinstance(one, dict))
        return named((_text(one.get("key")), _value(one.get("value"), depth + 1)) for one in pairs)
    return None


def _nanos(given: dict[str, Any], name: str) -> int:
    number = whole(given.get(name, 0))
    if number is None or number < 0:
        raise Unreadable(f"{name} must be nanoseconds since 1970")
    return number


def _id(given: dict[str, Any], name: str, length: int) -> str:
    text = given.get(name) or ""
    if not isinstance(text, str):
        raise Unreadable(f"{name} must be a text")
    return hex_id(text, length, name)


def _list(given: dict[str, Any], name: str) -> list[Any]:
    found = given.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Unlistable(name)
    return found


def _dict(given: Any, what: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidRequest(f"The body is not OTLP: {what} must be an object.")
    return given


def _maybe(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _text(given: Any) -> str:
    return storable_text(given) if isinstance(given, str) else ""


class Unlistable(Unreadable, InvalidRequest):
    """Something is not a list: within a record the record is refused, elsewhere the request."""

    def __init__(self, name: str) -> None:
        InvalidRequest.__init__(self, f"{name} must be a list")


MESSAGES: dict[Signal, Any] = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}
NESTING: dict[Signal, tuple[str, str, str]] = {
    "traces": ("resource_spans", "scope_spans", "spans"),
    "logs": ("resource_logs", "scope_logs", "log_records"),
    "metrics": ("resource_metrics", "scope_metrics", "metrics"),
}


def read_protobuf(body: bytes, signal: Signal) -> Batch:
    """Read a request in protobuf.

    Raises:
        InvalidRequest: it is not such a message.
        BodyTooLarge: it contains too many objects.
    """
    check_protobuf(body, MESSAGES[signal].DESCRIPTOR)
    try:
        message = MESSAGES[signal].FromString(body)
    except DecodeError:
        raise InvalidRequest(NO_PROTOBUF) from None
    resources, scopes, records = NESTING[signal]
    rows = (
        # One by one: all at once, a request would be in memory twice.
        (_as_json(given), resource)
        for group in getattr(message, resources)
        # Read once per group: all of its records share it.
        for resource in [read_attributes(_as_json(group.resource))]
        for within in getattr(group, scopes)
        for given in getattr(within, records)
    )
    return read_records(rows, signal)


def _as_json(message: Any) -> dict[str, Any]:
    return {field.json_name: _writer(field)(value) for field, value in message.ListFields()}


# Looked up once per field: there are as many values as attributes.
@cache
def _writer(field: Any) -> Callable[[Any], Any]:
    """Return what converts a field's value to OTLP's JSON form."""
    if field.name == "data_points":
        return lambda points: [None] * len(points)  # they are counted, and not read
    if field.message_type is not None:
        return (lambda each: [_as_json(one) for one in each]) if field.is_repeated else _as_json
    # Trace and span ids; OTLP's JSON writes other bytes in base64.
    if field.name.endswith("_id"):
        return bytes.hex
    if field.type == field.TYPE_BYTES:
        return lambda value: base64.b64encode(value).decode()
    return lambda value: value
