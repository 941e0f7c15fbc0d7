"""Records whose fields nobody has described: which calls and which answers is told by their names.

The records are the rows of a table, objects in JSON or as Python writes them, lines of a log that
end in one, or a dump of a database. A name is read by its words, in any language: one record may
hold a call with its answer, or say in a field of few values which of them it is.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

from guard.formats.deeds import is_strong, read_deed
from guard.formats.fields import read_answer
from guard.formats.given import arguments_of
from guard.formats.labels import part_of
from guard.formats.log_lines import read_log_lines
from guard.formats.recording import Recording
from guard.turn import Role, Turn

Row = Mapping[str, Any]

_ORDER, _LEAST_OF = ("asked", "came"), 0.6
_LEAST, _MOST_KINDS, _LONGEST_KIND, _DEEPEST, _LONGEST_LINE, _MOST_LISTS = 3, 12, 40, 8, 100_000, 50
# Python's parser takes seconds for a megabyte of it.
_LONGEST_PYTHON = 1 << 20
# Of what is told twice, when it begins and when it ends.
_PHASES = {
    **dict.fromkeys(("begin", "start", "started", "request", "requested"), "asked"),
    **dict.fromkeys(("end", "stop", "ended", "finish", "success"), "came"),
}
_UNREADABLE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_INSERT = re.compile(
    r"INSERT INTO [^\s(]{1,80} ?\(([^()]{1,1000})\) VALUES ?\((.*)\);?", re.IGNORECASE
)
_WORD, _TOOL = re.compile(r"[a-z]+|[^\W\da-z]+[^\WA-Z]*"), re.compile(r"[^\W\d][\w.:/-]{0,80}")
_RULED = re.compile(r"[\s|:+=\u2500-\u257f-]{3,}")
_MARK = re.compile(r"[\d:.TZ+-]{4,100}|[\da-f]{8}-[\da-f-]{27}")
_COUNT = re.compile(r"[^\w\n]{0,4}(?:[^\W\d_]{1,9}[ #]{1,2})?\d[\d:.,/TZ+ -]{0,40}[^\w\n]{0,4}")
_WALL = re.compile(r"(?<!\\)[|│┃]")


def read_keyed(text: str, *, stem: str) -> Recording | None:
    """Read records of unknown names; None where none of them call and answer.

    >>> rows = [{"werkzeug": "sehen", "eingabe": {"n": n}, "ergebnis": "Nebel"} for n in range(3)]
    >>> turn, *_ = read_keyed(json.dumps(rows), stem="a").turns
    >>> turn.tool, turn.args, turn.result
    ('sehen', {'n': 0}, 'Nebel')
    """
    for rows in islice(_lists(text), _MOST_LISTS):
        if len(rows) >= _LEAST and (turns := _turns(rows)):
            return Recording(run=stem, turns=tuple(turns), form="shape")
    return None


# --- where records stand ---


def _lists(text: str) -> Iterator[list[Row]]:
    lines = [line for line in text.splitlines() if line.strip()]
    begins = text.lstrip()[:1]
    if begins in {"{", "["}:
        with suppress(*_UNREADABLE):
            yield from _lists_in(json.loads(text), _DEEPEST)
            return
    is_short = len(text) <= _LONGEST_PYTHON
    rows = [row for line in lines if (row := _row_in(line, may_parse=is_short)) is not None]
    rows = rows or [row for row in read_log_lines(text) if row is not None]
    if 2 * len(rows) >= len(lines):
        yield rows
    walled = [line for line in lines if line.lstrip()[:1] in {"|", "│", "┃"}]
    if len(walled) > _LEAST:
        cells = [
            [cell.strip() for cell in _WALL.split(line.strip())[1:-1]]
            for line in walled
            if not _RULED.fullmatch(line)
        ]
        yield from _tables(cells)
    head = lines[0] if lines else ""
    for sign in ";\t,":
        if head.count(sign) > 1:
            with suppress(csv.Error):
                yield from _tables(list(csv.reader(text.splitlines(), delimiter=sign)))


def _lists_in(value: object, depth: int) -> Iterator[list[Row]]:
    if depth == 0 or not isinstance(value, dict | list):
        return
    inner = [*value.values()] if isinstance(value, dict) else value
    rows: list[Row] = [one for one in inner if isinstance(one, dict)]
    if len(rows) >= _LEAST and len(rows) == len(inner):
        yield rows
    for one in inner:
        yield from _lists_in(one, depth - 1)


def _row_in(line: str, *, may_parse: bool) -> Row | None:
    """Read the object in which a line ends, a constructor as Python writes it, or an insertion."""
    bare = line.strip().removesuffix(",")
    if len(bare) > _LONGEST_LINE:
        return None
    at = bare.find("{")
    if at >= 0 and bare.endswith("}") and "(" not in bare[:at]:
        with suppress(*_UNREADABLE):
            value = json.loads(bare[at:])
            return value if isinstance(value, dict) else None
    if may_parse and at >= 0 and bare.endswith("}") and "(" not in bare[:at]:
        with suppress(*_UNREADABLE):
            return _as_row(ast.literal_eval(bare[at:]))
    if may_parse and bare.endswith(")") and bare[:1].isalpha():
        with suppress(*_UNREADABLE):
            return _as_row(_literal(ast.parse(bare, mode="eval").body))
    if found := _INSERT.fullmatch(bare):
        names = [name.strip(' `"') for name in found[1].split(",")]
        values = next(csv.reader([found[2]], quotechar="'", skipinitialspace=True))
        values = [value.replace("\\n", "\n") for value in values]
        return dict(zip(names, values, strict=False)) if len(names) == len(values) else None
    return None


def _as_row(value: object) -> Row | None:
    return value if isinstance(value, dict) else None


def _literal(node: ast.expr) -> Any:
    """Give the value of an expression, of a constructor its named arguments."""
    if isinstance(node, ast.Call):
        if node.args or not node.keywords:
            raise ValueError
        return {one.arg: _literal(one.value) for one in node.keywords}
    if isinstance(node, ast.List):
        return [_literal(one) for one in node.elts]
    return ast.literal_eval(node)


def _tables(rows: Sequence[Sequence[str]]) -> Iterator[list[Row]]:
    head, *rest = rows or [[]]
    same = [row for row in rest if len(row) == len(head)]
    # Rows of a run are numbered or timed, those of a reference are not.
    columns = zip(*same, strict=True)
    is_run = any(all(map(_COUNT.fullmatch, column)) for column in columns)
    if len(head) > 1 and is_run and 10 * len(same) >= 9 * len(rest):
        yield [dict(zip(head, row, strict=True)) for row in same]


# --- what they tell ---


def _named(name: str) -> str | None:
    """Tell what a field's name says of it."""
    return part_of(" ".join(_WORD.findall(name)))


def _turns(rows: Sequence[Row]) -> list[Turn]:
    kind = _kind_of(rows)
    parts = [_events(row, kind) if kind else _fields(row) for row in rows]
    told = Counter(part for row in parts for part in row)
    order = [part for row in parts for part in _ORDER if part in row]
    pairs = sum(one == _ORDER for one in pairwise(order))
    if pairs < max(_LEAST, _LEAST_OF * max(told["asked"], told["came"])):
        return []
    asked = [row["asked"] for row in parts if "asked" in row]
    strong = sum(isinstance(one, dict) or is_strong(str(one)) for one in asked)
    if not kind and not (told["given"] or told["thought"] or 2 * strong >= told["asked"]):
        return []
    turns = list[Turn]()
    for row in parts:
        _take(row, turns)
    return turns


def _take(row: Mapping[str, Any], turns: list[Turn]) -> None:
    """Add what one record tells, an answer to the call before it."""
    said = _text(row.get("thought"))
    if row.get("user"):
        turns.append(Turn(role=Role.USER, content=_text(row["user"]), seq=len(turns)))
    if row.get("asked"):
        tool, args = _deed(row["asked"], row.get("given"))
        turns.append(
            Turn(role=Role.ASSISTANT, content=said or None, tool=tool, args=args, seq=len(turns))
        )
    elif said:
        turns.append(Turn(role=Role.ASSISTANT, content=said, seq=len(turns)))
    if "came" in row and turns and turns[-1].tool and turns[-1].result is None:
        turns[-1] = replace(turns[-1], result=_text(row["came"]))


def _kind_of(rows: Sequence[Row]) -> str | None:
    """Find the field that says which record calls, and which answers."""
    for name in rows[0]:
        values = {value for row in rows if isinstance(value := row.get(name), str)}
        is_kind = 1 < len(values) <= min(_MOST_KINDS, len(rows) // 2)
        is_kind = is_kind and all(len(value) <= _LONGEST_KIND for value in values)
        if is_kind and {"asked", "came"} <= set(map(_kind, values)):
            return name
    return None


def _kind(value: str) -> str | None:
    words = _WORD.findall(value)
    phases = (_PHASES.get(word.lower()) for word in words)
    return next(filter(None, phases), None) or _named(value)


def _events(row: Row, kind: str) -> dict[str, Any]:
    part = _kind(str(row.get(kind)))
    rest = {
        name: value
        for name, value in row.items()
        if name != kind and value not in (None, "", {}, []) and not _is_mark(value)
    }
    rest = next(iter(rest.values())) if len(rest) == 1 else rest
    return {part: rest} if part and rest else {}


def _is_mark(value: object) -> bool:
    """Tell a number, a time or an id, which says nothing of what was done."""
    if isinstance(value, str):
        return _MARK.fullmatch(value) is not None
    return isinstance(value, bool | int | float)


def _fields(row: Row) -> dict[str, Any]:
    """Sort a record's fields by what their names say; of several the first."""
    parts = dict[str, Any]()
    for name, value in row.items():
        part = _named(name)
        if part and value not in (None, "", {}, []) and not _is_mark(value):
            parts.setdefault(part, value)
    return parts


def _deed(asked: object, given: object) -> tuple[str, dict[str, Any]]:
    if isinstance(asked, dict):
        name = next((one for one in asked if _TOOL.fullmatch(str(asked[one]))), None)
        args = {inner: value for inner, value in asked.items() if inner != name}
        return (str(asked[name]) if name else "act"), args
    if isinstance(given, dict):
        return str(asked), {str(key): given[key] for key in given}
    text = read_answer(given) or ""
    asked = _text(asked)
    if _TOOL.fullmatch(asked) and text:
        return asked, arguments_of(asked, text)
    return read_deed(asked, text)


def _text(value: object) -> str:
    return read_answer(value) or ""
