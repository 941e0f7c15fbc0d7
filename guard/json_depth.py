"""JSON nested deeper than Python can read: deep parts become text, so that the call is judged."""

from __future__ import annotations

import json
import re
from typing import Any

# Far deeper than tools use, and shallow enough for every later reader, writer and database.
DEEPEST = 32

# Adjacent brackets, with all that precedes them, are one match: few matches in a long text. No part
# is tried twice, whatever the text holds; a string that is never closed takes the rest.
_BRACKETS = re.compile(
    rb'[^"\[\]{}]*+(?:"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)[^"\[\]{}]*+)*+([\[{]++|[\]}]++|\Z)', re.DOTALL
)


def read_json(text: bytes) -> Any:
    """Read JSON of any depth, with `limit_depth` where Python could not read it.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        pass
    try:
        return json.loads(limit_depth(text))
    except RecursionError:  # a group is never closed
        raise ValueError("nested deep, and never closed") from None


def limit_depth(text: bytes, deepest: int = DEEPEST) -> bytes:
    """Replace each group nested deeper than `deepest` by a string of its JSON.

    Nothing is lost: two calls that differ only there still differ.

    >>> limit_depth(b'{"a": [[1], 2]}', 2)
    b'{"a": ["[1]", 2]}'
    """
    parts: list[bytes] = []
    depth = written = began = 0
    for found in _BRACKETS.finditer(text):
        start, end = found.span(1)
        if text[start : start + 1] in (b"[", b"{"):
            if depth <= deepest < depth + end - start:
                began = start + deepest - depth
            depth += end - start
        else:
            if depth - (end - start) <= deepest < depth:
                ends = start + depth - deepest
                inner = text[began:ends].decode("utf-8", "replace")
                parts += text[written:began], json.dumps(inner).encode()
                written = ends
            depth -= end - start
    return b"".join(parts) + text[written:]
