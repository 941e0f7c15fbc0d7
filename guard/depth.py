"""JSON nested deeper than Python reads: its depths become text, so that the call is judged."""

from __future__ import annotations

import json
import re
from typing import Any

# Far deeper than tools take, and shallow enough for every reader, writer and database behind.
DEEPEST = 32

# Brackets that stand together, after whatever else: few matches in a long text. Nothing is tried
# twice, whatever it holds; a text that never ends takes the rest.
_BRACKETS = re.compile(
    rb'[^"\[\]{}]*+(?:"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)[^"\[\]{}]*+)*+([\[{]++|[\]}]++|\Z)', re.DOTALL
)


def read_json(text: bytes) -> Any:
    """Read JSON of any depth, `shallow` where Python could not read it.

    Raises:
        ValueError: It is none.
    """
    try:
        return json.loads(text)
    except RecursionError:
        pass
    try:
        return json.loads(shallow(text))
    except RecursionError:  # its groups are never closed
        raise ValueError("nested deep, and never closed") from None


def shallow(text: bytes, deepest: int = DEEPEST) -> bytes:
    """Write each group that is nested deeper as a text of its JSON.

    Nothing is lost by it: two calls that differ there alone still differ.

    >>> shallow(b'{"a": [[1], 2]}', 2)
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
