"""Give a run a past of many turns, straight into the database, as ingest and judging leave it.

`python -m tests.long_run RUN TURNS [FIRST]` works on the installation that the environment
names; a FIRST beyond the last turn leaves a gap that no run of ours has.
A thousand turns are made row by row; the others repeat them under their own numbers,
which makes 100,000 in seconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

BEGAN = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
PERIOD = 1_000
NEEDLE = "rare words here"
NEEDLES = 5_000
"""Every so many turns one has the needle in its result."""
TRIPS = 997
"""The place of the turn that tripped, in each period."""
TOOLS = (
    ("Bash", "command", "pytest -q tests/part_{n}.py", "test_run"),
    ("Read", "file_path", "app/module_{n}.py", "read"),
    ("Edit", "file_path", "app/module_{n}.py", "file_edit"),
    ("Grep", "pattern", "needle_{n}", "search"),
    (None, "", "The fixtures of part {n} look right now.", "message"),
)
AGENTS = ("researcher", "analyst", "reviewer", "writer")
SHIFT = 25
"""Turns an agent works before it hands on."""
COST = Decimal("0.0004")


def score_of(seq: int) -> float:
    """Return how near a card a turn was: low, but for those that tripped."""
    place = seq % PERIOD
    return 1.0 if place == TRIPS else (place * 37 % 80) / 100


def _stem(run: Any, place: int) -> dict[str, Any]:
    tool, name, pattern, kind = TOOLS[place % len(TOOLS)]
    words = pattern.format(n=place % 331)
    trips = place == TRIPS
    usage = {
        "input": 200 + place % 90,
        "cache_read": 9_000 + place % 700,
        "cache_write_5m": place % 60,
        "cache_write_1h": 0,
        "output": 120 + place % 45,
        "reasoning": 0,
    }
    return {
        "run_id": run.id,
        "agent": AGENTS[place // SHIFT % len(AGENTS)],
        "role": "assistant",
        "phase": "done",
        "tool": tool,
        "args": {name: words} if tool else None,
        "content": None if tool else words,
        "error": "ModuleNotFoundError: no module 'app.tokens'" if trips else None,
        "action_class": kind,
        "usage": usage,
        "cost_usd": COST,
        "score": score_of(place),
        "changed": place % 7 == 0,
        "detector": "same_error" if trips else None,
        "digest": "",
    }


def _own(seq: int) -> dict[str, Any]:
    at = BEGAN + timedelta(seconds=seq)
    result = NEEDLE if seq % NEEDLES == 0 else f"ok, line {seq}"
    return {
        "seq": seq,
        "first_obs": seq + 1,
        "obs": seq + 1,
        "key": f"seed-{seq}",
        "result": result,
        "ts": at,
        "done_at": at,
    }


def _rows(run: Any, first: int, turns: int) -> Iterator[tuple[Any, ...]]:
    from django.db import connection

    from missioncontrol.ids import new_id
    from missioncontrol.runs.models import Turn

    def stored(turn: Turn) -> list[Any]:
        fields = Turn._meta.concrete_fields
        return [one.get_db_prep_save(getattr(turn, one.attname), connection) for one in fields]

    def own(seq: int) -> Iterator[tuple[int, Any]]:
        for name, value in {"id": new_id(), **_own(seq)}.items():
            yield places[name], fields[name].get_db_prep_save(value, connection)

    fields = {one.attname: one for one in Turn._meta.concrete_fields}
    places = {name: place for place, name in enumerate(fields)}
    made = [
        stored(Turn(seq=0, first_obs=0, obs=0, ts=BEGAN, **_stem(run, i))) for i in range(PERIOD)
    ]
    for seq in range(first, first + turns):
        row = made[seq % PERIOD].copy()
        for place, value in own(seq):
            row[place] = value
        yield tuple(row)


def fill(run_id: Any, turns: int, first: int | None = None) -> None:
    """Give an open run this many turns more; its figures follow."""
    from django.db import connection

    from missioncontrol.runs.models import Run, Turn

    run = Run.objects.get(pk=run_id)
    first = run.meters.last_seq + 1 if first is None else first
    quote = connection.ops.quote_name
    names = [quote(str(one.column)) for one in Turn._meta.concrete_fields]
    marks = ", ".join(["%s"] * len(names))
    insert = f"INSERT INTO {quote(Turn._meta.db_table)} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.executemany(insert, list(_rows(run, first, turns)))
    _follow(run, first + turns - 1)


def _follow(run: Any, last: int) -> None:
    from missioncontrol.runs.models import Run, RunMeters

    turns = last + 1
    tape = [[score_of(seq), seq % PERIOD % 7 == 0] for seq in range(max(0, turns - 44), turns)]
    Run.objects.filter(pk=run.pk).update(started_at=BEGAN)
    RunMeters.objects.filter(pk=run.pk).update(
        last_seq=last,
        last_obs=turns,
        detected_obs=turns,
        streak_obs=turns,
        done_turns=turns,
        judged_turns=turns,
        tool_calls=turns * 4 // 5,
        cost_usd=COST * turns,
        last_turn_at=BEGAN + timedelta(seconds=last),
        tape=tape,
        input_tokens=245 * turns,
        cache_read_tokens=9_350 * turns,
        output_tokens=142 * turns,
    )


def main() -> None:
    import django
    from django.db import transaction

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
    django.setup()
    with transaction.atomic():
        fill(sys.argv[1], *map(int, sys.argv[2:]))


if __name__ == "__main__":
    main()
