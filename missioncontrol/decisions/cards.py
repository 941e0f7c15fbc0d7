"""Open and close decision cards, inside a transaction that holds the run's lock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any

from django.db.models import Q

from guard.describe import headline
from guard.signals import Kind, Signal
from missioncontrol.decisions import allowlist, holding, rows
from missioncontrol.decisions.models import SPOKE, Autofix, Decision
from missioncontrol.notify import services as notices
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ON_HOLD
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import guard_turn
from missioncontrol.wire.decisions import PERMISSION, CardEvidence, EvidenceTurn
from missioncontrol.wire.events import AutofixJudged, DecisionOpened, DecisionResolved
from missioncontrol.wire.rows import from_json, row_of, to_json

# Resolutions of cards that nobody answered in time.
EXPIRED_RESOLUTIONS = frozenset({"proceed", "stop", "timed_out"})
MAX_TEXT = 2000
MAX_TURNS = 8


def open_card(
    tx: RunTransaction,
    run: Run,
    signal: Signal,
    *,
    holds: bool,
    from_seq: int | None = None,
    needs_verdict: bool = True,
    verdict: dict[str, Any] | None = None,
) -> Decision:
    """Open a card on a tripping signal and, if it holds, ask the agent to wait.

    `from_seq` is the first turn that waits; the default is the newest turn of the signal.
    Unless `needs_verdict`, the card waits for no verdict; it may already have one.
    """
    # The version is raised first: the card carries the version that a tap on it must name.
    tx.raise_version(run)
    rests_on = all_turns_of(run, signal)
    own = [turn for turn in rests_on if turn.run_id == run.id]
    shown = _evidence_of(run, signal, rests_on, at=tx.at)
    waits = needs_verdict and signal.kind != Kind.BUDGET  # a spent sum needs no judge
    decision = Decision(
        run=run,
        status="judging" if waits else "open",
        kind=signal.kind,
        detector=signal.detector,
        holds=holds,
        agent=max(own, key=attrgetter("seq")).agent if own else run.agent,
        signal=to_json(signal),
        evidence=to_json(shown),
        version=run.version,
        opened_at=tx.at,
        verdict=verdict,
    )
    # One card at a time: a trip while a card is open is a detection, not a second question.
    run.open_decision = decision.id
    if holds:
        first = max(signal.turns) if from_seq is None else from_seq
        holding.hold(tx, run, by="guard", reason=signal.evidence.summary, from_seq=first)
        decision.expires_at = run.hold.expires_at if run.hold else None
    publish_card(tx, run, decision, by="guard")
    return decision


def reopen_card(tx: RunTransaction, run: Run, closed: Decision, *, from_seq: int) -> None:
    """Open a card like one that was closed; if that held the agent, it waits from `from_seq` on."""
    open_card(
        tx,
        run,
        from_json(Signal, closed.signal),
        holds=closed.holds,
        from_seq=from_seq,
        # Not judged again: it keeps its verdict, if it had one.
        needs_verdict=False,
        verdict=closed.verdict,
    )


def publish_card(tx: RunTransaction, run: Run, card: Decision, *, by: str) -> None:
    """Store a new card and tell people of it; `run` is as the card leaves it."""
    card.save(force_insert=True)
    row = rows.decision_row(card, run)
    tx.record(run, DecisionOpened, by=by, row=row)
    notices.announce_card(row, run, at=tx.at)


def resume_hold(tx: RunTransaction, run: Run) -> None:
    """Hold again a run that comes back and was held when its session ended.

    The hold's limit counts from the return; the card that closed with the session reopens.
    """
    hold = run.hold
    if hold is None or not hold.stands or run.status not in ON_HOLD:
        return
    # Cleared first: what follows must find a hold that is in force.
    hold.stands = False
    closed = run.decisions.exclude(kind=PERMISSION).order_by("-id").first()
    if closed is not None and closed.holds and closed.resolution == "ended":
        reopen_card(tx, run, closed, from_seq=hold.from_seq)
    else:
        holding.hold(tx, run, by="guard", reason=run.reason, from_seq=hold.from_seq)


def is_paused_by_person(run: Run, decision: Decision) -> bool:
    """Tell whether a person has paused the run since its card opened."""
    since = run.interventions.filter(at__gte=decision.opened_at)
    # A choice that the agent reports from its terminal is not a person's pause.
    newest = since.exclude(by__in=SPOKE.values()).order_by("-id").first()
    return newest is not None and newest.action == "pause"


def close_card(tx: RunTransaction, run: Run, *, resolution: str, by: str) -> None:
    """Close the run's open card, if there is one."""
    if run.open_decision is not None:
        decision = Decision.objects.get(pk=run.open_decision)
        resolve_card(tx, run, decision, resolution=resolution, by=by)


def settle_card(
    tx: RunTransaction, run: Run, card: Decision, *, resolution: str, by: str, reason: str
) -> None:
    """Close the run's open card and let the agent go on; a person's pause outlives its card."""
    is_paused = is_paused_by_person(run, card)
    close_card(tx, run, resolution=resolution, by=by)
    if is_paused:
        holding.reset_streaks(run)
    else:
        holding.release(tx, run, by=by, reason=reason)


def resolve_card(tx: RunTransaction, run: Run, card: Decision, *, resolution: str, by: str) -> None:
    """Close an open card of either kind, and withdraw its notices."""
    tx.raise_version(run)
    if card.kind == PERMISSION:
        run.meters.open_permissions -= 1
    else:
        run.open_decision = None
    card.status = "expired" if resolution in EXPIRED_RESOLUTIONS else "resolved"
    card.resolution, card.resolved_by = resolution, by
    card.resolved_at, card.version = tx.at, run.version
    card.save(update_fields=["status", "resolution", "resolved_by", "resolved_at", "version"])
    tx.record(
        run,
        DecisionResolved,
        by=by,
        decision=card.id,
        resolution=resolution,
        resolved_by=by,
        decision_status=card.status,
    )
    # Also if it timed out: a push that still asks would be tapped in vain.
    notices.withdraw_card(card.id, outcome=resolution, by=by, at=tx.at)
    # Only what a person let go on counts towards an offer to allow it for good.
    if resolution in allowlist.LET_GO:
        allowlist.record_let_go(run, card, by=by, at=tx.at)


def judge_autofix(tx: RunTransaction, run: Run, *, tripped: bool = False) -> None:
    """Decide whether an autofix helped: no new trip, and something new since."""
    if run.meters.recovering is None:
        return
    fix = Autofix.objects.get(pk=run.meters.recovering)
    # Both are required: an agent that falls silent after a correction has not recovered.
    fix.recovered, fix.judged_at = fix.news and not tripped, tx.at
    fix.save(update_fields=["recovered", "judged_at"])
    run.meters.recovering = None
    tx.record(
        run,
        AutofixJudged,
        by="guard",
        autofix=fix.id,
        recovered=fix.recovered,
        turns_after=fix.turns_after,
    )


def _evidence_of(
    run: Run, signal: Signal, rests_on: Sequence[Turn], *, at: datetime
) -> CardEvidence:
    """Return what a card shows: the turns of the run itself and of linked runs."""
    costs = [turn.cost_usd for turn in rests_on if turn.cost_usd is not None]
    offer = None
    if signal.kind is not Kind.BUDGET:  # no pattern of calls allows a budget
        calls = signal.evidence.calls
        offer = allowlist.offer_entry(calls, project=run.project_id, at=at)
    return row_of(
        CardEvidence,
        signal.evidence,
        turns=signal.turns,
        items=tuple(map(evidence_turn, rests_on[-MAX_TURNS:])),
        cost_usd=sum(costs, Decimal(0)) if costs else None,
        offer_allowlist=offer,
        asks=None,
    )


def evidence_turn(turn: Turn) -> EvidenceTurn:
    """Return a turn as a card shows it."""
    return EvidenceTurn(
        run=turn.run_id,
        seq=turn.seq,
        agent=turn.agent,
        call=headline(guard_turn(turn)),
        result=_shorten(turn.result),
        error=_shorten(turn.error),
        # A proposal that was held has not run; the card must not show it as run.
        ran=turn.phase == "done",
        at=turn.ts,
    )


def turns_of(run: Run, signal: Signal) -> list[Turn]:
    """Return the turns of the run itself that a signal rests on, oldest first."""
    return list(Turn.objects.filter(run=run, seq__in=signal.turns).order_by("seq"))


def all_turns_of(run: Run, signal: Signal) -> list[Turn]:
    """Return the turns that a signal rests on, those of linked runs too, oldest first."""
    wanted = Q(run=run, seq__in=signal.turns)
    for run_id, seq in signal.linked_turns:
        wanted |= Q(run_id=run_id, seq=seq)
    # Ids are UUIDv7, the only order that turns of several runs share.
    return list(Turn.objects.filter(wanted).order_by("id"))


def _shorten(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"
