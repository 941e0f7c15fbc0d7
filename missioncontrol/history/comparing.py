"""Set two runs side by side: their turns aligned, and where they diverge.

Two turns are the same step if `guard` reads the same request in them: the tool and its
meant arguments, with scratch paths and times masked, or the same words. Bounded: the first
`MAX_TURNS` of each run, as far as they can be read within `READ_SECONDS`.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import NamedTuple

from django.db.models.functions import Left

from guard.describe import headline
from guard.reading.normalize import call_text, format_call, stable_args, strip_remarks
from guard.reading.volatile import mask_temp_paths
from missioncontrol.runs import rows
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import MAX_TEXT
from missioncontrol.wire.history import ComparedStep, RunComparison, Stretch

# Squared, this is the size of the aligned table: a million bits.
MAX_TURNS = 1_000
# Time to read each run: arguments may be long.
READ_SECONDS = 2.0


class Pair(NamedTuple):
    """The positions of one step in both sequences; None: the other sequence alone has it."""

    a: int | None
    b: int | None


def align(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Align two sequences along a longest common subsequence, in their order.

    Bit-parallel (Hyyrö, *Bit-parallel LCS-length computation revisited*, 2004), traced
    back through one row of bits for each item of `b`: n·m/64 steps and n·m bits, also for
    items that all repeat, where `difflib` takes cubic time.

    >>> align("read edit test".split(), "read grep test".split())
    [Pair(a=0, b=0), Pair(a=None, b=1), Pair(a=1, b=None), Pair(a=2, b=2)]
    """
    where: dict[Hashable, int] = {}
    for place, item in enumerate(a):
        # All places of an item as bits of one number: one step compares it with 64 turns or more.
        where[item] = where.get(item, 0) | 1 << place
    every = (1 << len(a)) - 1
    row, table = every, []
    for item in b:
        matched = row & where.get(item, 0)
        row = (row + matched | row - matched) & every
        table.append(row)
    # From the ends to the starts: a set bit means that the best
    # alignment up to here does not need this item of `a`.
    pairs: list[Pair] = []
    i, j = len(a), len(table)
    while i and j:
        if table[j - 1] >> i - 1 & 1:
            i -= 1
            pairs.append(Pair(i, None))
        elif j > 1 and not table[j - 2] >> i - 1 & 1:
            j -= 1
            pairs.append(Pair(None, j))
        else:
            i, j = i - 1, j - 1
            pairs.append(Pair(i, j))
    pairs += [Pair(place, None) for place in reversed(range(i))]
    pairs += [Pair(None, place) for place in reversed(range(j))]
    return pairs[::-1]


def compare(run: Run, other: Run) -> RunComparison:
    """Align the turns of two runs."""
    a, b = _read_steps(run), _read_steps(other)
    pairs = align([request for request, _ in a], [request for request, _ in b])
    stretches = tuple(
        Stretch(
            same=same,
            a=tuple(a[one.a][1] for one in group if one.a is not None),
            b=tuple(b[one.b][1] for one in group if one.b is not None),
        )
        for same, found in groupby(pairs, key=lambda one: None not in one)
        for group in [list(found)]
    )
    return RunComparison(
        a=run.id,
        b=other.id,
        same=sum(len(stretch.a) for stretch in stretches if stretch.same),
        same_from_start=len(stretches[0].a) if stretches and stretches[0].same else 0,
        stretches=stretches,
        read_a=len(a),
        read_b=len(b),
        more=len(a) <= run.meters.last_seq or len(b) <= other.meters.last_seq,
    )


def _read_steps(run: Run) -> list[tuple[str, ComparedStep]]:
    """Return the first turns of a run, each with the request that tells equal ones."""
    until = time.monotonic() + READ_SECONDS
    # Texts are cut to their beginning by the database: whole results of a thousand turns would be
    # megabytes that no step shows.
    turns = Turn.objects.filter(run=run).order_by("seq").defer("content", "result", "error")
    turns = turns.annotate(opening=Left("content", MAX_TEXT), fault=Left("error", 1))[:MAX_TURNS]
    read: list[tuple[str, ComparedStep]] = []
    for turn in turns.iterator(chunk_size=50):
        turn.content, turn.result, turn.error = turn.opening, None, turn.fault
        seen = rows.guard_turn(turn)
        step = ComparedStep(
            seq=turn.seq, text=headline(seen), role=turn.role, failed=bool(turn.error)
        )
        request = call_text(seen)
        if seen.tool is not None:  # ids and times that are new in every call do not count
            request = mask_temp_paths(format_call(seen.tool, stable_args(strip_remarks(seen.args))))
        if turn.seq <= run.meters.erased_seq:  # a turn without its words equals no other
            request = f"turn {run.pk} {turn.seq}"
        # With the role: an agent that repeats a person's words takes another step.
        read.append((f"{turn.role} {request}", step))
        # After the turn, not before: even if the first turn's
        # arguments are very long, it is shown.
        if time.monotonic() > until:
            break
    return read
