"""Rows of an export by an earlier version, as this one keeps them.

Until 0.1.0 a run's hold was columns of its row, and an answer told only that it ended one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from missioncontrol.runs.lifecycle import NEVER_HELD, ON_HOLD

Told = tuple[str, dict[str, Any]]
"""The kind of a row, and its columns."""

HOLD = {
    "held_since": "since",
    "hold_seq": "from_seq",
    "hold_expires_at": "expires_at",
    "waiting_at": "waiting_at",
    "waiting_since": "waiting_since",
    "gave_up_at": "gave_up_at",
    "hold_stands": "stands",
}
"""What the columns of a hold were called in its run."""


def as_now(told: Iterable[Told]) -> Iterator[Told]:
    """Yield what an earlier version told as this one's rows; its own come as they are."""
    began: dict[str, int] = {}
    holds: list[Told] = []
    for kind, row in told:
        if kind == "run" and "hold_seq" in row:
            hold = {name: row.pop(was) for was, name in HOLD.items()}
            began[row["id"]] = hold["from_seq"]
            is_over = row["status"] in NEVER_HELD
            if not is_over and (row["status"] in ON_HOLD or hold["stands"]):
                hold["since"] = hold["since"] or row["last_turn_at"] or row["started_at"]
                holds.append(("hold", {**hold, "run_id": row["id"]}))
        elif kind != "run":  # a hold comes after its run
            yield from holds
            holds = []
        if kind == "intervention" and "lifted" in row:
            row["held_from"] = began.get(row["run_id"]) if row.pop("lifted") else None
        yield kind, row
    yield from holds
