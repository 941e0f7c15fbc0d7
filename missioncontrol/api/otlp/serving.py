"""Receive OTLP: `/v1/traces`, `/v1/logs`, `/v1/metrics` with partial success, or an OTLP JSON file.

A file is one recorded run: the collector's format, one request per line, or one document.
"""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from guard.formats.recording import Recording
from guard.turn import Turn
from missioncontrol.api.endpoint import PROTOBUF, Request, Response, json_response
from missioncontrol.api.otlp import decoding, storing
from missioncontrol.api.otlp.decoding import MAX_RECORDS
from missioncontrol.api.otlp.record import Batch, SessionRecord, Signal
from missioncontrol.api.otlp.session_records import TraceSessions, read_session_records
from missioncontrol.api.web_process import dispatcher, writer
from missioncontrol.clock import now
from missioncontrol.costs.ledger import SOURCES, Call
from missioncontrol.costs.telemetry import TimedStart, match_calls_to_tools
from missioncontrol.detection.dispatcher import run_in_pool
from missioncontrol.errors import (
    BodyTooLarge,
    InvalidRequest,
    MissionControlError,
    Unavailable,
    WrongMediaType,
)
from missioncontrol.redaction import NO_REDACTION
from missioncontrol.runs.ingest import LARGE_BYTES, offload_large

logger = logging.getLogger(__name__)

# A field's name in protobuf and in OTLP's JSON, which uses lower camel case.
PARTIAL_SUCCESS: dict[Signal, tuple[Any, str, str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans", "rejectedSpans"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records", "rejectedLogRecords"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points", "rejectedDataPoints"),
}
trace_sessions = TraceSessions()
# Separate from the threads of hooks, so that a held agent never waits behind many spans.
_pool = ThreadPoolExecutor(2, thread_name_prefix="otlp")
JSON = "application/json"
MAX_DECOMPRESSED_BYTES = 16 * 1024 * 1024
# Members of a gzip file: exporters send one, and empty ones cost time that no size limit bounds.
MAX_GZIP_MEMBERS = 100
# This tells zlib to expect gzip's header instead of its own.
GZIP_HEADER = 16 + zlib.MAX_WBITS
INVALID_GZIP = "The body is not gzip, or cut off."
_CHUNK_BYTES = 1024 * 1024


async def receive_telemetry(request: Request) -> Response:
    """Store spans or log records; metrics are read, and not stored."""
    signal = cast(Signal, request.params["signal"])
    kind = read_media_type(_last_header(request, b"content-type"))
    encoding = _last_header(request, b"content-encoding")
    read = decoding.read_protobuf if kind == PROTOBUF else decoding.read_json
    # The size of a compressed body is not known yet.
    size = LARGE_BYTES if encoding else len(request.body)
    batch = await offload_large(lambda: read(decompress(request.body, encoding), signal), size=size)
    try:
        await _store_batch(batch, request)
    except MissionControlError:
        raise
    except Exception:  # an exporter retries what is unavailable, and drops what failed
        logger.exception("storing telemetry failed")
        raise Unavailable("It could not be stored; the server's log says why.") from None
    response, field, camel = PARTIAL_SUCCESS[batch.signal]
    count, message = len(batch.refused), batch.message
    if kind == PROTOBUF:
        # OTLP: if everything was accepted, the field stays unset.
        partial = {"partial_success": {field: count, "error_message": message}} if count else {}
        return Response(
            200, response(**partial).SerializeToString(), content_type=PROTOBUF.encode()
        )
    # A 64-bit number is a text in OTLP's JSON.
    body = {"partialSuccess": {camel: str(count), "errorMessage": message}} if count else {}
    return json_response(body)


def _last_header(request: Request, name: bytes) -> str:
    values = request.headers(name)
    return values[-1] if values else ""


async def _store_batch(batch: Batch, request: Request) -> None:
    """Store turns first: what is counted and stored afterwards refers to them."""
    if not batch.records:
        return
    key = request.key

    def find() -> list[storing.RunBatch]:
        session_records = read_session_records(
            batch, project=key.project, sessions=trace_sessions, own=key.redaction
        )
        return storing.batch_by_run(batch, session_records, key=key, at=now())

    found = await run_in_pool(_pool, find)
    for run_batch in found:
        await request.record_key_use(run_batch.run.id)
    # All at once: the ingest thread stores what waits for it together.
    arrivals = [run_batch.arrival for run_batch in found if run_batch.arrival]
    stored = await asyncio.gather(*(writer.put(arrival) for arrival in arrivals))
    # A turn may result from a model call that was counted before; seen under the run's lock.
    counted = {one.run.id for one in stored if one.run.meters.usage_source}
    left = [one for one in found if one.records or not one.arrival or one.run.id in counted]
    if left:
        await run_in_pool(_pool, lambda: storing.finish_batches(left, at=now()))
    for one in stored:
        dispatcher.dispatch(one.run.id, root=one.run.root)


def read_media_type(content_type: str) -> str:
    """Return which of the two encodings a body has.

    Raises:
        WrongMediaType: it has neither.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in {JSON, PROTOBUF}:
        raise WrongMediaType(f"Send {JSON} or {PROTOBUF}, not {kind or 'nothing'}.")
    return kind


def decompress(body: bytes, encoding: str) -> bytes:
    """Return a body without its content encoding.

    Raises:
        WrongMediaType: an encoding other than gzip.
        BodyTooLarge: it would exceed the limit; unpacking stops there.
        InvalidRequest: it is not gzip, or has too many members.
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
            if members > MAX_GZIP_MEMBERS:
                raise InvalidRequest(f"At most {MAX_GZIP_MEMBERS} gzip members in a body.")
            member = zlib.decompressobj(GZIP_HEADER)
            while not member.eof:
                # A little at a time: a small body may unpack to more than all memory.
                part = member.decompress(body, _CHUNK_BYTES)
                body = member.unconsumed_tail
                size += len(part)
                if size > MAX_DECOMPRESSED_BYTES:
                    raise BodyTooLarge(f"At most {MAX_DECOMPRESSED_BYTES} bytes once unpacked.")
                if not part and not body and not member.eof:
                    raise InvalidRequest(INVALID_GZIP)
                parts.append(part)
            body = member.unused_data
    except zlib.error:
        raise InvalidRequest(INVALID_GZIP) from None
    return b"".join(parts)


# No metrics: they contain no turns.
SIGNAL_OF_FIELD: dict[bytes, Signal] = {b'"resourceSpans"': "traces", b'"resourceLogs"': "logs"}


def read_recording(text: bytes, *, name: str, project: UUID) -> tuple[Recording, list[Call]]:
    """Read the one session in a file, and its model calls.

    Raises:
        InvalidRequest: a line is no request, or the file holds no session, or several.
    """
    sessions, session_records, refused = TraceSessions(), list[SessionRecord](), 0
    for requests, (body, signal) in enumerate(_split_requests(text), 1):
        batch = decoding.read_json(body, signal)
        session_records += read_session_records(batch, project=project, sessions=sessions)
        refused += len(batch.refused)
        # Requests count too: a line without a record takes time as well.
        if max(requests, len(session_records)) > MAX_RECORDS:
            raise InvalidRequest(f"At most {MAX_RECORDS} records per recording.", field="file")
    runs = {one.run_key for one in session_records if one.turns}
    if len(runs) != 1:
        what = f"{len(runs)} sessions" if runs else "no turn of an agent"
        raise InvalidRequest(f"The file contains {what}; a recording is one session.", field="file")
    (run,) = runs
    # Exporters send logs and spans in separate batches: only their times order them.
    ordered = sorted(
        (one for one in session_records if one.run_key == run),
        key=lambda one: one.record.time_ns,
    )
    prompt = next((one.prompt for one in ordered if one.prompt), "")
    agent = next((one.agent for one in ordered if one.agent), ordered[0].client)
    turns: list[Turn] = []
    proposals = storing.OpenProposals(NO_REDACTION)
    for one in ordered:
        for turn in (proposals.pair(turn, one) for turn in one.turns):
            moment = turn.ts or one.record.began_at or one.record.ended_at
            turns.append(replace(turn, ts=moment, agent=turn.agent or agent))
    recording = Recording(
        run=prompt[:60] or name,
        turns=tuple(turns),
        malformed=refused,
        goal=prompt or None,
        form="otlp",
    )
    return recording, _model_calls(ordered, agent)


def _split_requests(text: bytes) -> Iterator[tuple[bytes, Signal]]:
    # First as one document: indented JSON has lines too, and none of them is a request.
    if (signal := signal_of(text)) and _is_json_object(text):
        yield text, signal
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        signal = signal_of(line)
        if signal is None or not _is_json_object(line):
            raise InvalidRequest(
                f"Line {number}: expected an OTLP request in JSON, with resourceSpans or"
                " resourceLogs.",
                field="file",
            )
        yield line, signal


def signal_of(text: bytes) -> Signal | None:
    """Return what an export contains, by its names; None if neither spans nor log records."""
    return next((signal for name, signal in SIGNAL_OF_FIELD.items() if name in text), None)


def _is_json_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _model_calls(session_records: Sequence[SessionRecord], agent: str) -> list[Call]:
    """Return each model call once, from the best source, with the tool it asked for."""
    calls = storing.calls_of(session_records, agent=agent)
    best = max((call.source for call in calls), key=SOURCES.index, default="")
    # If a call is reported twice, the first counts.
    by_id = {call.call_id: call for call in reversed(calls) if call.source == best}
    begun = [
        TimedStart(name=call.call_id, agent=call.agent, at=call.began_at)
        for call in by_id.values()
        if call.began_at is not None
    ]
    tools = [
        TimedStart(name=one.tool_key, agent=one.agent or agent, at=one.record.began_at)
        for one in session_records
        if one.tool_key and one.record.began_at is not None
    ]
    keys = match_calls_to_tools(begun, tools)
    return [replace(call, turn_key=keys.get(name)) for name, call in reversed(by_id.items())]
