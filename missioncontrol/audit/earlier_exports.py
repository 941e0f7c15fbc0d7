"""Rows of an export by an earlier version, as this one keeps them.

A run's meters were columns of its row; before that its hold was too, and an answer told only
that it ended one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from missioncontrol.runs.lifecycle import NEVER_HELD, ON_HOLD
from missioncontrol.runs.models import RunMeters

# The kind of a row, and its columns.
ExportedRow = tuple[str, dict[str, Any]]

# What the columns of a hold were called in its run.
HOLD = {
    "held_since": "since",
    "hold_seq": "from_seq",
    "hold_expires_at": "expires_at",
    "waiting_at": "waiting_at",
    "waiting_since": "waiting_since",
    "gave_up_at": "gave_up_at",
    "hold_stands": "stands",
}
METERS = {field.attname for field in RunMeters._meta.concrete_fields if not field.primary_key}
# Rows cut out of their runs, before they follow them: neither all at once nor one by one.
KEPT_BACK = 500


def as_now(rows: Iterable[ExportedRow]) -> Iterator[ExportedRow]:
    """Yield what an earlier version told as this one's rows; its own come as they are."""
    began: dict[str, int] = {}
    meters: list[ExportedRow] = []
    holds: list[ExportedRow] = []
    for kind, row in rows:
        # Behind the rows of their runs, which they point at.
        if kind != "run" or len(meters) == KEPT_BACK:
            yield from (*meters, *holds)
            meters, holds = [], []
        if kind == "run" and "hold_seq" in row:
            began[row["id"]] = row["hold_seq"]
            hold = {name: row.pop(was) for was, name in HOLD.items()}
            is_held = row["status"] in ON_HOLD or hold["stands"]
            if is_held and row["status"] not in NEVER_HELD:
                # The earliest exports do not say since when.
                hold["since"] = hold["since"] or row["last_turn_at"] or row["started_at"]
                holds.append(("hold", {**hold, "run_id": row["id"]}))
        if kind == "run" and "last_seq" in row:
            own = {name: row.pop(name) for name in METERS & row.keys()}
            meters.append(("run_meters", {**own, "run_id": row["id"]}))
        if kind == "intervention" and "lifted" in row:
            row["held_from"] = began.get(row["run_id"]) if row.pop("lifted") else None
        yield kind, row
    yield from (*meters, *holds)
