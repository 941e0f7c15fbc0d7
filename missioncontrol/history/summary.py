"""Summarise what a run did, as facts that a screen puts into words: no model is asked.

Bounded, whatever the run's length: calls are counted by the database; files, tests and
commits are read from the last `DETAIL_TURNS` turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import (
    Case,
    Count,
    F,
    Max,
    Min,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Concat, Left, Length, NullIf, Right
from django.db.models.lookups import GreaterThan

from guard.raw_texts import PATH_ARGUMENTS, raw_texts_of
from guard.reading.normalize import COMMANDS, command_in
from guard.reading.outcome import outcome_of
from guard.turn import ActionClass, Role
from guard.turn import Turn as GuardTurn
from missioncontrol.history.search import NO_CARD, reasons_of
from missioncontrol.runs.lifecycle import ON_HOLD
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import round_dollars
from missioncontrol.runs.timeline import JsonMember, locate_moments
from missioncontrol.wire.history import (
    CallCount,
    CommitRow,
    FileChange,
    PauseRow,
    RanTests,
    RunSummary,
    SaidRow,
    Work,
)
from missioncontrol.wire.rows import row_of

# As many as can be read while a page opens; the counts cover all turns.
DETAIL_TURNS = 3_000
# A person's first words are looked for within this many first turns.
ASKED_WITHIN = 200
MAX_QUOTE = 400
MAX_ARGUMENT = 2_000
# Characters of a result's beginning and end that are read.
RESULT_END = 800
HOUR = timedelta(hours=1)
TEN_MINUTES = timedelta(minutes=10)
DETAILED_ACTIONS = (ActionClass.FILE_EDIT, ActionClass.TEST_RUN, ActionClass.SHELL_EXEC)
# Excludes calls that a person's answer replaced, or that are held: they did nothing.
RAN = Q(tool__isnull=False, phase="done", skipped=False)
MAX_FILES = 12
MAX_COMMITS = 5
MAX_COMMIT_TEXT = 120
# `git -C app commit -m …` also commits; `git commit-tree` and a message about it do not.
_COMMITS = re.compile(r"(?:^|[;&|(\n])[ \t]*git (?:-\S+ [^-\s]\S* |-\S+ )*commit(?:\s|$)")
_COMMITTED = re.compile(r"^\[[^\]\n]{0,200}\b([0-9a-f]{7,40})\] ([^\n]*)", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: ([^\n]+)", re.MULTILINE)
_MESSAGE = re.compile(r"\s-\w*m\s*(?:\"([^\"\n]+)|'([^'\n]+))")


def summarize(run: Run) -> RunSummary:
    """Summarise what a run was asked, what it did in total and lately, and why it is as it is."""
    spoken = Turn.objects.filter(run=run, role=Role.USER).exclude(content=None)
    spoken = spoken.annotate(opening=Left("content", MAX_QUOTE + 1)).only("seq")
    # Only among the first and the last turns: a run may have a million.
    first = spoken.filter(seq__lt=ASKED_WITHIN).order_by("seq").first()
    last = spoken.filter(seq__gt=run.meters.last_seq - DETAIL_TURNS).order_by("-seq").first()
    asked = _quote(first) if first else None
    if run.goal:
        # The goal wins; it links to a turn only if it was said there.
        is_said = asked is not None and asked.text == _shorten(run.goal)
        asked = SaidRow(text=_shorten(run.goal), seq=first.seq if first and is_said else None)
    # The same words twice would read as if nothing had been said since.
    is_new = last is not None and (asked is None or last.seq != asked.seq)
    # Before its last turn, not before now: a run that ended yesterday had a last hour too. By the
    # turn's own time, like the others: the agent's clock may be hours off ours.
    newest = Turn.objects.filter(run=run, seq=run.meters.last_seq)
    until = newest.values_list("ts", flat=True).first()
    moments = locate_moments(run, [until - HOUR, until - TEN_MINUTES]) if until else ()
    hour_seq, minutes_seq = [moment.seq for moment in moments] or (0, 0)
    return RunSummary(
        run=run.id,
        asked=asked,
        last_asked=_quote(last) if last and is_new else None,
        whole=_work_since(run, 0),
        last_hour=_work_since(run, hour_seq) if hour_seq else None,
        last_ten_minutes=_work_since(run, minutes_seq) if minutes_seq and not hour_seq else None,
        why=reasons_of([run]).get(run.id, NO_CARD),
        paused=_pause_of(run),
    )


def _pause_of(run: Run) -> PauseRow | None:
    hold = run.hold
    if hold is None or run.status not in ON_HOLD or run.open_decision is not None:
        return None
    # A person who undid the answer that released the agent has paused it too.
    held_by = run.interventions.filter(action__in=("pause", "undo"), at__lte=hold.since)
    asked = held_by.order_by("id").last()
    return row_of(
        PauseRow,
        hold,
        by=asked.by if asked else "",
        until=hold.expires_at,
        unanswered=run.project.unanswered,
    )


def _quote(turn: Any) -> SaidRow:
    return SaidRow(text=_shorten(turn.opening), seq=turn.seq)


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…"


def _work_since(run: Run, from_seq: int) -> Work | None:
    turns = Turn.objects.filter(run=run, seq__gte=from_seq)
    groups = list(
        # Counted by the database: it returns a few rows, whatever the run's length.
        turns.values("action_class")
        .order_by()
        .annotate(
            ran=Count("id", filter=RAN),
            failed=Count("id", filter=RAN & Q(error__isnull=False)),
            last=Max("seq", filter=RAN),
            since=Min("ts"),
            cost=Sum("cost_usd"),
        )
    )
    if not groups:
        return None
    details_from = max(from_seq, run.meters.last_seq + 1 - DETAIL_TURNS)
    details = _read_details(turns.filter(seq__gte=details_from))
    calls = [
        CallCount(
            kind=one["action_class"], count=one["ran"], failed=one["failed"], last_seq=one["last"]
        )
        for one in groups
        if one["ran"]
    ]
    spent = sum((one["cost"] for one in groups if one["cost"]), Decimal(0))
    return row_of(
        Work,
        details,
        from_seq=from_seq,
        to_seq=run.meters.last_seq,
        since=min(one["since"] for one in groups),
        # Ties are sorted by kind, so that the same run looks the same at each visit.
        calls=tuple(sorted(calls, key=lambda call: (-call.count, call.kind))),
        # For the whole run, its meter, which includes calls that belong to no turn.
        cost_usd=round_dollars(spent) if from_seq else run.meters.cost_usd,
        details_from_seq=details_from,
    )


def _read_details(turns: QuerySet[Turn]) -> Details:
    """Return files, tests and commits of the calls that may have changed something."""
    ends: dict[str, Case] = {}
    for name in ("result", "error"):
        # Both ends of long texts: a failure is reported at the start or in the last lines.
        cut = Concat(Left(name, RESULT_END), Value("\n"), Right(name, RESULT_END))
        is_long = GreaterThan(Length(name), 2 * RESULT_END)
        ends[f"{name}_ends"] = Case(
            When(is_long, then=cut), default=F(name), output_field=TextField()
        )
    telling = (
        turns.filter(RAN, action_class__in=DETAILED_ACTIONS)
        .order_by("seq")
        .annotate(path=_first_argument(PATH_ARGUMENTS), command=_first_argument(COMMANDS), **ends)
        .values("seq", "tool", "action_class", "files", "path", "command", *ends)
    )
    return details_of(
        GuardTurn(
            role=Role.ASSISTANT,
            tool=one["tool"],
            action_class=one["action_class"],
            seq=one["seq"],
            args={name: one[name] for name in ("path", "command") if one[name]},
            files=tuple(one["files"]),
            result=one["result_ends"],
            error=one["error_ends"],
        )
        for one in telling.iterator(chunk_size=500)
    )


def _first_argument(names: Sequence[str]) -> Left:
    """Select a text argument of a call in the database: arguments may be long."""
    texts = (NullIf(JsonMember("args", name=name), Value("")) for name in names)
    return Left(Coalesce(*texts), MAX_ARGUMENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What some turns did, beyond counts; `RunSummary` describes the fields."""

    files: tuple[FileChange, ...]
    file_count: int
    tests: RanTests | None
    commits: tuple[CommitRow, ...]
    commit_count: int


def details_of(turns: Iterable[GuardTurn]) -> Details:
    """Return what calls did, from turns with `seq`, oldest first.

    A call that failed changed no file and made no commit.
    """
    files: dict[str, FileChange] = {}
    commits: list[CommitRow] = []
    tests: RanTests | None = None
    for turn in turns:
        if turn.action_class == ActionClass.TEST_RUN:
            failed, outcome = _has_failed(turn), outcome_of(turn)
            passed_at = tests.last_passed_seq if tests else None
            tests = RanTests(
                runs=(tests.runs if tests else 0) + 1,
                failed=(tests.failed if tests else 0) + failed,
                last_seq=_seq(turn),
                last_failed=failed,
                failures=outcome.failures if outcome else None,
                last_passed_seq=passed_at if failed else _seq(turn),
            )
        elif turn.action_class == ActionClass.FILE_EDIT and not _has_failed(turn):
            # From the call's own list, its arguments, or the patch that it applies.
            for path in raw_texts_of(turn).files or _PATCHED.findall(command_in(turn.args)):
                # Removed and inserted again, so that the file edited last comes last.
                times = files.pop(path).times + 1 if path in files else 1
                files[path] = FileChange(path=path, times=times, last_seq=_seq(turn))
        # No `elif`: one command may run the tests and commit.
        if _COMMITS.search(command_in(turn.args)) and not _has_failed(turn):
            commits.append(_commit_of(turn))
    return Details(
        files=tuple(reversed(files.values()))[:MAX_FILES],
        file_count=len(files),
        tests=tests,
        commits=tuple(reversed(commits))[:MAX_COMMITS],
        commit_count=len(commits),
    )


def _has_failed(turn: GuardTurn) -> bool:
    outcome = outcome_of(turn)
    return outcome is not None and outcome.failed


def _commit_of(turn: GuardTurn) -> CommitRow:
    """Return a commit as git reported it, otherwise as its command describes it."""
    if answered := _COMMITTED.search(turn.result or ""):
        return CommitRow(seq=_seq(turn), text=answered[2][:MAX_COMMIT_TEXT], hash=answered[1][:7])
    asked = _MESSAGE.search(command_in(turn.args))
    # One group for each kind of quotes.
    text = (asked[1] or asked[2]) if asked else ""
    return CommitRow(seq=_seq(turn), text=text[:MAX_COMMIT_TEXT], hash="")


def _seq(turn: GuardTurn) -> int:
    return turn.seq if turn.seq is not None else -1
