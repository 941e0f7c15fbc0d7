"""Publish again events that screens may have missed.

A process that is killed after a commit has not published its events. A screen notices a missing
event by the gap before the next one; after the last event of a run there is no next one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.db.models import F

from missioncontrol import broadcast
from missioncontrol.accounts.models import Project
from missioncontrol.runs.journal import LONG_COLUMNS
from missioncontrol.runs.models import JournalRow
from missioncontrol.runs.rows import Publication, header
from missioncontrol.wire.events import Event, EventHead
from missioncontrol.wire.rows import adapter_of

# The meters before, as if none had been published: the whole tape is sent.
NOTHING_PUBLISHED: dict[str, Any] = {"judged_turns": 0, "tape": []}


def republish_events(*, since: datetime, until: datetime) -> None:
    """Publish again the last event of each run whose last event is from this time span.

    A screen that has received it knows its `seq` and ignores it.
    """
    # The projects are named to use the index, which begins with the project.
    told = JournalRow.objects.filter(
        project__in=Project.objects.values("id"), at__gt=since, at__lte=until
    )
    last = told.filter(run__meters__event_seq=F("seq"), payload__isnull=False)
    of_projects: dict[UUID, list[EventHead]] = defaultdict(list)
    of_runs, metered = {}, []
    for row in last.select_related("run__meters").defer(*(f"run__{name}" for name in LONG_COLUMNS)):
        text = json.dumps({**header(row), **json.loads(row.payload or "")})
        event: EventHead = adapter_of(Event).validate_json(text)
        of_projects[event.project].append(event)
        run = cast(Any, row.run)  # the join leaves out the project's own events
        of_runs[run.id] = [(event, None)]
        metered.append((run, NOTHING_PUBLISHED))
    news = Publication(at=until, of_projects=of_projects, of_runs=of_runs, metered=metered)
    groups = {*map(broadcast.board_group, of_projects), *map(broadcast.run_group, of_runs)}
    if groups:
        broadcast.send_to_groups(groups, news.frames)
