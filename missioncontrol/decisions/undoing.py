"""Take back what an answer gave: the entry or the raise goes, the agent waits again."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from missioncontrol.costs.spending import ORGANISATION, TREE
from missioncontrol.decisions import (
    allowlist,
    budgets,
    cards,
    holding,
    messages,
    organisation,
    receipts,
    rows,
)
from missioncontrol.decisions.models import Intervention, LetGo
from missioncontrol.errors import ActionUnavailable
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN
from missioncontrol.runs.models import Hold, Run
from missioncontrol.runs.rows import ceilings_of

TEXTS = frozenset({"inject", "finish"})
UNDOABLE = frozenset({"continue", "allowlist", "allow_budget"}) | TEXTS
SHARED = ("budgets", "day_extra")


def ceilings_at(owner: Run, scope: str) -> dict[str, Any]:
    """Return what an answer to a budget's card may move: a run's, a project's or all projects'."""
    if scope in {"run", TREE}:
        return {"run": str(owner.id), "budget": owner.budget}
    if scope == ORGANISATION:
        return {ORGANISATION: organisation.extra()}
    return {name: getattr(owner.project, name) for name in SHARED}


def is_undone(run: Run, answer: Intervention, *, beside: Intervention) -> bool:
    """Say whether another tap than the one at hand took this answer back."""
    others = run.interventions.filter(action="undo").exclude(pk=beside.pk)
    # What a tap takes back stands in its body alone; a run has few of them.
    bodies = others.values_list("body", flat=True)
    # Not read as a tap: of one whose words were erased, an empty body is left.
    return any(json.loads(body).get("undoes") == answer.key for body in bodies)


def take_back(
    tx: RunTransaction, run: Run, undone: Intervention, *, by: str
) -> budgets.Raised | None:
    """Undo an answer, under the locks it was given under; return the run's ceilings it moved.

    Raises:
        ActionUnavailable: it is of a kind that cannot be undone, the ceiling moved since, or
            the text is on its way.
    """
    if undone.action not in UNDOABLE:
        raise ActionUnavailable(f"{undone.action} cannot be taken back.")
    if undone.action in TEXTS:
        messages.withdraw(tx, run, undone)
    if undone.action == "allowlist":
        allowlist.withdraw(tx, run, made_by=undone.by, made_at=undone.at, by=by)
    moved = None
    if undone.ceilings:
        moved = _lower(tx, run, undone.ceilings["before"], undone.ceilings["after"], by=by)
    # Suggestions count what people let go, and this was taken back.
    LetGo.objects.filter(decision=undone.decision_id, by=undone.by).delete()
    _hold_again(tx, run, undone, by=by)
    if undone.status == "asked":  # it never reached the agent, and will not
        receipts.miss(tx, run, undone)
    return moved


def _lower(
    tx: RunTransaction, run: Run, before: dict[str, Any], after: dict[str, Any], *, by: str
) -> budgets.Raised | None:
    """Put ceilings back where they were, unless somebody has moved them since."""
    owner = tx.run(UUID(before["run"])) if "run" in before else run
    scope = next((one for one in ("run", ORGANISATION) if one in before), "project")
    # What somebody set since must not be lost to an older tap's undoing.
    if ceilings_at(owner, scope) != after:
        raise ActionUnavailable("The budget was changed since; set it in Settings.")
    if scope == "run":
        stood = ceilings_of(owner)
        owner.budget = before["budget"]
        budgets.ceilings_moved(tx, by=by, of=owner)
        now = ceilings_of(owner)
        units = [unit for unit in stood if unit != "agents"]
        return {
            unit: (str(stood[unit]), str(now[unit]))
            for unit in units
            if now.get(unit) not in (None, stood[unit])
        }
    if scope == ORGANISATION:
        if before != after:
            organisation.set_extra(tx, before[ORGANISATION], by=by)
        return None  # the projects' own rows say it
    project = run.project
    for name in [name for name in SHARED if before[name] != after[name]]:
        setattr(project, name, before[name])
        project.save(update_fields=[name])
        journal.record_change(project.id, name, after[name], before[name], by=by, at=tx.at)
    budgets.ceilings_moved(tx, by=by)
    return None  # the project's own row says it


def _hold_again(tx: RunTransaction, run: Run, undone: Intervention, *, by: str) -> None:
    """Open the card again that the answer closed; one that held holds."""
    if run.status in FORBIDDEN or run.open_decision is not None:
        return
    if run.status in ENDED:
        # A hold that was lifted after its session's end stands again until that comes back.
        lifted = undone.action == "continue" and undone.held_from is not None
        if lifted and undone.at >= (run.ended_at or tx.at):
            run.hold = Hold(run=run, since=tx.at, from_seq=run.meters.last_seq + 1, stands=True)
            run.reason = f"Paused by {by}."
            tx.moved(run, by=by, reason="undo")
        return
    # If the answer has not left, the calls it let go still wait: the hold begins at them again.
    is_undelivered = undone.status in {"asked", "unreachable"}
    held_from = undone.held_from
    first = held_from if held_from is not None and is_undelivered else run.meters.last_seq + 1
    if undone.action in TEXTS and held_from is not None:
        holding.take_held_calls_back(run, from_seq=held_from)
    if undone.action in TEXTS:
        run.meters.corrected, run.meters.finish_seq = [], None
    card = undone.decision
    if card is not None:
        # It was judged before: it keeps its verdict.
        signal = rows.signals.validate_python(card.signal)
        cards.open_card(
            tx, run, signal, holds=card.holds, from_seq=first, judged=False, verdict=card.verdict
        )
    elif held_from is not None and "pause" not in rows.unavailable(run):
        holding.hold(tx, run, by=by, reason=f"Paused by {by}.", from_seq=first)
