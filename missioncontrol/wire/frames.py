"""Frames of the WebSocket."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from missioncontrol.wire.decisions import DecisionRow, InterventionRow
from missioncontrol.wire.events import Event
from missioncontrol.wire.runs import Meters, RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    type: Literal["snapshot"] = "snapshot"
    at: datetime
    runs: tuple[RunRow, ...]
    decisions: tuple[DecisionRow, ...]
    """Open ones, and those answered within the last day."""
    interventions: tuple[InterventionRow, ...]
    """A run socket's: the run's; a board's: those of the last hour."""
    # By run: an event up to here is in the snapshot already.
    seq: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    project: UUID
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class MetersFrame:
    type: Literal["meters"] = "meters"
    # Without a `seq`: derived, so that the newest simply replaces what is shown.
    runs: dict[str, Meters]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFrame:
    type: Literal["batch"] = "batch"
    # In one frame, so that a screen draws once what several commits brought.
    events: tuple[Event, ...]
