"""google.rpc.Status in protobuf: how OTLP answers a request it refuses."""

from __future__ import annotations

# HTTP status -> google.rpc.Code.
CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 8, 415: 3, 503: 14}
UNKNOWN = 2
SEVEN_BITS = 0x7F


def status(http_status: int, message: str) -> bytes:
    r"""Encode a status: field 1 the code, field 2 the sentence.

    >>> status(400, "no")
    b'\x08\x03\x12\x02no'
    """
    # Half of a character, as JSON may hold one, has no UTF-8.
    text = message.encode("utf-8", "replace")
    # Protobuf's base 128: the low seven bits first, and a high bit where more follow.
    length, left = bytearray(), len(text)
    while left > SEVEN_BITS:
        length.append(left & SEVEN_BITS | 0x80)
        left >>= 7
    length.append(left)
    code = CODES.get(http_status, UNKNOWN)
    # Tags of fields 1 (a number) and 2 (a text of a length).
    return b"\x08" + bytes([code]) + b"\x12" + bytes(length) + text
