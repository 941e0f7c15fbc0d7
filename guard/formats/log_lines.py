"""Lines of a program's log: a timestamp, words, and an event's fields.

The fields are an object at the end of the line, or pairs in logfmt:
`INFO agent tool_call name=look args={"at": "sky"}`. The last word before them names the event,
unless they include `event`; if there is no such word, `msg` names it.

Source: logfmt as Heroku's router, Go's `slog` and structlog write it; log lines that end in JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

# In characters: a longer line is not an event of a log.
_MAX_LINE_LENGTH, _MAX_PAIRS, _HEAD = 100_000, 40, 60
_STARTS = re.compile(r"(?<![\w.\"'=-])([A-Za-z][\w.-]{0,40})=|(?<!\S)\{\"")
_BARE, _EVENT = re.compile(r"\s*(\S*)"), re.compile(r"([A-Za-z][\w.-]{1,40})\W*$")
_PAIR = re.compile(r"\s*([A-Za-z][\w.-]{0,40})=")
_read_json = json.JSONDecoder(strict=False).raw_decode


def read_log_lines(text: str) -> Iterator[dict[str, Any] | None]:
    """Read each line's fields, and the word before them as `event`; None: fewer than two fields.

    >>> list(read_log_lines('10:02 INFO tool_call: name=look args={"at": "sky"}'))
    [{'event': 'tool_call', 'name': 'look', 'args': {'at': 'sky'}}]
    >>> list(read_log_lines("1 + 1 is 2 for nothing=1"))
    [None]
    """
    for line in text.splitlines():
        found = _STARTS.search(line) if len(line) <= _MAX_LINE_LENGTH else None
        if found is None:
            yield None
            continue
        at, fields = found.start(), dict[str, Any]()
        with suppress(ValueError, RecursionError):
            fields = _read_json(line, at)[0] if line[at] == "{" else dict(_read_pairs(line, at))
        before = _EVENT.search(line[max(0, at - _HEAD) : at])
        event = before[1] if before else fields.get("msg")
        yield {"event": event, **fields} if len(fields) > 1 else None


def _read_pairs(line: str, at: int) -> Iterator[tuple[str, Any]]:
    for _ in range(_MAX_PAIRS):
        if (pair := _PAIR.match(line, at)) is None:
            return
        at = pair.end()
        value: Any = None
        if line[at : at + 1] in {'"', "{", "["}:
            with suppress(ValueError, RecursionError):
                value, at = _read_json(line, at)
        if value is None and (bare := _BARE.match(line, at)):
            value, at = bare[1], bare.end()
        yield pair[1], {"true": True, "false": False}.get(str(value), value)
