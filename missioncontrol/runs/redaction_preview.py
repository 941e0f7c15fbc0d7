"""What a project's rules would have masked of its own recorded turns.

Asked for while a person types, so bounded: the newest runs, so many turns, so long a time, and
the beginning of a long text. The answer says how many turns it looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from django.db.models.functions import Left

from missioncontrol.redaction import Redaction
from missioncontrol.runs.cleaning import texts_in
from missioncontrol.runs.models import Run, Turn
from missioncontrol.wire.projects import RedactedPlace, RedactionPreview, RuleUse

LOOKED_BACK = timedelta(days=30)
MOST_RUNS = 500
MOST_TURNS = 5_000
LONGEST_TEXT = 20_000
# The web process has agents to answer beside the person who types.
LONGEST_S = 0.4
SHOWN = 6
EXAMPLES_OF_A_RULE = 2
# Characters shown on each side of what is masked.
AROUND = 40
TEXT_COLUMNS = ("content", "result", "error")


def preview(project: UUID, own: Redaction, *, at: datetime) -> RedactionPreview:
    """Hold rules against what a project recorded in the last 30 days."""
    since, ends = at - LOOKED_BACK, monotonic() + LONGEST_S
    runs = Run.objects.filter(project_id=project, meters__last_turn_at__gt=since).order_by(
        "-meters__last_turn_at"
    )
    # One more than are looked at: it tells whether that was all.
    names = dict(runs.values_list("pk", "name")[: MOST_RUNS + 1])
    is_whole, looked_at, turns, met = len(names) <= MOST_RUNS, 0, 0, set[UUID]()
    uses: Counter[str] = Counter()
    places: list[RedactedPlace] = []
    for turn in _turns(list(names)[:MOST_RUNS], since=since):
        if looked_at == MOST_TURNS or monotonic() > ends:
            is_whole = False
            break
        looked_at += 1
        found = 0
        texts = [getattr(turn, f"begin_of_{name}") for name in TEXT_COLUMNS]
        for text in texts_in([*texts, turn.args, turn.files]):
            # Between texts too: one turn may have many.
            if monotonic() > ends:
                is_whole = False
                break
            is_whole = is_whole and len(text) <= LONGEST_TEXT
            for rule, start, end in own.found(text[:LONGEST_TEXT]):
                found += 1
                uses[rule] += 1
                if uses[rule] <= EXAMPLES_OF_A_RULE and len(places) < SHOWN:
                    places.append(_place(turn, names[turn.run_id], text, start, end))
        if found:
            turns += 1
            met.add(turn.run_id)
    return RedactionPreview(
        since=since,
        looked_at=looked_at,
        is_whole=is_whole,
        turns=turns,
        runs=len(met),
        rules=tuple(RuleUse(rule=rule, times=uses[rule]) for rule in own.rules),
        places=tuple(places),
    )


def _turns(runs: list[UUID], *, since: datetime) -> Iterator[Turn]:
    """Give the turns of the newest runs first, with the beginnings of what was said in them."""
    # One character more than is read: it tells that the text goes on.
    beginnings = {f"begin_of_{name}": Left(name, LONGEST_TEXT + 1) for name in TEXT_COLUMNS}
    for run in runs:
        found = Turn.objects.filter(run_id=run, ts__gt=since).only("run_id", "seq", "args", "files")
        newest = found.annotate(**beginnings).order_by("-seq")[: MOST_TURNS + 1]
        # Few at a time: a turn may hold much, and the time may be over after the first.
        yield from newest.iterator(chunk_size=50)


def _place(turn: Turn, name: str, text: str, start: int, end: int) -> RedactedPlace:
    return RedactedPlace(
        run=turn.run_id,
        name=name,
        seq=turn.seq,
        before=text[max(start - AROUND, 0) : start],
        masked=text[start:end],
        after=text[end : end + AROUND],
    )
