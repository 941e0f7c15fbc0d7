"""Records of unknown schema: the names of their fields show which calls and which answers.

The records are the rows of a table, objects (JSON or Python literals), or lines of a log that end
with one. `labels.part_of` reads the words of a name, in some twenty languages. A record either
holds a call with its answer, or states which of them it is in a field with few values.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

from guard.formats.actions import is_code_call, read_action
from guard.formats.fields import read_answer
from guard.formats.fragments import PARSE_ERRORS, parse_arguments, read_literal
from guard.formats.labels import part_of
from guard.formats.log_lines import read_log_lines
from guard.formats.recording import Recording
from guard.reading.text_calls import FREE_ACTION
from guard.turn import Role, Turn

Row = Mapping[str, Any]

_CALL_THEN_RESULT, _MIN_SHARE = ("call", "result"), 0.6
_MIN_ROWS, _MAX_KINDS, _MAX_KIND_LENGTH = 3, 12, 40
_MAX_DEPTH, _MAX_LINE_LENGTH, _MAX_LISTS = 8, 100_000, 50
# Of fields: each is looked up in all records.
_MAX_NAMES = 100
# In characters: Python's parser takes seconds for a megabyte.
_MAX_PYTHON_LENGTH = 1 << 20
_WORD, _TOOL = re.compile(r"[a-z]+|[^\W\da-z]+[^\WA-Z]*"), re.compile(r"[^\W\d][\w.:/-]{0,80}")
_RULED = re.compile(r"[\s|:+=\u2500-\u257f-]{3,}")
_MARK = re.compile(r"[\d:.TZ+-]{4,100}|[\da-f]{8}-[\da-f-]{27}")
_COUNT = re.compile(r"[^\w\n]{0,4}(?:[^\W\d_]{1,9}[ #]{1,2})?\d[\d:.,/TZ+ -]{0,40}[^\w\n]{0,4}")
_WALL = re.compile(r"(?<!\\)[|│┃]")


def read_unknown_records(text: str, *, stem: str) -> Recording | None:
    """Read records of unknown schema; None if they hold no calls with answers.

    >>> rows = [{"werkzeug": "sehen", "eingabe": {"n": n}, "ergebnis": "Nebel"} for n in range(3)]
    >>> turn, *_ = read_unknown_records(json.dumps(rows), stem="a").turns
    >>> turn.tool, turn.args, turn.result
    ('sehen', {'n': 0}, 'Nebel')
    """
    for rows in islice(_find_lists(text), _MAX_LISTS):
        if len(rows) >= _MIN_ROWS and (turns := _read_turns(rows)):
            return Recording(run=stem, turns=tuple(turns), form="shape")
    return None


# --- find the records ---


def _find_lists(text: str) -> Iterator[list[Row]]:
    lines = [line for line in text.splitlines() if line.strip()]
    begins = text.lstrip()[:1]
    if begins in {"{", "["}:
        with suppress(*PARSE_ERRORS):
            yield from _lists_of_rows(json.loads(text), _MAX_DEPTH)
            return
    readers = (json.loads, read_literal)[: 1 + (len(text) <= _MAX_PYTHON_LENGTH)]
    rows = [row for line in lines if (row := _object_in(line, readers))]
    rows = rows or list(filter(None, read_log_lines(text)))
    if 2 * len(rows) >= len(lines):
        yield rows
    walled = [line for line in lines if line.lstrip()[:1] in {"|", "│", "┃"}]
    if len(walled) > _MIN_ROWS:
        cells = [
            [cell.strip() for cell in _WALL.split(line.strip())[1:-1]]
            for line in walled
            if not _RULED.fullmatch(line)
        ]
        yield from _read_tables(cells)
    head = lines[0] if lines else ""
    for sign in ";\t,":
        if head.count(sign) > 1:
            with suppress(csv.Error):
                yield from _read_tables(list(csv.reader(text.splitlines(), delimiter=sign)))


def _lists_of_rows(value: object, depth: int) -> Iterator[list[Row]]:
    if depth == 0 or not isinstance(value, dict | list):
        return
    inner = [*value.values()] if isinstance(value, dict) else value
    rows: list[Row] = [one for one in inner if isinstance(one, dict)]
    if len(rows) >= _MIN_ROWS and len(rows) == len(inner):
        yield rows
    for one in inner:
        yield from _lists_of_rows(one, depth - 1)


def _object_in(line: str, readers: Sequence[Callable[[str], Any]]) -> Row | None:
    """Return the object at the end of a line; None: there is none."""
    before, opens, rest = line.strip().removesuffix(",").partition("{")
    if opens and rest.endswith("}") and "(" not in before and len(rest) <= _MAX_LINE_LENGTH:
        for read in readers:
            with suppress(*PARSE_ERRORS):
                value = read(opens + rest)
                return value if isinstance(value, dict) else None
    return None


def _read_tables(rows: Sequence[Sequence[str]]) -> Iterator[list[Row]]:
    head, *rest = rows or [[]]
    same = [row for row in rest if len(row) == len(head)]
    # The rows of a run have numbers or times; those of a reference table do not.
    columns = zip(*same, strict=True)
    is_run = any(all(map(_COUNT.fullmatch, column)) for column in columns)
    if len(head) > 1 and is_run and 10 * len(same) >= 9 * len(rest):
        yield [dict(zip(head, row, strict=True)) for row in same]


# --- read the turns ---


def _read_turns(rows: Sequence[Row]) -> list[Turn]:
    names = islice(rows[0], _MAX_NAMES)
    kind = next((name for name in names if _names_part(rows, name)), None)
    parts = [_parts_of_row(row, kind) for row in rows]
    told = Counter(part for row in parts for part in row)
    order = [part for row in parts for part in _CALL_THEN_RESULT if part in row]
    pairs = sum(one == _CALL_THEN_RESULT for one in pairwise(order))
    if pairs < max(_MIN_ROWS, _MIN_SHARE * max(told["call"], told["result"])):
        return []
    asked = [row["call"] for row in parts if "call" in row]
    strong = sum(isinstance(one, dict) or is_code_call(str(one)) for one in asked)
    if not kind and not (told["arguments"] or told["thought"] or 2 * strong >= told["call"]):
        return []
    turns = list[Turn]()
    for row in parts:
        said = read_answer(row.get("thought")) or None
        if "user" in row:
            turns.append(Turn(role=Role.USER, content=read_answer(row["user"]), seq=len(turns)))
        if "call" in row or said:
            turn = Turn(role=Role.ASSISTANT, content=said, seq=len(turns))
            tool, args = (
                _read_call(row["call"], row.get("arguments")) if "call" in row else (None, None)
            )
            turns.append(replace(turn, tool=tool, args=args))
        if "result" in row and turns and turns[-1].tool and turns[-1].result is None:
            turns[-1] = replace(turns[-1], result=read_answer(row["result"]))
    return turns


def _names_part(rows: Sequence[Row], name: str) -> bool:
    """Return whether a field states which records are calls and which are answers."""
    values = {value for row in rows if isinstance(value := row.get(name), str)}
    is_kind = 1 < len(values) <= min(_MAX_KINDS, len(rows) // 2)
    return (
        is_kind
        and max(map(len, values)) <= _MAX_KIND_LENGTH
        and {*_CALL_THEN_RESULT} <= {*map(_part, values)}
    )


def _part(name: str) -> str | None:
    """Return which part of a step a field's name, or a record's kind, stands for."""
    return part_of(" ".join(_WORD.findall(name)))


def _parts_of_row(row: Row, kind: str | None) -> dict[str, Any]:
    """Return a record's values by part of a step: each by its name, or all by the record's kind."""
    told, rest = dict[str, Any](), dict[str, Any]()
    for name, value in row.items():
        # A number, a time or an id says nothing about what was done.
        is_mark = isinstance(value, int | float) or _MARK.fullmatch(str(value))
        if value and name != kind and not is_mark:
            rest[name] = value
            if part := _part(name):
                told.setdefault(part, value)
    if kind is None:
        return told
    part = _part(str(row.get(kind)))
    return {part: next(iter(rest.values())) if len(rest) == 1 else rest} if part and rest else {}


def _read_call(asked: object, given: object) -> tuple[str, dict[str, Any]]:
    if isinstance(asked, dict):
        name = next((one for one in asked if _TOOL.fullmatch(str(asked[one]))), None)
        rest = {inner: value for inner, value in asked.items() if inner != name}
        alone = next(iter(rest.values())) if len(rest) == 1 else None
        return str(asked.get(name, FREE_ACTION)), alone if isinstance(alone, dict) else rest
    tool, text = read_answer(asked) or "", read_answer(given) or ""
    if _TOOL.fullmatch(tool) and text:
        return tool, parse_arguments(tool, text)
    return read_action(tool, text)
