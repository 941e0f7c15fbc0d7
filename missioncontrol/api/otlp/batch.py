"""The contents of a request: the records that could be read, and why others could not.

Parts are counted before they are built: an empty one takes two bytes, and a hundred times as
much memory as an object.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from missioncontrol.api.otlp.record import Record, Signal, read_integer
from missioncontrol.errors import BodyTooLarge, InvalidRequest
from missioncontrol.runs.sanitizing import storable_json, storable_text

# Far above what exporters send at once (512 spans, the specification's default).
MAX_RECORDS = 20_000
# Levels of nesting of a value.
MAX_DEPTH = 24
# The year 2200: databases cannot read a much later one back.
MAX_SECOND = 7_258_118_400


class UnreadableRecord(ValueError):
    """One record cannot be read; the others can."""


@dataclass(slots=True)
class Batch:
    """Records in the order of the request; `refused` says why, by position."""

    signal: Signal
    records: list[Record] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    points: int = 0
    """Data points of metrics, which are counted and not stored."""

    def refuse(self, index: int, why: str) -> None:
        """Leave out a record and say why."""
        self.refused[index] = why

    @property
    def message(self) -> str:
        """Describe what was refused, the first few by position; empty if nothing was."""
        reasons = [f"record {index}: {why}" for index, why in sorted(self.refused.items())[:5]]
        more = len(self.refused) - len(reasons)
        return "; ".join(reasons) + (f"; and {more} more" if more else "")


def time_of(nanoseconds: int) -> datetime | None:
    """Return a time; None if there is none or it is out of range."""
    if not 0 < nanoseconds < MAX_SECOND * 1_000_000_000:  # before dividing: it may not fit a float
        return None
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def start_time(when_ns: int, attributes: dict[str, Any]) -> datetime | None:
    """Return when an action began: a log record is written at its end, with its duration."""
    # A negative duration, from a clock that was set back, must not put the start after the end.
    took = read_integer(attributes.get("duration_ms")) or 0
    return time_of(when_ns - max(took, 0) * 1_000_000) or time_of(when_ns)


def read_hex_id(text: str, length: int, what: str) -> str:
    """Return an id in lower case; an empty text for an empty or all-zero one.

    Raises:
        UnreadableRecord: it is not an id.
    """
    text = text.lower()
    # W3C Trace Context: an id of only zeros is invalid.
    if not text.strip("0"):
        return ""
    if len(text) != length or any(letter not in "0123456789abcdef" for letter in text):
        raise UnreadableRecord(f"{what} must be {length} hexadecimal digits")
    return text


def attributes_by_name(attributes: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    """Return attributes by name, ready to be stored; the last of the same name counts."""
    return {storable_text(name): storable_json(value) for name, value in attributes if name}


def event_name(attributes: dict[str, Any], own: str, body: Any) -> str:
    """Name a log record: by its attribute, its own field, or its text."""
    # The attribute is the older convention, the record's own field the newer; some use neither.
    name = attributes.get("event.name") or own or body
    return storable_text(name)[:200] if isinstance(name, str) else ""


# In protobuf each span, attribute and value is a message. 16 MB of real ones contain fewer.
MAX_PROTOBUF_MESSAGES = 500_000
# In JSON each object and list is one; brackets within texts count too, so the limit is higher.
MAX_JSON_CONTAINERS = 1_000_000
INVALID_PROTOBUF = "The body is no OTLP request in protobuf."


def check_json_size(body: bytes) -> None:
    """Refuse a body that would become too many objects.

    Raises:
        BodyTooLarge: it would.
    """
    if body.count(b"{") + body.count(b"[") > MAX_JSON_CONTAINERS:
        raise BodyTooLarge(f"At most {MAX_JSON_CONTAINERS} objects and lists per request.")


def check_protobuf_size(body: bytes, kind: Any) -> None:
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


@functools.cache
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
