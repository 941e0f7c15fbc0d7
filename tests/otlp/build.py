"""Build OTLP requests of the shapes that agents send; say only what matters."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from missioncontrol.accounts.models import Reach
from missioncontrol.accounts.selectors import KeyHolder
from missioncontrol.api.otlp import decoding, storing
from missioncontrol.api.otlp.record import Batch, SessionRecord, Signal
from missioncontrol.api.otlp.session_records import TraceSessions, read_session_records
from missioncontrol.detection import pipeline
from missioncontrol.runs.ingest import store
from missioncontrol.runs.models import Run
from tests.build import NOON

BEGAN_NS = 1_795_262_400_000_000_000
"""Noon of 2026-11-21."""
SECOND_NS = 1_000_000_000
TRACE = "5b8efff798038103d269b633813fc60c"
_spans = itertools.count(1)
_moments = itertools.count(1)


def value(given: Any) -> dict[str, Any]:
    """Write a value as OTLP's JSON does."""
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given}
    if isinstance(given, list):
        return {"arrayValue": {"values": [value(one) for one in given]}}
    if isinstance(given, dict):
        return {"kvlistValue": {"values": attributes(given)}}
    return {"stringValue": given}


def attributes(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": value(one)} for name, one in given.items()]


def a_log(
    event: str, *, at_s: float | None = None, trace: str = "", span: str = "", **named: Any
) -> dict[str, Any]:
    """A log record; `a__b` in a name stands for `a.b`."""
    when = next(_moments) if at_s is None else at_s
    values = {name.replace("__", "."): one for name, one in named.items()}
    return {
        "timeUnixNano": str(int(BEGAN_NS + when * SECOND_NS)),
        "body": {"stringValue": event},
        "attributes": attributes({"event.name": event, **values}),
        "traceId": trace,
        "spanId": span,
    }


def a_span(
    name: str,
    values: Mapping[str, Any],
    *,
    at_s: float | None = None,
    took_s: float = 0.5,
    trace: str = TRACE,
    span: str = "",
    parent: str = "f" * 16,
    failure: str | None = None,
    events: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """A span that has a parent unless told otherwise."""
    began = int(BEGAN_NS + (next(_moments) if at_s is None else at_s) * SECOND_NS)
    return {
        "traceId": trace,
        "spanId": span or f"{next(_spans):016x}",
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(began),
        "endTimeUnixNano": str(began + int(took_s * SECOND_NS)),
        "attributes": attributes(values),
        "events": events or [],
        "status": {} if failure is None else {"code": 2, "message": failure},
    }


def logs(*records: Any, service: str = "claude-code") -> dict[str, Any]:
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": attributes({"service.name": service})},
                "scopeLogs": [{"scope": {"name": "events"}, "logRecords": list(records)}],
            }
        ]
    }


def spans(*records: Any, service: str = "my-agent") -> dict[str, Any]:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes({"service.name": service})},
                "scopeSpans": [{"scope": {"name": "demo"}, "spans": list(records)}],
            }
        ]
    }


def signal_of(body: Mapping[str, Any]) -> Signal:
    return "traces" if "resourceSpans" in body else "logs"


def read(body: Mapping[str, Any]) -> Batch:
    return decoding.read_json(json.dumps(body).encode(), signal_of(body))


def session_records_of(
    *bodies: Mapping[str, Any], project: UUID | None = None
) -> list[SessionRecord]:
    """What requests tell, one after another, in the process's order."""
    sessions, whose = TraceSessions(), project or uuid4()
    return [
        one
        for body in bodies
        for one in read_session_records(read(body), project=whose, sessions=sessions)
    ]


def turns_of(*bodies: Mapping[str, Any]) -> list[Any]:
    return [turn for one in session_records_of(*bodies) for turn in one.turns]


def model_uses_of(*bodies: Mapping[str, Any]) -> list[Any]:
    return [one.use for one in session_records_of(*bodies) if one.use]


def receive(project: Any, *bodies: Mapping[str, Any]) -> list[Run]:
    """Take requests as the endpoint does, in this thread; return the project's runs."""
    sessions = TraceSessions()
    key = KeyHolder(key=uuid4(), project=project.id, reach=Reach.PROJECT)
    for body in bodies:
        batch = read(body)
        of_batch = read_session_records(batch, project=project.id, sessions=sessions)
        found = storing.batch_by_run(batch, of_batch, key=key, at=NOON)
        if arrivals := [one.arrival for one in found if one.arrival]:
            store(arrivals, at=NOON)
        storing.finish_batches(found, at=NOON)
        pipeline.detect([one.run.id for one in found], at=NOON)
    return list(Run.objects.filter(project=project).order_by("id"))
