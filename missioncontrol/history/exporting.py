"""Runs as lines of a file: JSON Lines as the API shows them, CSV for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import to_json

from missioncontrol.reports.cost_csv import FORMULA
from missioncontrol.wire.history import HistoryRow

COLUMNS = (
    "id",
    "project",
    "name",
    "agent",
    "status",
    "mode",
    "model",
    "goal",
    "started_at",
    "ended_at",
    "turns",
    "calls",
    "cost_usd",
    "judge_cost_usd",
    "unpriced_calls",
    "loop_cost_usd",
    "why_kind",
    "why",
    "resolution",
    "by",
    "recovered",
)


def jsonl(rows: Iterable[HistoryRow]) -> Iterator[bytes]:
    """Yield one JSON object a line."""
    for row in rows:
        yield to_json(row) + b"\n"


def csv_lines(rows: Iterable[HistoryRow]) -> Iterator[bytes]:
    """Yield a header and one line a run (RFC 4180); no cell is a formula."""
    yield _line(COLUMNS)
    for row in rows:
        yield _line([cell(_value(row, column)) for column in COLUMNS])


def cell(value: Any) -> str:
    """Return a value as a spreadsheet may read it: a quote before what looks like a formula.

    >>> cell("=1+1")
    "'=1+1"
    """
    if value is None:
        return ""
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _value(row: HistoryRow, column: str) -> Any:
    names = {
        "why_kind": "kind",
        "why": "summary",
        "resolution": "resolution",
        "by": "by",
        "recovered": "recovered",
    }
    if column in names:
        return getattr(row.why, names[column])
    return getattr(row, column)


def _line(cells: Iterable[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().encode()
