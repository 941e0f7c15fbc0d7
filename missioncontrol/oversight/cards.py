"""Open and close decision cards, inside a transaction that holds the run's lock."""

from __future__ import annotations

from guard.signals import Kind, Signal
from missioncontrol.ids import new_id
from missioncontrol.notify import services as notices
from missioncontrol.oversight import evidence, holding, rows, suggestions
from missioncontrol.oversight.models import (
    SPOKE,
    Autofix,
    Decision,
)
from missioncontrol.runs.journal import Book
from missioncontrol.runs.models import Run, Turn
from missioncontrol.wire.events import (
    AutofixJudged,
    DecisionOpened,
    DecisionResolved,
)


def open_card(
    book: Book, run: Run, signal: Signal, *, holds: bool, from_seq: int | None = None,
    judged: bool = True,
) -> Decision:  # fmt: skip
    """Open a card on a tripping signal and, if it holds, ask the agent to wait.

    `from_seq` is the first turn that waits, unless it is the newest of the signal.
    A card that is not `judged` waits for no verdict.
    """
    book.bump(run)
    decision = _new_decision(book, run, signal, holds=holds, judged=judged)
    run.open_decision = decision.id
    if holds:
        first = max(signal.turns) if from_seq is None else from_seq
        holding.hold(book, run, by="guard", reason=signal.evidence.summary, from_seq=first)
    row = rows.decision_row(decision, run)
    book.record(run, DecisionOpened, by="guard", row=row)
    notices.announce(row, run, at=book.at)
    return decision


def is_paused(run: Run, decision: Decision) -> bool:
    """Tell whether a person has paused the run since its card opened."""
    since = run.interventions.filter(at__gte=decision.opened_at)
    newest = since.exclude(by__in=SPOKE.values()).order_by("-id").first()
    return newest is not None and newest.action == "pause"


def close_card(book: Book, run: Run, *, resolution: str, by: str) -> Decision | None:
    """Close the run's open card, if there is one."""
    if run.open_decision is None:
        return None
    decision = Decision.objects.get(pk=run.open_decision)
    book.bump(run)
    run.open_decision = None
    decision.status = "expired" if resolution in {"proceed", "stop"} else "resolved"
    decision.resolution, decision.resolved_by = resolution, by
    decision.resolved_at, decision.version = book.at, run.version
    decision.save(update_fields=["status", "resolution", "resolved_by", "resolved_at", "version"])
    if resolution in suggestions.LET_GO:
        suggestions.note(run, decision, by=by, at=book.at)
    book.record(
        run, DecisionResolved, by=by, decision=decision.id, resolution=resolution,
        resolved_by=by, decision_status=decision.status,
    )  # fmt: skip
    notices.withdraw(decision.id, outcome=resolution, by=by, at=book.at)
    return decision


def judge_autofix(book: Book, run: Run, *, tripped: bool = False) -> None:
    """Settle whether an autofix helped: no new trip and something new since."""
    if run.recovering is None:
        return
    fix = Autofix.objects.get(pk=run.recovering)
    fix.recovered, fix.judged_at = fix.news and not tripped, book.at
    fix.save(update_fields=["recovered", "judged_at"])
    run.recovering = None
    book.record(
        run, AutofixJudged, by="guard", autofix=fix.id, recovered=fix.recovered,
        turns_after=fix.turns_after,
    )  # fmt: skip


def _new_decision(book: Book, run: Run, signal: Signal, *, holds: bool, judged: bool) -> Decision:
    turns = list(Turn.objects.filter(run=run, seq__in=signal.turns).order_by("seq"))
    shown = evidence.evidence_of(run, signal, turns, at=book.at)
    waits = judged and signal.kind != Kind.BUDGET
    decision = Decision(
        id=new_id(), run=run, status="judging" if waits else "open", kind=signal.kind,
        detector=signal.detector, holds=holds, agent=turns[-1].agent if turns else run.agent,
        signal=rows.signals.dump_python(signal, mode="json"),
        evidence=rows.evidences.dump_python(shown, mode="json"),
        version=run.version, opened_at=book.at,
        expires_at=holding.expiry_of(run, at=book.at) if holds else None,
    )  # fmt: skip
    decision.save(force_insert=True)
    return decision
