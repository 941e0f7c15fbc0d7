"""`/v1/traces`, `/v1/logs`, `/v1/metrics`: OTLP/HTTP in, partial success out."""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import close_old_connections
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from missioncontrol.api.endpoint import PROTOBUF, Request, Response
from missioncontrol.api.otlp import decoding, storing
from missioncontrol.api.otlp.batch import Batch
from missioncontrol.api.otlp.reading import Sessions, understood
from missioncontrol.api.otlp.record import Signal
from missioncontrol.api.web_process import LARGE, beside, dispatcher, writer
from missioncontrol.clock import now
from missioncontrol.errors import (
    BodyTooLarge,
    InvalidRequest,
    MissionControlError,
    Unavailable,
    WrongMediaType,
)

T = TypeVar("T")
logger = logging.getLogger(__name__)

# A field's name in protobuf, and in OTLP's JSON, which has lower camel case.
REJECTED: dict[Signal, tuple[Any, str, str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans", "rejectedSpans"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records", "rejectedLogRecords"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points", "rejectedDataPoints"),
}
sessions = Sessions()
# Apart from the threads of hooks: a held agent never waits behind a heap of spans.
_pool = ThreadPoolExecutor(2, thread_name_prefix="otlp")
JSON = "application/json"
UNPACKED_LIMIT = 16 * 1024 * 1024
# Of a gzip file: exporters send one, and empty ones cost time that no size bounds.
MOST_MEMBERS = 100
# zlib's way to ask for gzip's header instead of its own.
GZIP_HEADER = 16 + zlib.MAX_WBITS
NO_GZIP = "The body is not gzip, or cut off."
_STEP = 1024 * 1024


async def traces(request: Request) -> Response:
    """Take spans."""
    return await _take(request, "traces")


async def logs(request: Request) -> Response:
    """Take log records."""
    return await _take(request, "logs")


async def metrics(request: Request) -> Response:
    """Take metrics: looked at, and not kept."""
    return await _take(request, "metrics")


async def _take(request: Request, signal: Signal) -> Response:
    kind = media_type(_last(request, b"content-type"))
    encoding = _last(request, b"content-encoding")
    read = decoding.read_protobuf if kind == PROTOBUF else decoding.read_json
    batch = await beside(
        lambda: read(unpacked(request.body, encoding), signal),
        size=len(request.body) if not encoding else LARGE,  # what it unpacks to nobody knows yet
    )
    try:
        await _store(batch, request)
    except MissionControlError:
        raise
    except Exception:  # an exporter sends again what is unavailable, never what failed
        logger.exception("storing telemetry failed")
        raise Unavailable("It could not be stored just now; the log says why.") from None
    response, field, camel = REJECTED[batch.signal]
    count, message = len(batch.refused), batch.message
    if kind == PROTOBUF:
        # OTLP: where all was taken, the field stays unset.
        partial = {"partial_success": {field: count, "error_message": message}} if count else {}
        return Response(
            200, response(**partial).SerializeToString(), content_type=PROTOBUF.encode()
        )
    # A 64-bit number is a text in OTLP's JSON.
    body = {"partialSuccess": {camel: str(count), "errorMessage": message}} if count else {}
    return Response(200, json.dumps(body).encode())


async def _aside(work: Callable[[], T]) -> T:
    """Do work in a thread of our own, whose database connection is kept."""

    def with_connection() -> T:
        # The thread is kept: one that broke must not meet the next request.
        close_old_connections()
        return work()

    return await asyncio.get_running_loop().run_in_executor(_pool, with_connection)


def _last(request: Request, name: bytes) -> str:
    values = request.headers(name)
    return values[-1] if values else ""


async def _store(batch: Batch, request: Request) -> None:
    """Store turns first: what is counted and kept afterwards points at them."""
    if not batch.records:
        return
    key = request.key

    def find() -> list[storing.Visit]:
        readings = understood(batch, project=key.project, sessions=sessions, own=key.redaction)
        return storing.visits(batch, readings, key=key, at=now())

    found = await _aside(find)
    for visit in found:
        await request.note_use(visit.run.id)
    # All at once: the ingest thread stores together what waits for it.
    arrivals = [visit.arrival for visit in found if visit.arrival]
    stored = await asyncio.gather(*(writer.put(arrival) for arrival in arrivals))
    # A turn may be what a model call led to that was counted before; seen under the run's lock.
    counted = {one.run.id for one in stored if one.run.meters.usage_source}
    left = [one for one in found if one.records or not one.arrival or one.run.id in counted]
    if left:
        await _aside(lambda: storing.settle(left, at=now()))
    for one in stored:
        dispatcher.dispatch(one.run.id, root=one.run.root)


def media_type(content_type: str) -> str:
    """Return which of the two encodings a body has.

    Raises:
        WrongMediaType: neither.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in {JSON, PROTOBUF}:
        raise WrongMediaType(f"Send {JSON} or {PROTOBUF}, not {kind or 'nothing'}.")
    return kind


def unpacked(body: bytes, encoding: str) -> bytes:
    """Return a body as it was before its content encoding.

    Raises:
        WrongMediaType: an encoding other than gzip.
        BodyTooLarge: it would grow beyond the limit; it is not unpacked further.
        InvalidRequest: it is no gzip, or one of too many members.
    """
    encoding = encoding.strip().lower()
    if encoding in {"", "identity"}:
        return body
    # The one encoding that the OTLP specification names.
    if encoding != "gzip":
        raise WrongMediaType(f"Content-Encoding gzip or none, not {encoding[:40]}.")
    parts: list[bytes] = []
    size = members = 0
    try:
        while body:
            members += 1
            if members > MOST_MEMBERS:
                raise InvalidRequest(f"At most {MOST_MEMBERS} gzip members in a body.")
            member = zlib.decompressobj(GZIP_HEADER)
            while not member.eof:
                # A little at a time: a small body may grow beyond all memory.
                part = member.decompress(body, _STEP)
                body = member.unconsumed_tail
                size += len(part)
                if size > UNPACKED_LIMIT:
                    raise BodyTooLarge(f"At most {UNPACKED_LIMIT} bytes once unpacked.")
                if not part and not body and not member.eof:
                    raise InvalidRequest(NO_GZIP)
                parts.append(part)
            body = member.unused_data
    except zlib.error:
        raise InvalidRequest(NO_GZIP) from None
    return b"".join(parts)
