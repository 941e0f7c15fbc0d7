"""An OTLP/HTTP request's body: which encoding, unpacked, within limits."""

from __future__ import annotations

import zlib

from missioncontrol.errors import BodyTooLarge, InvalidRequest, WrongMediaType

JSON, PROTOBUF = "application/json", "application/x-protobuf"
UNPACKED_LIMIT = 16 * 1024 * 1024
# Of a gzip file: exporters send one, and empty ones cost time that no size bounds.
MOST_MEMBERS = 100
# zlib's way to ask for gzip's header instead of its own.
GZIP_HEADER = 16 + zlib.MAX_WBITS
NO_GZIP = "The body is not gzip, or cut off."
_STEP = 1024 * 1024


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
