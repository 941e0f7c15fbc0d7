"""How many parts a request has, counted before they are built: an empty one takes two bytes,
and a hundred times as much memory once it is an object.
"""

from __future__ import annotations

import functools
from typing import Any

from missioncontrol.errors import BodyTooLarge, InvalidRequest

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
        raise BodyTooLarge(f"At most {MOST_GROUPS} objects and lists a request.")


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
