"""Runs as lines of a file: JSON Lines as the API shows them, CSV for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from operator import attrgetter

from pydantic_core import to_json

from missioncontrol.reports.texts import cell
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
# Flat names for a sheet; where they stand in a row is for JSON to show.
OF_WHY = {
    "why_kind": "why.kind",
    "why": "why.summary",
    "resolution": "why.resolution",
    "by": "why.by",
    "recovered": "why.recovered",
}
# Made once: an export reads them of every run there is.
_read_columns = attrgetter(*(OF_WHY.get(column, column) for column in COLUMNS))


def jsonl(rows: Iterable[HistoryRow]) -> Iterator[bytes]:
    """Yield one JSON object a line."""
    for row in rows:
        yield to_json(row) + b"\n"


def csv_lines(rows: Iterable[HistoryRow]) -> Iterator[bytes]:
    """Yield a header and one line a run (RFC 4180); no cell is a formula."""
    yield _line(COLUMNS)
    for row in rows:
        yield _line(map(cell, _read_columns(row)))


def _line(cells: Iterable[str]) -> bytes:
    # A writer a line: the download streams, and nothing holds the whole file.
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().encode()
