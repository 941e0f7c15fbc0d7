"""What screens are sent once a transaction is committed, and again if a process died before.

The publisher makes the frames, one for each board or run's page that somebody listens to.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from django.db.models import F

from missioncontrol import broadcast
from missioncontrol.accounts.models import Project
from missioncontrol.runs.models import LONG_COLUMNS, JournalRow, Run
from missioncontrol.runs.rows import header, meters_row
from missioncontrol.wire.events import Event, EventHead, TurnCompleted, TurnRecorded
from missioncontrol.wire.rows import adapter_of, to_json

# Events that nobody has to answer: sent to screens a few times a second, not at once.
TURN_EVENTS = (TurnRecorded, TurnCompleted)
# The meters before, as if none had been published: the whole tape is sent.
NOTHING_PUBLISHED: dict[str, Any] = {"judged_turns": 0, "tape": []}

# Makes the fields that only a run's page receives.
LiveFields = Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What one transaction publishes: its events in order, and runs whose meters changed.

    An event may come with extra fields for its run's page; a metered run comes with its meters'
    columns as they were before.
    """

    at: datetime
    events: Sequence[tuple[EventHead, LiveFields | None]]
    metered: Sequence[tuple[Run, Mapping[str, Any]]] = ()

    def send(self) -> None:
        """Send it, without waiting, to the boards and pages that somebody listens to."""
        groups = {group for run, _ in self.metered for group in _groups_of(run)}
        for event, _ in self.events:
            groups.add(broadcast.board_group(event.project))
            if event.run is not None:
                groups.add(broadcast.run_group(event.run))
        broadcast.send_to_groups(groups, self.frames)

    def frames(self, listened: Collection[str]) -> dict[str, broadcast.Frame]:
        """Return group -> frame, for groups that somebody listens to."""
        frames: dict[str, broadcast.Frame] = defaultdict(broadcast.new_frame)
        for event, live in self.events:
            if (board := broadcast.board_group(event.project)) in listened:
                _add_event(frames[board], event)
            if event.run is not None and (page := broadcast.run_group(event.run)) in listened:
                _add_event(frames[page], replace(event, **live()) if live else event)
        for run, before in self.metered:
            if groups := _groups_of(run).intersection(listened):
                shown = meters_row(run, new_points=_count_new_points(run, before), at=self.at)
                for group in groups:
                    frames[group]["meters"][str(run.id)] = to_json(shown)
        return dict(frames)


def _groups_of(run: Run) -> set[str]:
    return {broadcast.board_group(run.project_id), broadcast.run_group(run.id)}


def _add_event(frame: broadcast.Frame, event: EventHead) -> None:
    frame["events"].append(adapter_of(type(event)).dump_json(event).decode())
    frame["at_once"] = frame["at_once"] or not isinstance(event, TURN_EVENTS)


def _count_new_points(run: Run, before: Mapping[str, Any]) -> int:
    """Return how many points of the tape to send: from the first that is new or redrawn on."""
    tape = run.meters.tape
    # Each turn adds a point to the tape; the oldest points drop off its other end.
    kept = len(tape) - (run.meters.judged_turns - before["judged_turns"])
    known = before["tape"][-kept:] if kept > 0 else []
    pairs = zip(known, tape, strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    return len(tape) - len(list(same))


def republish_events(*, since: datetime, until: datetime) -> None:
    """Publish again the last event of each run whose last event is from this time span.

    A process that is killed after a commit has not published its events. A screen notices a
    missing event by the gap before the next one; after the last event of a run there is no next
    one. A screen that has received it knows its `seq` and ignores it.
    """
    # The projects are named to use the index, which begins with the project.
    recent = JournalRow.objects.filter(
        project__in=Project.objects.values("id"), at__gt=since, at__lte=until
    )
    last = recent.filter(run__meters__event_seq=F("seq"), payload__isnull=False)
    rows = list(last.select_related("run__meters").defer(*(f"run__{one}" for one in LONG_COLUMNS)))
    publication = Publication(
        at=until,
        events=[(_event_of(row), None) for row in rows],
        # The join leaves out the project's own events.
        metered=[(cast(Run, row.run), NOTHING_PUBLISHED) for row in rows],
    )
    if rows:
        publication.send()


def _event_of(row: JournalRow) -> EventHead:
    text = json.dumps({**header(row), **json.loads(row.payload or "")})
    return cast(EventHead, adapter_of(Event).validate_json(text))
