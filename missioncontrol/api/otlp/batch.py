"""What a request held: the records that could be read, and why others could not.

Its parts are counted before they are built: an empty one takes two bytes, and a hundred times as
much memory once it is an object.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from missioncontrol.api.otlp.record import Record, Signal, whole
from missioncontrol.errors import BodyTooLarge, InvalidRequest
from missioncontrol.runs.cleaning import storable, storable_text

# Far above what exporters send at once (512 spans, by the specification's default).
MOST_RECORDS = 20_000
# Of a value within a value.
DEEPEST = 24
# The year 2200: no database reads a later one back.
LAST_SECOND = 7_258_118_400


class Unreadable(ValueError):
    """One record cannot be read; the others can."""


@dataclass(slots=True)
class Batch:
    """Records in the order of the request; `refused` says why, by position."""

    signal: Signal
    records: list[Record] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    points: int = 0
    """Data points of metrics, which are looked at and not kept."""

    def refuse(self, place: int, why: str) -> None:
        """Leave out a record and say why."""
        self.refused[place] = why

    @property
    def message(self) -> str:
        """Say what was refused, the first few by name; empty where nothing was."""
        reasons = [f"record {place}: {why}" for place, why in sorted(self.refused.items())[:5]]
        more = len(self.refused) - len(reasons)
        return "; ".join(reasons) + (f"; and {more} more" if more else "")


def moment(nanoseconds: int) -> datetime | None:
    """Return a moment; None where none was told or it cannot be."""
    if not 0 < nanoseconds < LAST_SECOND * 1_000_000_000:  # before dividing: it may fit no float
        return None
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def began(when_ns: int, attributes: dict[str, Any]) -> datetime | None:
    """Return when a log record's deed began: it is told at its end, with its duration."""
    # A negative duration, of a clock that was set back, must not put it after its end.
    took = whole(attributes.get("duration_ms")) or 0
    return moment(when_ns - max(took, 0) * 1_000_000) or moment(when_ns)


def hex_id(text: str, length: int, what: str) -> str:
    """Return an id in lower case; an empty or all-zero one is none.

    Raises:
        Unreadable: it is no id.
    """
    text = text.lower()
    # W3C Trace Context: an id of zeros alone is no id.
    if not text.strip("0"):
        return ""
    if len(text) != length or any(letter not in "0123456789abcdef" for letter in text):
        raise Unreadable(f"{what} must be {length} hexadecimal digits")
    return text


def named(attributes: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    """Return attributes by name, fit to be stored; the last of the same name counts."""
    return {storable_text(name): storable(value) for name, value in attributes if name}


def event_name(attributes: dict[str, Any], own: str, body: Any) -> str:
    """Name a log record: by its attribute, its own field, or its text."""
    # The attribute is the older place, the record's own field the newer; some use neither.
    name = attributes.get("event.name") or own or body
    return storable_text(name)[:200] if isinstance(name, str) else ""


# Of protobuf: each span, attribute and value is one. What fills 16 MB with real ones has fewer.
MOST_MESSAGES = 500_000
# Of JSON: each object and list; brackets within texts count too, so it is more.
MOST_GROUPS = 1_000_000
NO_PROTOBUF = "The body is no OTLP request in protobuf."


def check_json(body: bytes) -> None:
    """Refuse what would become too many objects.

    Raises:
        BodyTooLarge: it would.
    """
    if body.count(b"{") + body.count(b"[") > MOST_GROUPS:
        raise BodyTooLarge(f"At most {MOST_GROUPS} objects and lists per request.")


def check_protobuf(body: bytes, kind: Any) -> None:
    """Refuse what would become too many objects; `kind` is the message's descriptor.

    Raises:
        BodyTooLarge: it would.
        InvalidRequest: it is no such message.
    """
    if len(body) <= 2 * MOST_MESSAGES:  # nearly all: there is no room for so many
        return
    try:
        if not _has_at_most(MOST_MESSAGES, body, kind):
            raise BodyTooLarge(f"At most {MOST_MESSAGES} messages within a request.")
    except IndexError:  # cut off within a number
        raise InvalidRequest(NO_PROTOBUF) from None


def _has_at_most(most: int, body: bytes, kind: Any) -> bool:
    unread = [(0, len(body), _messages_in(kind))]
    while unread:
        at, end, kinds = unread.pop()
        while at < end:
            tag, at = _number(body, at)
            match tag & 7:  # the wire type
                case 0:
                    _, at = _number(body, at)
                case 1:
                    at += 8
                case 5:
                    at += 4
                case 2:
                    size, at = _number(body, at)
                    if (inner := kinds.get(tag >> 3)) is not None:
                        most -= 1
                        unread.append((at, min(at + size, end), _messages_in(inner)))
                    at += size
                case _:  # a group, which OTLP has not: what follows it would go uncounted
                    raise InvalidRequest(NO_PROTOBUF)
            if most < 0:
                return False
    return True


@functools.cache
def _messages_in(kind: Any) -> dict[int, Any]:
    return {
        field.number: field.message_type for field in kind.fields if field.message_type is not None
    }


def _number(body: bytes, at: int) -> tuple[int, int]:
    """Read a variable-length number; return it, and where the next begins."""
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the sign that another byte follows
            return value, at
        shift += 7
