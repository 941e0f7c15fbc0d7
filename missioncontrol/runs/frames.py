"""What screens hear of a transaction once it is committed.

The publisher makes the frames, one for a board or a run's page, and for those alone that
somebody listens to.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, cast
from uuid import UUID

from pydantic import TypeAdapter

from missioncontrol import broadcast
from missioncontrol.runs import rows
from missioncontrol.runs.models import Run
from missioncontrol.wire.events import EventHead, TurnCompleted, TurnRecorded
from missioncontrol.wire.runs import Meters

# Events that nobody has to answer: screens hear them a few times a second.
OF_TURNS = (TurnRecorded, TurnCompleted)

# Makes the fields that only a run's page hears.
Live = Callable[[], dict[str, Any]]
_meters: TypeAdapter[Meters] = TypeAdapter(Meters)


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What one transaction tells: events by project and by run, and meters that moved.

    An event of a run may come with what its page hears besides; a metered run comes with its
    meters' columns as they were before.
    """

    at: datetime
    of_projects: Mapping[UUID, Sequence[EventHead]]
    of_runs: Mapping[UUID, Sequence[tuple[EventHead, Live | None]]] = field(default_factory=dict)
    metered: Sequence[tuple[Run, Mapping[str, Any]]] = ()

    def frames(self, listened: Collection[str]) -> dict[str, broadcast.Frame]:
        """Return group -> frame, for groups that somebody listens to."""
        events_of: dict[str, Sequence[EventHead]] = {
            group: events
            for project, events in self.of_projects.items()
            if (group := broadcast.board_group(project)) in listened
        }
        events_of |= {
            group: [replace(event, **live()) if live else event for event, live in events]
            for run_id, events in self.of_runs.items()
            if (group := broadcast.run_group(run_id)) in listened
        }
        frames: dict[str, broadcast.Frame] = defaultdict(broadcast.new_frame)
        for group, events in events_of.items():
            frames[group]["events"] = [
                adapter_of(cast(Any, type(event))).dump_json(event).decode() for event in events
            ]
            frames[group]["at_once"] = not all(isinstance(one, OF_TURNS) for one in events)
        for run, before in self.metered:
            groups = {broadcast.board_group(run.project_id), broadcast.run_group(run.id)}
            if groups := groups.intersection(listened):
                # Of the tape, the points from the first that is new or redrawn to the last.
                tape = run.meters.tape
                # The tape moves on by a point a turn, and the oldest points fall off its other end.
                kept = len(tape) - (run.meters.judged_turns - before["judged_turns"])
                known = before["tape"][-kept:] if kept > 0 else []
                pairs = zip(known, tape, strict=False)
                same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
                fresh = len(tape) - len(list(same))
                shown = rows.meters(run, new_points=fresh, at=self.at)
                for group in groups:
                    meters = _meters.dump_python(shown, mode="json")
                    frames[group]["meters"][str(run.id)] = meters
        return dict(frames)


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Return what writes a dataclass of the wire, made once: making it takes milliseconds."""
    return TypeAdapter(kind)
