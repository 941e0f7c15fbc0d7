"""What a person taps. Each tap is one transaction under the run's row lock."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from missioncontrol.costs.spending import ORGANISATION, TREE
from missioncontrol.decisions import (
    allowlist,
    budgets,
    cards,
    endings,
    holding,
    messages,
    organisation,
    permission_cards,
    receipts,
    rows,
    undoing,
)
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.decisions.taps import Amount, Tap, taps
from missioncontrol.errors import (
    ActionUnavailable,
    Forbidden,
    InvalidRequest,
    KeyReused,
    NoSuchMove,
    NotFound,
    StaleRun,
)
from missioncontrol.ids import new_id
from missioncontrol.proof import canonical
from missioncontrol.runs import journal, lineage
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN, ON_HOLD, Move
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import run_row
from missioncontrol.runs.services import open_successor
from missioncontrol.wire.decisions import PERMISSION, DecisionRow, InterventionRow
from missioncontrol.wire.events import InterventionMade
from missioncontrol.wire.runs import RunRow

SUM_UP = (
    "Your budget is used up. Start nothing new: say in one last message what is done, what is "
    "left and where you stopped, then end."
)
"""What an agent is told that is asked to finish, unless the person writes it."""
ALWAYS_WORKS = frozenset({"pause", "terminate", "restart", "undo"})
SETTLED_THERE = {
    "answered": "This card has moved on: it was answered at the agent's terminal.",
    "timed_out": "This card no longer waits for an answer: give it at the agent's terminal.",
}
MOVES_CEILINGS = frozenset({"allow_budget", "undo"})
RECORDED = "This run is an imported recording: there is no agent to reach."
AFTER_THE_END = frozenset({"terminate", "allow_budget", "restart", "undo"})
"""What can be tapped on an ended run; *Continue* too, where a hold stands on it."""


def intervene(
    run_id: UUID,
    tap: Tap,
    *,
    projects: Container[UUID],
    by: str,
    at: datetime,
    owns_one: Callable[[], bool] = lambda: False,
) -> tuple[InterventionRow, bool]:
    """Do what a person tapped; True: it is new, False: the first answer again.

    `owns_one` tells, under the locks, whether they own a project: who does moves the
    organisation's ceiling.

    Raises:
        NotFound: no such run in the person's projects.
        KeyReused: the key came before with another body.
        StaleRun: the run moved on since the person looked.
        InvalidRequest: the action lacks its version, message or amount.
        ActionUnavailable: the card does not offer this action.
        NoSuchMove: the run has ended.
        Forbidden: it would move the organisation's ceiling, and they own no project.
    """
    with _locked(run_id, tap, projects=projects, at=at) as (tx, scope):
        run = tx.run(run_id)
        if run.project_id not in projects:
            raise NotFound("The run")
        _check_is_live(run)
        known = Intervention.objects.filter(run=run, key=tap.key).first()
        if known is not None:
            if known.body != _body(tap):
                raise KeyReused(tap.key)
            return rows.intervention_row(known, run), False
        decision = _current_decision(run, tap, at=at)
        if tap.action == "allow_budget" and _scope_of(decision) != scope:
            raise _stale(run, tap, at=at)  # another card opened before the locks were ours
        if scope == ORGANISATION and tap.action in MOVES_CEILINGS and not owns_one():
            raise Forbidden("Only who owns a project raises what all of them may spend.")
        return _perform(tx, run, tap, decision, by=by), True


@contextmanager
def _locked(
    run_id: UUID, tap: Tap, *, projects: Container[UUID], at: datetime
) -> Iterator[tuple[RunTransaction, str]]:
    """Lock the run; where the answer concerns others, the project and those too.

    Tells with the transaction for whose ceiling it is locked.
    """
    card = _card_before_locks(run_id, tap) if tap.action in MOVES_CEILINGS else None
    scope = _scope_of(card)
    run = Run.objects.only("project_id", "root").filter(pk=run_id).first()
    if run is None or run.project_id not in projects or not _concerns_others(run, tap, scope):
        with journal.writing([run_id], at=at, ahead=True) as tx:
            yield tx, scope
        return
    if scope == ORGANISATION:
        with (
            organisation.holding(ahead=True),
            journal.writing({run_id, *budgets.live_runs()}, at=at) as tx,
        ):
            yield tx, scope
        return
    with (
        journal.holding_project(run.project_id, ahead=True) as project,
        journal.writing({run_id, *_others(run, tap, card, project.id)}, at=at) as tx,
    ):
        yield tx, scope


def _concerns_others(run: Run, tap: Tap, scope: str) -> bool:
    """Tell whether an answer moves a ceiling that is shared, or ends a tree."""
    if tap.action in MOVES_CEILINGS:
        return scope != "run" or run.root is not None
    return tap.action == "terminate" and run.root is not None


def _others(run: Run, tap: Tap, card: Decision | None, project: UUID) -> list[UUID]:
    """Name the runs besides this one; read under the project's lock, so none is added."""
    if tap.action == "terminate":
        return lineage.started_by(run)
    if _scope_of(card) in {"run", TREE}:
        owner = [UUID(card.evidence["whose"])] if card and _scope_of(card) == TREE else []
        return [*lineage.live_relatives(run.root), *owner]
    return budgets.live_runs(project)


def _card_before_locks(run_id: UUID, tap: Tap) -> Decision | None:
    """Find the card a tap answers: the one it names, else the one that is open."""
    cards_of = Decision.objects.filter(run=run_id).select_related("run")
    if tap.action == "undo":
        return cards_of.filter(
            interventions__key=tap.undoes, interventions__action="allow_budget"
        ).first()
    if tap.decision is not None:
        return cards_of.filter(pk=tap.decision).first()
    return cards_of.filter(status__in=rows.OPEN).exclude(kind=PERMISSION).first()


def _scope_of(card: Decision | None) -> str:
    """Whose ceiling a budget's card is about."""
    return (card.evidence.get("scope") if card else None) or "run"


def _body(tap: Tap) -> str:
    return canonical(taps.dump_python(tap, mode="json"))


def _current_decision(run: Run, tap: Tap, *, at: datetime) -> Decision | None:
    """Return the open card the tap answers, if the person saw it as it is."""
    if tap.version is None:
        if tap.action not in ALWAYS_WORKS:
            raise InvalidRequest(
                f"{tap.action} needs the run's version as you saw it.", field="version"
            )
    elif tap.version != run.version:
        raise _stale(run, tap, at=at)
    if tap.decision is not None and tap.decision != run.open_decision:
        closed = run.decisions.filter(pk=tap.decision).first()
        if closed is not None and closed.kind == PERMISSION and closed.status == "open":
            return _offering(closed, run, tap)
        if tap.action == "restart" and closed is not None:
            return closed  # what ended the run is what the fresh one is told of
        raise _stale(run, tap, at=at)
    if run.open_decision is None:
        return None
    return _offering(Decision.objects.get(pk=run.open_decision), run, tap)


def _offering(decision: Decision, run: Run, tap: Tap) -> Decision:
    """Return an open card, if it offers what was tapped on it."""
    offered = rows.offered(decision.kind, decision.holds, run)
    if decision.kind != PERMISSION:
        offered = (*offered, "pause", "restart")
    if tap.decision and tap.action not in offered:
        refusal = f"This card does not offer {tap.action}."
        raise ActionUnavailable(rows.unavailable(run).get(tap.action, refusal))
    return decision


def _stale(run: Run, tap: Tap, *, at: datetime) -> StaleRun:
    shown_to_them = tap.decision or run.open_decision
    seen = run.decisions.filter(pk=shown_to_them).first() if shown_to_them else None
    shown: DecisionRow | None = rows.decision_row(seen, run) if seen else None
    row: RunRow = run_row(run, at=at)
    return StaleRun(_what_changed(run, seen), run=row, decision=shown)


def _what_changed(run: Run, seen: Decision | None) -> str:
    if seen is not None and seen.resolution in SETTLED_THERE:
        return SETTLED_THERE[seen.resolution]
    if seen is not None and seen.resolved_at is not None:
        deed = (seen.resolution or "answered").replace("_", " ")
        return f"This card has moved on: {seen.resolved_by} answered it with {deed}."
    return f"This run has moved on: it is {run.status} at version {run.version}."


def _perform(
    tx: RunTransaction, run: Run, tap: Tap, decision: Decision | None, *, by: str
) -> InterventionRow:
    hold = run.hold
    lifts = hold is not None and hold.stands and tap.action == "continue"
    if run.status in ENDED and not lifts and tap.action not in AFTER_THE_END:
        raise NoSuchMove(run.status, tap.action)
    tx.bump(run)
    made = Intervention(
        id=new_id(),
        run=run,
        decision=decision,
        key=tap.key,
        body=_body(tap),
        action=tap.action,
        message=tap.message,
        status="asked",
        by=by,
        version=run.version,
        at=tx.at,
        held_from=hold.from_seq if hold and (lifts or run.status in ON_HOLD) else None,
    )
    made.save(force_insert=True)
    is_heard = hold is None or hold.gave_up_at is None or run.parked
    if decision is not None and decision.kind == PERMISSION:
        permission_cards.close_card(tx, run, decision, resolution=tap.action, by=by)
    elif tap.action not in {"pause", "undo"}:
        cards.close_card(tx, run, resolution=tap.action, by=by)
    raised = ACTS[tap.action](tx, run, tap, made)
    _follow(run, made, is_heard=is_heard, lifts=lifts)
    row = rows.intervention_row(made, run)
    asks = tap.action == "pause" and run.open_decision is not None
    expires_at = run.hold.expires_at if asks and run.hold else None
    tx.record(run, InterventionMade, by=by, row=row, expires_at=expires_at, raised=raised)
    return row


def _follow(run: Run, made: Intervention, *, is_heard: bool, lifts: bool) -> None:
    """Have the agent's next deed confirm this answer; a stop stays the one followed.

    To an agent that gave up waiting it is unreachable until it is heard of again.
    `lifts`: it lifts a hold before the session comes back, and waits for that.
    """
    if run.status in ENDED and not lifts:
        run.meters.unconfirmed = None
        # A fresh run is there for whoever asks; the ended one has nobody to reach.
        made.status = "unreachable" if made.new_run_id is None else "acknowledged"
        made.acknowledged_at = made.at if made.new_run_id else None
        made.save(update_fields=["status", "acknowledged_at"])
    elif made.action in {"terminate", "restart"} or run.status not in FORBIDDEN:
        if made.action not in receipts.ON_THEIR_OWN_REQUEST or run.meters.unconfirmed is None:
            run.meters.unconfirmed = made.id
        if not is_heard and made.action != "pause":
            made.status = "unreachable"
            made.save(update_fields=["status"])


def _pause(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    refusal = rows.unavailable(run).get("pause")
    if refusal:
        raise ActionUnavailable(refusal)
    holding.hold(
        tx, run, by=made.by, reason=f"Paused by {made.by}.", from_seq=run.meters.last_seq + 1
    )
    if run.open_decision is not None and run.hold:  # flagged so far: it is now asked to wait
        shown = run.decisions.filter(pk=run.open_decision)
        shown.update(holds=True, expires_at=run.hold.expires_at)


def _continue(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    holding.release(tx, run, by=made.by, reason="continue")


def _terminate(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    _check_can_end(run)
    reason = tap.message or f"Terminated by {made.by}."
    endings.stop(tx, run, by=made.by, reason=reason)
    for other in [one for one in tx.runs.values() if one is not run]:
        _end_with(tx, other, run, reason, by=made.by)


def _end_with(tx: RunTransaction, run: Run, parent: Run, reason: str, *, by: str) -> None:
    """End a run because the one that started it, however far above, is ended."""
    if run.status in ENDED | FORBIDDEN or "terminate" in rows.unavailable(run):
        return
    cards.close_card(tx, run, resolution="terminate", by=by)
    endings.stop(tx, run, by=by, reason=f'Ended with "{parent.name}", which started it: {reason}')


def _allowlist(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    if made.decision is None:
        raise InvalidRequest("allowlist needs the decision whose call it allows.", field="decision")
    allowlist.allow_calls(tx, run, made.decision, tap, by=made.by)
    holding.release(tx, run, by=made.by, reason="allowlist")


def _inject(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    if "inject" in rows.unavailable(run):
        raise ActionUnavailable(rows.unavailable(run)["inject"])
    if not (tap.message or "").strip():
        raise InvalidRequest("inject needs a message for the agent.", field="message")
    _say(tx, run, tap.message or "", made)
    about = made.decision.signal["turns"] if made.decision else ()
    holding.correct(tx, run, by=made.by, reason="inject", about=about)


def _finish(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    if "finish" in rows.unavailable(run):
        raise ActionUnavailable(rows.unavailable(run)["finish"])
    _say(tx, run, (tap.message or "").strip() or SUM_UP, made)
    holding.skip_held_calls(run)
    holding.finish(tx, run, by=made.by)


def _say(tx: RunTransaction, run: Run, text: str, made: Intervention) -> None:
    agent = made.decision.agent or None if made.decision else None
    messages.say(tx, run, text, by=made.by, agent=agent, made=made)


def _allow_budget(
    tx: RunTransaction, run: Run, tap: Tap, made: Intervention
) -> budgets.Raised | None:
    more = {unit: value for unit, value in asdict(tap.amount or Amount()).items() if value}
    if not more:
        raise InvalidRequest("allow_budget needs an amount above zero.", field="amount")
    scope = _scope_of(made.decision)
    whose = made.decision.evidence.get("whose") if made.decision else None
    owner = tx.run(UUID(whose)) if scope == TREE else run
    before = undoing.ceilings_at(owner, scope)
    if scope in {"run", TREE}:
        named = whose if scope == "run" else None
        raised = budgets.raise_own(owner, more, whose=named, at=tx.at)
        budgets.own_moved(tx, owner, by=made.by)
    elif scope == ORGANISATION:
        raised = None  # the projects' own rows say it
        organisation.raise_today(tx, run, whose or "", more, by=made.by)
    else:
        raised = None  # the project's own row says it
        budgets.raise_shared(run.project, scope, whose or "", more, by=made.by, at=tx.at)
        budgets.ceilings_moved(tx, by=made.by)
    made.ceilings = {"before": before, "after": undoing.ceilings_at(owner, scope)}
    made.save(update_fields=["ceilings"])
    holding.release(tx, run, by=made.by, reason="allow_budget")
    return raised


def _undo(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> budgets.Raised | None:
    undone = run.interventions.select_related("decision").filter(key=tap.undoes or "").first()
    if undone is None:
        raise InvalidRequest("undo names no tap on this run.", field="undoes")
    return undoing.take_back(tx, run, undone, by=made.by)


def _answer_question(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """The agent's request is open, and carries it; it works again, or asks the next."""
    if made.decision is None or made.decision.kind != PERMISSION:
        raise InvalidRequest(f"{tap.action} needs the card that asks for it.", field="decision")
    if not run.meters.open_permissions and run.meters.presence == "waiting":
        run.meters.presence = "working"


def _check_can_end(run: Run) -> None:
    """Refuse what would end nothing: a button must not lie."""
    refusal = rows.unavailable(run).get("terminate")
    if refusal and run.status not in ENDED:
        raise ActionUnavailable(refusal)


def _restart(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """End this run and open a fresh one that begins with the message."""
    if not (tap.message or "").strip():
        raise InvalidRequest("restart needs a message for the fresh run.", field="message")
    _check_can_end(run)
    if run.status not in FORBIDDEN:
        endings.stop(tx, run, by=made.by, reason=f"Restarted by {made.by}.")
    fresh = open_successor(tx, run, key=f"restart:{made.id}", by=made.by)
    messages.say(tx, fresh, tap.message or "", by=made.by, made=made)
    made.new_run = fresh
    made.save(update_fields=["new_run"])


ACTS: dict[str, Callable[[RunTransaction, Run, Tap, Intervention], budgets.Raised | None]] = {
    "pause": _pause,
    "continue": _continue,
    "terminate": _terminate,
    "allowlist": _allowlist,
    "inject": _inject,
    "allow_budget": _allow_budget,
    "finish": _finish,
    "restart": _restart,
    "undo": _undo,
    "allow_once": _answer_question,
    "deny": _answer_question,
}
"""Tap -> deed, which returns the run's ceilings it raised. The card is closed and the version
moved before the deed."""


def set_mode(run_id: UUID, mode: str, *, projects: Container[UUID], by: str, at: datetime) -> Run:
    """Change what the server does when this run loops."""
    with journal.writing([run_id], at=at) as tx:
        run = _own(tx, run_id, projects)
        _check_is_live(run)
        if run.mode != mode:
            tx.bump(run)
            run.mode = mode
            tx.moved(run, by=by, reason=f"mode set to {mode}")
    return run


def report_end(
    run_id: UUID, status: str, *, projects: Container[UUID], by: str, at: datetime
) -> Run:
    """Take the agent's word that its run has completed or failed."""
    move = Move.COMPLETE if status == "completed" else Move.FAIL
    with journal.writing([run_id], at=at) as tx:
        run = _own(tx, run_id, projects)
        endings.end(tx, run, move, by=by, reason=f"the agent reported {status}")
    return run


def _check_is_live(run: Run) -> None:
    """Refuse to act on a recording.

    Raises:
        ActionUnavailable: it is one.
    """
    if run.imported:
        raise ActionUnavailable(RECORDED)


def _own(tx: RunTransaction, run_id: UUID, projects: Container[UUID]) -> Run:
    run = tx.run(run_id)
    if run.project_id not in projects:
        raise NotFound("The run")
    return run
