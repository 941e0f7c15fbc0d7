"""Suspicions become questions: few, and only where a model judges."""

from __future__ import annotations

from django.conf import settings

from guard.policy import JudgeRule
from guard.signals import Signal
from missioncontrol.ids import new_id
from missioncontrol.oversight import rows
from missioncontrol.oversight.models import Question
from missioncontrol.runs.journal import Book
from missioncontrol.runs.lifecycle import Status
from missioncontrol.runs.models import Run, Turn


def may_ask(run: Run) -> bool:
    """Tell whether a question about this run could change anything now."""
    is_free = run.open_decision is None and run.finish_seq is None
    return settings.JUDGE is not None and is_free and run.status == Status.RUNNING


def put_question(
    book: Book, run: Run, suspicion: Signal, *, row: Turn, rule: JudgeRule
) -> Question | None:
    """Enter a question about a suspicion; None: one was asked a few turns ago."""
    asked = Question.objects.filter(run=run).order_by("-turn_seq")
    last = asked.values_list("turn_seq", flat=True).first()
    if last is not None and row.seq - last < rule.every:
        return None
    return Question.objects.create(
        id=new_id(), run=run, turn_seq=row.seq, obs=row.obs, confidence=rule.confidence,
        signal=rows.signals.dump_python(suspicion, mode="json"), opened_at=book.at,
    )  # fmt: skip
