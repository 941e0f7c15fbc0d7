"""What a person taps. Each tap is one transaction under the run's row lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from missioncontrol.errors import (
    ActionUnavailable,
    InvalidRequest,
    KeyReused,
    NoSuchMove,
    NotFound,
    StaleRun,
)
from missioncontrol.ids import new_id
from missioncontrol.oversight import allowlist, budgets, cards, endings, holding, messages, rows
from missioncontrol.oversight.models import Decision, Intervention
from missioncontrol.oversight.spending import TREE
from missioncontrol.oversight.taps import Amount, Tap, taps
from missioncontrol.runs import journal, kin
from missioncontrol.runs.journal import Book
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN, Move
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import run_row
from missioncontrol.runs.services import open_successor
from missioncontrol.wire.decisions import DecisionRow, InterventionRow
from missioncontrol.wire.events import InterventionMade, MessageQueued
from missioncontrol.wire.runs import RunRow

SUM_UP = (
    "Your budget is used up. Start nothing new: say in one last message what is done, what is "
    "left and where you stopped, then end."
)
"""What an agent is told that is asked to finish, unless the person writes it."""
ALWAYS_WORKS = frozenset({"pause", "terminate", "restart"})


def intervene(
    run_id: UUID, tap: Tap, *, projects: Collection[UUID], by: str, at: datetime
) -> tuple[InterventionRow, bool]:
    """Do what a person tapped; True: it is new, False: the first answer again.

    Raises:
        NotFound: no such run in the person's projects.
        KeyReused: the key came before with another body.
        StaleRun: the run moved on since the person looked.
        InvalidRequest: the action lacks its version, message or amount.
        ActionUnavailable: the card does not offer this action.
        NoSuchMove: the run has ended.
    """
    with _locked(run_id, tap, at=at) as (book, scope):
        run = book.run(run_id)
        if run.project_id not in projects:
            raise NotFound("The run")
        known = Intervention.objects.filter(run=run, key=tap.key).first()
        if known is not None:
            return rows.intervention_row(_same(known, tap), run), False
        decision = _current_decision(run, tap, at=at)
        if tap.action == "allow_budget" and _scope_of(decision) != scope:
            raise _stale(run, tap, at=at)  # another card opened before the locks were ours
        return _perform(book, run, tap, decision, by=by), True


@contextmanager
def _locked(run_id: UUID, tap: Tap, *, at: datetime) -> Iterator[tuple[Book, str]]:
    """Lock the run; where the answer concerns others, the project and those too.

    Tells with the book for whose ceiling it is locked.
    """
    card = _card_before_locks(run_id, tap) if tap.action == "allow_budget" else None
    scope = _scope_of(card)
    run = Run.objects.only("project_id", "root").filter(pk=run_id).first()
    if run is None or not _concerns_others(run, tap, scope):
        with journal.writing([run_id], at=at, ahead=True) as book:
            yield book, scope
        return
    with (
        journal.holding_project(run.project_id, ahead=True) as project,
        journal.writing({run_id, *_others(run, tap, card, project.id)}, at=at) as book,
    ):
        yield book, scope


def _concerns_others(run: Run, tap: Tap, scope: str) -> bool:
    """Tell whether an answer moves a ceiling that is shared, or ends a tree."""
    if tap.action == "allow_budget":
        return scope != "run" or run.root is not None
    return tap.action == "terminate" and run.root is not None


def _others(run: Run, tap: Tap, card: Decision | None, project: UUID) -> list[UUID]:
    """Name the runs besides this one; read under the project's lock, so none is added."""
    if tap.action == "terminate":
        return kin.started_by(run)
    if _scope_of(card) in {"run", TREE}:
        owner = [UUID(card.evidence["whose"])] if card and _scope_of(card) == TREE else []
        return [*kin.live_kin(run.root), *owner]
    return budgets.live_runs(project)


def _card_before_locks(run_id: UUID, tap: Tap) -> Decision | None:
    """Find the card a tap answers: the one it names, else the one that is open."""
    cards_of = Decision.objects.filter(run=run_id).select_related("run")
    if tap.decision is not None:
        return cards_of.filter(pk=tap.decision).first()
    return cards_of.filter(status__in=rows.OPEN).first()


def _scope_of(card: Decision | None) -> str:
    """Whose ceiling a budget's card is about."""
    return (card.evidence.get("scope") if card else None) or "run"


def _same(known: Intervention, tap: Tap) -> Intervention:
    if known.body != _body(tap):
        raise KeyReused(tap.key)
    return known


def _body(tap: Tap) -> str:
    return journal.canonical(taps.dump_python(tap, mode="json"))


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
        if tap.action == "restart" and closed is not None:
            return closed  # what ended the run is what the fresh one is told of
        raise _stale(run, tap, at=at)
    if run.open_decision is None:
        return None
    decision = Decision.objects.get(pk=run.open_decision)
    offered = (*rows.offered(decision.kind, decision.holds, run), "pause", "restart")
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
    if seen is not None and seen.resolved_at is not None:
        deed = (seen.resolution or "answered").replace("_", " ")
        return f"This card has moved on: {seen.resolved_by} answered it with {deed}."
    return f"This run has moved on: it is {run.status} at version {run.version}."


def _perform(
    book: Book, run: Run, tap: Tap, decision: Decision | None, *, by: str
) -> InterventionRow:
    if run.status in ENDED and tap.action not in {"terminate", "allow_budget", "restart"}:
        raise NoSuchMove(run.status, tap.action)
    book.bump(run)
    made = Intervention(
        id=new_id(), run=run, decision=decision, key=tap.key, body=_body(tap), action=tap.action,
        message=tap.message, status="asked", by=by, version=run.version, at=book.at,
    )  # fmt: skip
    made.save(force_insert=True)
    is_heard = run.gave_up_at is None or run.parked
    if tap.action != "pause":
        cards.close_card(book, run, resolution=tap.action, by=by)
    ACTS[tap.action](book, run, tap, made)
    _follow(run, made, is_heard=is_heard)
    row = rows.intervention_row(made, run)
    held = tap.action == "pause" and run.open_decision is not None
    expires_at = run.hold_expires_at if held else None
    book.record(run, InterventionMade, by=by, row=row, expires_at=expires_at)
    return row


def _follow(run: Run, made: Intervention, *, is_heard: bool) -> None:
    """Have the agent's next deed confirm this answer; a stop stays the one followed.

    To an agent that gave up waiting it is unreachable until it is heard of again.
    """
    if run.status in ENDED:
        run.unconfirmed = None
        # A fresh run is there for whoever asks; the ended one has nobody to reach.
        made.status = "unreachable" if made.new_run_id is None else "acknowledged"
        made.acknowledged_at = made.at if made.new_run_id else None
        made.save(update_fields=["status", "acknowledged_at"])
    elif made.action in {"terminate", "restart"} or run.status not in FORBIDDEN:
        run.unconfirmed = made.id
        if not is_heard and made.action != "pause":
            made.status = "unreachable"
            made.save(update_fields=["status"])


def _pause(book: Book, run: Run, tap: Tap, made: Intervention) -> None:
    refusal = rows.unavailable(run).get("pause")
    if refusal:
        raise ActionUnavailable(refusal)
    holding.hold(book, run, by=made.by, reason=f"Paused by {made.by}.", from_seq=run.last_seq + 1)
    if run.open_decision is not None:  # flagged so far: its agent is now asked to wait
        shown = run.decisions.filter(status__in=rows.OPEN)
        shown.update(holds=True, expires_at=run.hold_expires_at)


def _continue(book: Book, run: Run, tap: Tap, made: Intervention) -> None:
    holding.release(book, run, by=made.by, reason="continue")


def _terminate(book: Book, run: Run, tap: Tap, made: Intervention) -> None:
    _check_can_end(run)
    reason = tap.message or f"Terminated by {made.by}."
    endings.stop(book, run, by=made.by, reason=reason)
    for other in [one for one in book.runs.values() if one is not run]:
        _end_with(book, other, run, reason, by=made.by)


def _end_with(book: Book, run: Run, parent: Run, reason: str, *, by: str) -> None:
    """End a run because the one that started it, however far above, is ended."""
    if run.status in ENDED | FORBIDDEN or "terminate" in rows.unavailable(run):
        return
    cards.close_card(book, run, resolution="terminate", by=by)
    endings.stop(book, run, by=by, reason=f'Ended with "{parent.name}", which started it: {reason}')


def _allowlist(book: Book, run: Run, tap: Tap, made: Intervention) -> None:
    if made.decision is None:
        raise InvalidRequest("allowlist needs the decision whose call it allows.", field="decision")
    allowlist.allow_calls(book, run, made.decision, tap, by=made.by)
    holding.release(book, run, by=made.by, reason="allowlist")


def _inject(book: Book, run: Run, tap: Tap, made: Intervention) -> None:
    if "inject" in rows.unavailable(run):
        raise ActionUnavailable(rows.unavailable(run)["inject"])
    if not (tap.message or "").strip():
        raise InvalidRequest("inject needs a message for the agent.", field="message")
    _say(book, run, tap.message or "", made)
    holding.skip_held_calls(run)
    holding.release(book, run, by=made.by, reason="inject")


def _finish(book: Book, run: Run, tap: Tap, made: Intervention) -> None:
    if "finish" in rows.unavailable(run):
        raise ActionUnavailable(rows.unavailable(run)["finish"])
    _say(book, run, (tap.message or "").strip() or SUM_UP, made)
    holding.skip_held_calls(run)
    holding.finish(book, run, by=made.by)


def _say(book: Book, run: Run, text: str, made: Intervention) -> None:
    agent = made.decision.agent or None if made.decision else None
    message = messages.queue_message(book, run, text, agent=agent, made=made)
    book.record(
        run, MessageQueued, by=made.by, message=message.id, text=message.text, agent=agent,
        intervention=made.id,
    )  # fmt: skip


def _allow_budget(book: Book, run: Run, tap: Tap, made: Intervention) -> None:
    more = {unit: value for unit, value in asdict(tap.amount or Amount()).items() if value}
    if not more:
        raise InvalidRequest("allow_budget needs an amount above zero.", field="amount")
    scope = _scope_of(made.decision)
    whose = made.decision.evidence.get("whose") if made.decision else None
    if scope in {"run", TREE}:
        owner = book.run(UUID(whose)) if scope == TREE else run
        named = whose if scope == "run" else None
        budgets.raise_own(owner, more, whose=named, at=book.at)
        budgets.own_moved(book, owner, by=made.by)
    else:
        budgets.raise_shared(run.project, scope, whose or "", more, by=made.by, at=book.at)
        budgets.ceilings_moved(book, by=made.by)
    holding.release(book, run, by=made.by, reason="allow_budget")


def _check_can_end(run: Run) -> None:
    """Refuse what would end nothing: a button must not lie."""
    refusal = rows.unavailable(run).get("terminate")
    if refusal and run.status not in ENDED:
        raise ActionUnavailable(refusal)


def _restart(book: Book, run: Run, tap: Tap, made: Intervention) -> None:
    """End this run and open a fresh one that begins with the message."""
    if not (tap.message or "").strip():
        raise InvalidRequest("restart needs a message for the fresh run.", field="message")
    _check_can_end(run)
    if run.status not in FORBIDDEN:
        endings.stop(book, run, by=made.by, reason=f"Restarted by {made.by}.")
    fresh = open_successor(book, run, key=f"restart:{made.id}", by=made.by)
    message = messages.queue_message(book, fresh, tap.message or "", agent=None, made=made)
    book.record(
        fresh, MessageQueued, by=made.by, message=message.id, text=message.text, agent=None,
        intervention=made.id,
    )  # fmt: skip
    made.new_run = fresh
    made.save(update_fields=["new_run"])


ACTS: dict[str, Callable[[Book, Run, Tap, Intervention], None]] = {
    "pause": _pause,
    "continue": _continue,
    "terminate": _terminate,
    "allowlist": _allowlist,
    "inject": _inject,
    "allow_budget": _allow_budget,
    "finish": _finish,
    "restart": _restart,
}
"""Tap -> deed. The card is closed and the version moved before the deed."""


def set_mode(run_id: UUID, mode: str, *, projects: Collection[UUID], by: str, at: datetime) -> Run:
    """Change what the server does when this run loops."""
    with journal.writing([run_id], at=at) as book:
        run = _own(book, run_id, projects)
        if run.mode != mode:
            book.bump(run)
            run.mode = mode
            book.moved(run, by=by, reason=f"mode set to {mode}")
    return run


def report_end(
    run_id: UUID, status: str, *, projects: Collection[UUID], by: str, at: datetime
) -> Run:
    """Take the agent's word that its run has completed or failed."""
    move = Move.COMPLETE if status == "completed" else Move.FAIL
    with journal.writing([run_id], at=at) as book:
        run = _own(book, run_id, projects)
        endings.end(book, run, move, by=by, reason=f"the agent reported {status}")
    return run


def _own(book: Book, run_id: UUID, projects: Collection[UUID]) -> Run:
    run = book.run(run_id)
    if run.project_id not in projects:
        raise NotFound("The run")
    return run
