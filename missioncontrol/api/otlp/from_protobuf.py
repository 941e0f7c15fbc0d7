"""OTLP in protobuf, as OpenTelemetry's exporters send it unless told otherwise.

Each record is written as OTLP's JSON would have it, and read as that is.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from missioncontrol.api.otlp.batch import NO_PROTOBUF, Batch, check_protobuf
from missioncontrol.api.otlp.from_json import read_attributes, read_records
from missioncontrol.api.otlp.record import Signal
from missioncontrol.errors import InvalidRequest

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
        # One by one: all at once, a request would lie in memory twice.
        (_as_json(given), resource)
        for group in getattr(message, resources)
        # Read once a group: all of its records share it.
        for resource in [read_attributes(_as_json(group.resource))]
        for within in getattr(group, scopes)
        for given in getattr(within, records)
    )
    return read_records(rows, signal)


def _as_json(message: Any) -> dict[str, Any]:
    return {
        name: write(value)
        for field, value in message.ListFields()
        for name, write in [_writer(field)]
    }


# Looked up once for each field: there are as many values as attributes.
@cache
def _writer(field: Any) -> tuple[str, Callable[[Any], Any]]:
    """Return what OTLP's JSON calls a field, and how it has its value."""
    return field.json_name, _way_of(field)


def _way_of(field: Any) -> Callable[[Any], Any]:
    if field.name == "data_points":
        return lambda points: [None] * len(points)  # they are counted, and not looked at
    if field.message_type is not None:
        return (lambda each: [_as_json(one) for one in each]) if field.is_repeated else _as_json
    # Those of traces and spans; of other bytes OTLP's JSON has base64.
    if field.name.endswith("_id"):
        return bytes.hex
    if field.type == field.TYPE_BYTES:
        return lambda value: base64.b64encode(value).decode()
    return lambda value: value
