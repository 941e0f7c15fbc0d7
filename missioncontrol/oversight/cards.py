"""Open and close decision cards, inside a transaction that holds the run's lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Q

from guard.normalize import headline
from guard.signals import Kind, Signal
from guard.wire import Escalation
from missioncontrol.ids import new_id
from missioncontrol.notify import services as notices
from missioncontrol.oversight import rows, suggestions
from missioncontrol.oversight.models import (
    SPOKE,
    Autofix,
    ControllerNote,
    Decision,
    Intervention,
    Message,
)
from missioncontrol.runs import kin
from missioncontrol.runs.journal import Book
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN, ON_HOLD, Move, Status
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import capabilities_of, guard_turn
from missioncontrol.wire.decisions import AllowlistOffer, CardEvidence, EvidenceTurn
from missioncontrol.wire.events import (
    AutofixJudged,
    DecisionOpened,
    DecisionResolved,
    HoldAbandoned,
    SessionTerminated,
)

SHOWN_TEXT = 2000
SHOWN_TURNS = 8
LEAST_HOLD_S = 60.0
"""A hold lasts this long whatever the agent says of its patience: time for a person to see the
card and answer it. Else an agent could have its own hold expire at once."""
LAST_TURNS = 2
"""Turns that an agent asked to finish is let through; the last answer is one."""


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
        hold(book, run, by="guard", reason=signal.evidence.summary, from_seq=first)
    row = rows.decision_row(decision, run)
    book.record(run, DecisionOpened, by="guard", row=row)
    notices.announce(row, run, at=book.at)
    return decision


def hold(book: Book, run: Run, *, by: str, reason: str, from_seq: int) -> None:
    """Ask the agent to wait, from its turn `from_seq` on; a stop wins over it."""
    if run.status in FORBIDDEN:
        return
    run.reason = reason
    run.hold_seq = from_seq
    run.hold_expires_at = expiry_of(run, at=book.at)
    run.gave_up_at = None
    run.held_since = run.held_since or book.at
    book.move(run, Move.HOLD, by=by, reason=reason)


def expiry_of(run: Run, *, at: datetime) -> datetime:
    """Say when a hold that begins now ends by itself.

    Before the agent's own time-out, unless that leaves people no time to answer.
    """
    patience_s = capabilities_of(run).patience_s
    limit_s = float(run.project.hold_limit)
    if patience_s is not None:
        limit_s = min(limit_s, max(patience_s, LEAST_HOLD_S))
    return at + timedelta(seconds=limit_s)


def release(book: Book, run: Run, *, by: str, reason: str) -> None:
    """Let the agent go on; its streaks start afresh. A stop wins over it."""
    if run.status in FORBIDDEN:
        return
    run.reason = ""
    run.hold_expires_at = run.waiting_since = run.waiting_at = run.gave_up_at = None
    run.finish_seq = None
    _end_wait(book, run)
    book.move(run, Move.RELEASE, by=by, reason=reason)
    start_afresh(run)


def start_afresh(run: Run) -> None:
    """Forget every observation so far: the count begins again."""
    run.streak_obs, run.kin_forgotten = run.last_obs, kin.observed(run)
    forgive_failures(run)


def forgive_failures(run: Run) -> None:
    """Begin new rows of failures: a person stepped in."""
    run.failures = 0
    if run.agents_spent:
        run.agents_spent = {name: [*row[:4], 0, *row[5:]] for name, row in run.agents_spent.items()}


def is_paused(run: Run, decision: Decision) -> bool:
    """Tell whether a person has paused the run since its card opened."""
    since = run.interventions.filter(at__gte=decision.opened_at)
    newest = since.exclude(by__in=SPOKE.values()).order_by("-id").first()
    return newest is not None and newest.action == "pause"


def finish(book: Book, run: Run, *, by: str) -> None:
    """Let the agent go on for its last few turns; then it is stopped."""
    release(book, run, by=by, reason="finish")
    run.finish_seq = run.last_seq + LAST_TURNS


def stop_if_finished(book: Book, run: Run, *, seq: int) -> None:
    """Stop an agent that was asked to finish and has had its last turns."""
    if run.finish_seq is not None and seq > run.finish_seq and run.status not in ENDED | FORBIDDEN:
        stop(book, run, by="policy", reason=f"It had {LAST_TURNS} turns to finish.")


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


def wait(book: Book, run: Run) -> None:
    """Note that the agent is known to be waiting."""
    if run.status not in ON_HOLD:
        return
    run.waiting_at = book.at
    if run.status == Status.HOLDING:
        run.waiting_since, run.gave_up_at, run.parked = book.at, None, False
        book.move(run, Move.WAIT, by="agent", reason="the agent waits")
        confirm(book, run)  # a person's pause has been obeyed


def give_up(book: Book, run: Run) -> None:
    """Note that no request of the agent has been open for a while."""
    if run.status != Status.HELD:
        return
    run.waiting_since, run.gave_up_at = None, book.at
    book.move(run, Move.GIVE_UP, by="agent", reason="the agent gave up waiting")
    book.record(run, HoldAbandoned, by="agent", decision=run.open_decision)


def park(book: Book, run: Run) -> None:
    """Note that the agent's process ends in its hold, to be resumed later."""
    if run.status not in ON_HOLD:
        return
    run.parked, run.waiting_since, run.gave_up_at = True, None, book.at
    if run.status == Status.HELD:
        book.move(run, Move.GIVE_UP, by="agent", reason="the session is parked")
    book.record(run, HoldAbandoned, by="agent", decision=run.open_decision, parked=True)


def miss(book: Book, run: Run, made: Intervention) -> None:
    """Note that nobody was there to take a person's answer; a comeback mends it."""
    made.status = "unreachable"
    made.save(update_fields=["status"])
    _tell_answer(book, run, made)


def expire(book: Book, run: Run) -> None:
    """Do what the project says of a hold that nobody answered."""
    unanswered = run.project.unanswered
    close_card(book, run, resolution=unanswered, by="policy")
    if unanswered == "proceed":
        book.bump(run)
        release(book, run, by="policy", reason="nobody answered")
    else:
        stop(book, run, by="policy", reason="Nobody answered in time.")


def stop(book: Book, run: Run, *, by: str, reason: str) -> None:
    """Ask the agent to end; a run that had ended is never let on."""
    book.bump(run)
    run.reason = reason
    run.hold_expires_at = None
    before = run.status
    moved = book.move(run, Move.STOP, by=by, reason=reason)
    if before not in FORBIDDEN:
        tell_controller(book, run, "session.terminated", reason)
    if moved and run.status == Status.TERMINATED:
        book.record(run, SessionTerminated, by=by, reason=reason)
    elif run.parked:  # no process is left that could hear of it
        end(book, run, Move.END, by=by, reason=reason)


def stop_by_policy(book: Book, run: Run, *, reason: str) -> None:
    """End a run by its policy: that is final, whether or not the agent says goodbye."""
    stop(book, run, by="guard", reason=reason)
    start_afresh(run)
    if run.status != Status.TERMINATED:
        book.record(run, SessionTerminated, by="guard", reason=reason)


def end(book: Book, run: Run, move: Move, *, by: str, reason: str) -> None:
    """Take a run to its end and settle what was open about it."""
    was_stopping, why = run.status == Status.STOPPING, run.reason
    if not book.move(run, move, by=by, reason=reason) or run.status not in ENDED:
        return
    close_card(book, run, resolution="ended", by=by)
    run.waiting_since = run.waiting_at = run.gave_up_at = run.hold_expires_at = None
    confirm(book, run, reached=move is not Move.FALL_SILENT or was_stopping)
    judge_autofix(book, run)
    if run.status == Status.TERMINATED and not _was_terminated(run):
        book.record(run, SessionTerminated, by=by, reason=why or reason)


def _was_terminated(run: Run) -> bool:
    """Tell whether the journal says so already: a policy's end does at once."""
    return run.journal.filter(type="session.terminated").exists()


def deliver(book: Book, run: Run) -> None:
    """Note that a person's answer left on a request that was open."""
    made = _unconfirmed(run)
    if made and made.status in {"asked", "unreachable"}:
        made.status, made.delivered_at = "delivered", book.at
        made.save(update_fields=["status", "delivered_at"])
        _tell_answer(book, run, made)


def confirm(book: Book, run: Run, *, reached: bool = True) -> None:
    """Note that the agent acted on a person's answer, or never will."""
    made = _unconfirmed(run)
    run.unconfirmed = None
    if made is None:
        return
    made.status = "acknowledged" if reached else "unreachable"
    made.acknowledged_at = book.at if reached else None
    made.delivered_at = made.delivered_at or made.acknowledged_at
    made.save(update_fields=["status", "acknowledged_at", "delivered_at"])
    _tell_answer(book, run, made)


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


def queue_message(
    book: Book, run: Run, text: str, *, agent: str | None, made: Intervention | None = None,
    escalation: Escalation | None = None,
) -> Message:  # fmt: skip
    """Queue a text for the model."""
    run.queued_messages += 1
    return Message.objects.create(
        id=new_id(), run=run, intervention=made, text=text, agent=agent, queued_at=book.at,
        escalation=asdict(escalation) if escalation else None,
    )  # fmt: skip


def tell_controller(
    book: Book, run: Run, event: str, said: str, *, decision: UUID | None = None
) -> None:
    """Write down what the run's controller, if it has one, is to be told."""
    if run.controller_id is None and not run.controller_url:
        return
    deed = "was stopped" if event == "session.terminated" else "has been warned"
    ControllerNote.objects.create(
        id=new_id(), run=run, event=event, decision=decision, at=book.at, due_at=book.at,
        text=f'The run "{run.name}" ({run.id}), which you control, {deed}: {said}',
        payload={
            "event": event, "run": str(run.id), "name": run.name, "agent": run.agent,
            "project": str(run.project_id), "status": run.status, "reason": said,
            "decision": str(decision) if decision else None, "at": book.at.isoformat(),
        },
    )  # fmt: skip


def skip_held_calls(run: Run) -> None:
    """Answer the calls that are being held with `skip`: they will not run."""
    if run.status not in ON_HOLD:
        return
    run.skip_from_seq, run.skip_through_seq = run.hold_seq, run.last_seq
    held = Turn.objects.filter(run=run, seq__gte=run.hold_seq, phase="proposed")
    held.update(skipped=True)


def _end_wait(book: Book, run: Run) -> None:
    if run.held_since is not None:
        run.held_seconds += (book.at - run.held_since).total_seconds()
        run.held_since = None


def _new_decision(book: Book, run: Run, signal: Signal, *, holds: bool, judged: bool) -> Decision:
    turns = list(Turn.objects.filter(run=run, seq__in=signal.turns).order_by("seq"))
    shown = [*kin_turns(signal), *turns]
    waits = judged and signal.kind != Kind.BUDGET
    decision = Decision(
        id=new_id(), run=run, status="judging" if waits else "open", kind=signal.kind,
        detector=signal.detector, holds=holds, agent=turns[-1].agent if turns else run.agent,
        signal=rows.signals.dump_python(signal, mode="json"),
        evidence=rows.evidences.dump_python(
            _evidence(signal, shown, _offer(run, signal, at=book.at)), mode="json"
        ),
        version=run.version, opened_at=book.at,
        expires_at=expiry_of(run, at=book.at) if holds else None,
    )  # fmt: skip
    decision.save(force_insert=True)
    return decision


def kin_turns(signal: Signal) -> list[Turn]:
    """Return the turns of linked runs that a signal rests on, oldest first."""
    wanted = Q()
    for run_id, seq in signal.kin:
        wanted |= Q(run_id=run_id, seq=seq)
    return list(Turn.objects.filter(wanted).order_by("id")) if wanted else []


def _offer(run: Run, signal: Signal, *, at: datetime) -> AllowlistOffer | None:
    """No pattern makes money: a budget's card offers none."""
    if signal.kind is Kind.BUDGET:
        return None
    return suggestions.offer(signal.evidence.calls, project=run.project_id, at=at)


def _evidence(
    signal: Signal, turns: Sequence[Turn], offered: AllowlistOffer | None
) -> CardEvidence:
    said: dict[str, Any] = {
        name: getattr(signal.evidence, name) for name in type(signal.evidence).__slots__
    }
    return CardEvidence(
        **said,
        turns=signal.turns,
        items=tuple(_shown(turn) for turn in sorted(turns, key=_arrival)[-SHOWN_TURNS:]),
        cost_usd=_cost_of(turns),
        offer_allowlist=offered,
    )


def _cost_of(turns: Sequence[Turn]) -> Decimal | None:
    costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    return sum(costs, Decimal(0)) if costs else None


def _arrival(turn: Turn) -> UUID:
    return turn.id


def _shown(turn: Turn) -> EvidenceTurn:
    return EvidenceTurn(
        run=turn.run_id,
        seq=turn.seq,
        agent=turn.agent,
        call=headline(guard_turn(turn)),
        result=_cut(turn.result),
        error=_cut(turn.error),
        ran=turn.phase == "done",
        at=turn.ts,
    )


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= SHOWN_TEXT else text[:SHOWN_TEXT] + "…"


def _unconfirmed(run: Run) -> Intervention | None:
    return Intervention.objects.filter(pk=run.unconfirmed).first() if run.unconfirmed else None


def _tell_answer(book: Book, run: Run, made: Intervention) -> None:
    book.moved(
        run, by="agent", reason=f"answer {made.status}", intervention=made.id,
        intervention_status=made.status,
    )  # fmt: skip
