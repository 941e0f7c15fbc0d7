"""OTLP in JSON or protobuf, read leniently: an unreadable record does not affect the others.

Field names are lower camel case, ids hexadecimal, 64-bit numbers texts or numbers, as in the
OTLP specification; unknown fields are ignored. Protobuf, which OpenTelemetry's exporters send by
default, is converted to OTLP's JSON form, and read in that form.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pydantic.alias_generators import to_camel

from missioncontrol.api.otlp.record import Batch, Event, Record, Signal, read_integer
from missioncontrol.errors import BodyTooLarge, InvalidRequest
from missioncontrol.runs.sanitizing import storable_json, storable_text

# Far above what exporters send at once (512 spans, the specification's default).
MAX_RECORDS = 20_000
# Levels of nesting of a value.
MAX_DEPTH = 24
# The year 2200: databases cannot read a much later one back.
MAX_SECOND = 7_258_118_400
# Parts are counted before they are built: an empty one takes two bytes, and a hundred times as much
# memory as an object.
# In protobuf each span, attribute and value is a message. 16 MB of real ones contain fewer.
MAX_PROTOBUF_MESSAGES = 500_000
# In JSON each object and list is one; brackets within texts count too, so the limit is higher.
MAX_JSON_CONTAINERS = 1_000_000
INVALID_PROTOBUF = "The body is no OTLP request in protobuf."
# A request's message, and its fields down to the records.
REQUESTS: dict[Signal, tuple[Any, tuple[str, str, str]]] = {
    "traces": (ExportTraceServiceRequest, ("resource_spans", "scope_spans", "spans")),
    "logs": (ExportLogsServiceRequest, ("resource_logs", "scope_logs", "log_records")),
    "metrics": (ExportMetricsServiceRequest, ("resource_metrics", "scope_metrics", "metrics")),
}
POINT_FIELDS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
# JSON encoders write an enumeration as a number, as its text, or by name.
ERROR_STATUSES = (2, "2", "STATUS_CODE_ERROR")


class UnreadableRecord(ValueError):
    """One record cannot be read; the others can."""


def read_json(body: bytes, signal: Signal) -> Batch:
    """Read a request in JSON.

    Raises:
        InvalidRequest: it is not a JSON object, or its groups are not lists.
        BodyTooLarge: it contains too many objects.
    """
    if body.count(b"{") + body.count(b"[") > MAX_JSON_CONTAINERS:
        raise BodyTooLarge(f"At most {MAX_JSON_CONTAINERS} objects and lists per request.")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON, or is nested too deeply.") from None
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be a JSON object.")
    resources, scopes, records = map(to_camel, REQUESTS[signal][1])
    rows = (
        (given, resource)
        for group in _read_list(value, resources)
        # Read once per group: a group may have as many records as attributes.
        for resource in [_read_resource(_require_object(group, "a group"))]
        for within in _read_list(group, scopes)
        for given in _read_list(_require_object(within, "a scope's group"), records)
    )
    return read_records(rows, signal)


def read_records(rows: Iterable[tuple[Any, dict[str, Any] | str]], signal: Signal) -> Batch:
    """Read records in OTLP's JSON form, each with its resource's attributes.

    An unreadable record is refused, and the others are read. A text instead of the attributes says
    why every record of that resource is refused.
    """
    batch = Batch(signal)
    for index, (given, resource) in enumerate(rows):
        if index >= MAX_RECORDS:
            # Refused one by one, because the answer says how many were rejected.
            batch.refuse(index, f"at most {MAX_RECORDS} records a request")
            continue
        if not isinstance(given, dict):
            batch.refuse(index, "a record is an object")
            continue
        try:
            if signal == "metrics":
                _check_metric(given)
            elif isinstance(resource, str):
                batch.refuse(index, resource)
            else:
                read = _read_span if signal == "traces" else _read_log_record
                batch.records.append(read(given, index, resource))
        except (UnreadableRecord, RecursionError, OverflowError) as fault:
            batch.refuse(index, str(fault))
    return batch


def _check_metric(given: dict[str, Any]) -> None:
    """Refuse what is no metric; its data points are not stored."""
    # JSON writes a protobuf oneof as one of these fields.
    kinds = [given[kind] for kind in POINT_FIELDS if isinstance(given.get(kind), dict)]
    if not (_text_or_empty(given.get("name")) and kinds):
        raise UnreadableRecord("a metric has a name and data points")
    for kind in kinds:
        _read_list(kind, "dataPoints")


def _read_resource(group: dict[str, Any]) -> dict[str, Any] | str:
    """Return a group's attributes, or why each of its records (not the request) is refused."""
    try:
        return read_attributes(_object_or_empty(group.get("resource")))
    except UnreadableRecord as fault:
        return str(fault)


def _read_span(given: dict[str, Any], index: int, resource: dict[str, Any]) -> Record:
    since = _read_nanoseconds(given, "startTimeUnixNano")
    until = _read_nanoseconds(given, "endTimeUnixNano")
    status = _object_or_empty(given.get("status"))
    failed = status.get("code") in ERROR_STATUSES
    trace, span = _read_id(given, "traceId", 32), _read_id(given, "spanId", 16)
    if not trace or not span:
        # Both names, because protobuf uses the latter.
        raise UnreadableRecord("a span has a traceId (trace_id) and a spanId (span_id)")
    return Record(
        signal="traces",
        index=index,
        name=_text_or_empty(given.get("name"))[:200],
        resource=resource,
        attributes=read_attributes(given),
        trace=trace,
        span=span,
        parent=_read_id(given, "parentSpanId", 16),
        time_ns=since,
        began_at=_time_of(since),
        ended_at=_time_of(until),
        failure=_text_or_empty(status.get("message")) or "error" if failed else None,
        events=tuple(
            Event(name=_text_or_empty(event.get("name")), attributes=read_attributes(event))
            for event in _read_list(given, "events")
            if isinstance(event, dict)
        ),
    )


def _read_log_record(given: dict[str, Any], index: int, resource: dict[str, Any]) -> Record:
    attributes = read_attributes(given)
    body = _read_value(given.get("body"), 0)
    # A record without a time of its own has the time it was observed (OpenTelemetry's logs data
    # model).
    when = _read_nanoseconds(given, "timeUnixNano") or _read_nanoseconds(
        given, "observedTimeUnixNano"
    )
    # The attribute is the older convention, the record's own field the newer; some use neither.
    name = attributes.get("event.name") or _text_or_empty(given.get("eventName")) or body
    # Written at the end of an action, with its duration.
    took = read_integer(attributes.get("duration_ms")) or 0
    return Record(
        signal="logs",
        index=index,
        resource=resource,
        time_ns=when,
        name=storable_text(name)[:200] if isinstance(name, str) else "",
        # Some clients send an event's fields as its body.
        attributes=attributes | (body if isinstance(body, dict) else {}),
        trace=_read_id(given, "traceId", 32),
        span=_read_id(given, "spanId", 16),
        # A negative duration, from a clock that was set back, must not put the start after the end.
        began_at=_time_of(when - max(took, 0) * 1_000_000) or _time_of(when),
        ended_at=_time_of(when),
    )


def read_attributes(
    given: dict[str, Any], name: str = "attributes", depth: int = 0
) -> dict[str, Any]:
    """Read the attributes of a record, a resource or an event, ready to be stored.

    The last of the same name counts.
    """
    return {
        _text_or_empty(one["key"]): storable_json(_read_value(one.get("value"), depth))
        for one in _read_list(given, name)
        if isinstance(one, dict) and _text_or_empty(one.get("key"))
    }


def _read_value(given: Any, depth: int) -> Any:
    """Read an AnyValue; None for one of an unknown kind."""
    if not isinstance(given, dict) or depth > MAX_DEPTH:
        return None
    # Bytes stay in base64, as OTLP writes them in JSON.
    for kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        # Any scalar will do: a number sent as a text is no reason to lose a record.
        if isinstance(given.get(kind), str | bool | int | float):
            return given[kind]
    if "intValue" in given:
        return read_integer(given["intValue"])
    if isinstance(given.get("arrayValue"), dict):
        return [_read_value(one, depth + 1) for one in _read_list(given["arrayValue"], "values")]
    if isinstance(given.get("kvlistValue"), dict):
        return read_attributes(given["kvlistValue"], "values", depth + 1)
    return None


def _time_of(nanoseconds: int) -> datetime | None:
    """Return a time; None if there is none or it is out of range."""
    if not 0 < nanoseconds < MAX_SECOND * 1_000_000_000:  # before dividing: it may not fit a float
        return None
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def _read_nanoseconds(given: dict[str, Any], name: str) -> int:
    number = read_integer(given.get(name, 0))
    if number is None or number < 0:
        raise UnreadableRecord(f"{name} must be nanoseconds since 1970")
    return number


def _read_id(given: dict[str, Any], name: str, length: int) -> str:
    """Return an id in lower case; an empty text for an empty or all-zero one."""
    text = given.get(name) or ""
    if not isinstance(text, str):
        raise UnreadableRecord(f"{name} must be a text")
    text = text.lower()
    # W3C Trace Context: an id of only zeros is invalid.
    if not text.strip("0"):
        return ""
    if len(text) != length or any(letter not in "0123456789abcdef" for letter in text):
        raise UnreadableRecord(f"{name} must be {length} hexadecimal digits")
    return text


def _read_list(given: dict[str, Any], name: str) -> list[Any]:
    found = given.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise NotAList(name)
    return found


def _require_object(given: Any, what: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidRequest(f"The body is not OTLP: {what} must be an object.")
    return given


def _object_or_empty(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _text_or_empty(given: Any) -> str:
    return storable_text(given) if isinstance(given, str) else ""


class NotAList(UnreadableRecord, InvalidRequest):
    """Something is not a list: within a record the record is refused, elsewhere the request."""

    def __init__(self, name: str) -> None:
        InvalidRequest.__init__(self, f"{name} must be a list")


def read_protobuf(body: bytes, signal: Signal) -> Batch:
    """Read a request in protobuf.

    Raises:
        InvalidRequest: it is not such a message.
        BodyTooLarge: it contains too many objects.
    """
    kind, (resources, scopes, records) = REQUESTS[signal]
    _check_protobuf_size(body, kind.DESCRIPTOR)
    try:
        message = kind.FromString(body)
    except DecodeError:
        raise InvalidRequest(INVALID_PROTOBUF) from None
    rows = (
        # One by one: all at once, a request would be in memory twice.
        (_to_json_form(given), resource)
        for group in getattr(message, resources)
        # Read once per group: all of its records share it.
        for resource in [read_attributes(_to_json_form(group.resource))]
        for within in getattr(group, scopes)
        for given in getattr(within, records)
    )
    return read_records(rows, signal)


def _to_json_form(message: Any) -> dict[str, Any]:
    return {field.json_name: _converter(field)(value) for field, value in message.ListFields()}


# Looked up once per field: there are as many values as attributes.
@cache
def _converter(field: Any) -> Callable[[Any], Any]:
    """Return what converts a field's value to OTLP's JSON form."""
    if field.name == "data_points":
        return lambda _: []  # nobody reads them
    if field.message_type is not None:
        if field.is_repeated:
            return lambda each: [_to_json_form(one) for one in each]
        return _to_json_form
    # Trace and span ids; OTLP's JSON writes other bytes in base64.
    if field.name.endswith("_id"):
        return bytes.hex
    if field.type == field.TYPE_BYTES:
        return lambda value: base64.b64encode(value).decode()
    return lambda value: value


def _check_protobuf_size(body: bytes, kind: Any) -> None:
    """Refuse a body that would become too many objects; `kind` is the message's descriptor.

    Raises:
        BodyTooLarge: it would.
        InvalidRequest: it is not such a message.
    """
    if len(body) <= 2 * MAX_PROTOBUF_MESSAGES:  # nearly all: too short to hold that many
        return
    try:
        if not _has_at_most_messages(MAX_PROTOBUF_MESSAGES, body, kind):
            raise BodyTooLarge(f"At most {MAX_PROTOBUF_MESSAGES} messages within a request.")
    except IndexError:  # cut off within a number
        raise InvalidRequest(INVALID_PROTOBUF) from None


def _has_at_most_messages(limit: int, body: bytes, kind: Any) -> bool:
    unread = [(0, len(body), _message_fields(kind))]
    while unread:
        at, end, kinds = unread.pop()
        while at < end:
            tag, at = _read_varint(body, at)
            match tag & 7:  # the wire type
                case 0:
                    _, at = _read_varint(body, at)
                case 1:
                    at += 8
                case 5:
                    at += 4
                case 2:
                    size, at = _read_varint(body, at)
                    if (inner := kinds.get(tag >> 3)) is not None:
                        limit -= 1
                        unread.append((at, min(at + size, end), _message_fields(inner)))
                    at += size
                case _:  # a group, which OTLP does not use: what follows it would not be counted
                    raise InvalidRequest(INVALID_PROTOBUF)
            if limit < 0:
                return False
    return True


@cache
def _message_fields(kind: Any) -> dict[int, Any]:
    return {
        field.number: field.message_type for field in kind.fields if field.message_type is not None
    }


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    """Read a varint; return it and where the next field begins."""
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the sign that another byte follows
            return value, at
        shift += 7
