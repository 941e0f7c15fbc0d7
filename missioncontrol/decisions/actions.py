"""A person's tap, and what each action does to a run, under the locks of `interventions`.

The card is closed and the version raised before the act; the answer is followed after it.
Undoing takes back what the answer gave: the allowlist entry or the raise is removed and the
agent waits again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from guard.budget import MAX_AMOUNT, MIN_AMOUNT
from missioncontrol.clock import check_in_future
from missioncontrol.costs.spending import ORGANISATION, TREE
from missioncontrol.decisions import (
    allowlist,
    budgets,
    cards,
    directives,
    holding,
    messages,
    organisation,
    rows,
    sessions,
)
from missioncontrol.decisions.models import Decision, Intervention, LetGo
from missioncontrol.errors import ActionUnavailable, InvalidRequest
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, MUST_STOP
from missioncontrol.runs.models import Hold, Run
from missioncontrol.runs.rows import ceilings_of
from missioncontrol.runs.services import open_successor
from missioncontrol.wire.decisions import PERMISSION, InterventionAction
from missioncontrol.wire.rows import Moment, StrictInt

TEXT_ACTIONS = frozenset({"inject", "finish"})
UNDOABLE_ACTIONS = frozenset({"continue", "allowlist", "allow_budget"}) | TEXT_ACTIONS
SHARED_CEILINGS = ("budgets", "day_extra")
# What an agent that is asked to finish is told, unless the person writes a message.
FINISH_TEXT = (
    "Your budget is used up. Start nothing new: say in one last message what is done, what is "
    "left and where you stopped, then end."
)

Dollars = Annotated[Decimal, Field(ge=MIN_AMOUNT, le=MAX_AMOUNT)]
Count = Annotated[StrictInt, Field(ge=1, le=int(MAX_AMOUNT))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much to add to a budget, by unit; above 0, like the budgets themselves."""

    usd: Dollars | None = None
    tokens: Count | None = None
    calls: Count | None = None
    turns: Count | None = None
    seconds: Count | None = None
    failures: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """A person's answer; `key` makes repeating the request harmless."""

    key: Annotated[str, Field(min_length=1, max_length=200)]
    action: InterventionAction
    decision: UUID | None = None
    message: str | None = None
    agent: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """For `inject` without a card: the only agent of the run that gets the message."""
    version: StrictInt | None = None
    amount: Amount | None = None
    scope: Literal["run", "agent", "project"] = "run"
    expires_at: Moment | None = None
    for_run: bool = False
    """For `allow_once`: the very same call is allowed whenever this run asks again."""
    undoes: str | None = None
    """For `undo`: the key of the tap that is taken back."""


def ceiling_scope_of(card: Decision | None) -> str:
    """Return the scope of the ceiling that a budget's card is about."""
    return (card.evidence.get("scope") if card else None) or "run"


def _check_available(run: Run, action: str) -> None:
    """Refuse an action that this agent cannot do: no button may promise what does not happen."""
    # An ended run may still be terminated: it can then never come back.
    refusal = rows.unavailable_actions(run).get(action)
    if refusal and not (action == "terminate" and run.status in ENDED):
        raise ActionUnavailable(refusal)


def check_agent(tap: Tap, card: Decision | None, *, agent_exists: bool) -> None:
    """Refuse a text that would not go to its agent alone, or would wait forever.

    `agent_exists`: the run has turns of this agent.
    """
    if tap.agent is None:
        return
    if tap.action != "inject":
        raise InvalidRequest(f"{tap.action} takes no `agent`: it is for the run.", field="agent")
    if card is not None:
        refusal = "A card is open, and a text goes to its agent: answer the card first."
        raise InvalidRequest(refusal, field="agent")
    if not agent_exists:
        raise InvalidRequest("No turn of this run is from an agent of that name.", field="agent")


def pause(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """Ask the agent to wait from its next turn on."""
    _check_available(run, "pause")
    by, first = intervention.by, run.meters.last_seq + 1
    holding.hold(tx, run, by=by, reason=f"Paused by {by}.", from_seq=first)
    if run.open_decision is not None and run.hold:  # only flagged so far: now it must wait
        shown = run.decisions.filter(pk=run.open_decision)
        shown.update(holds=True, expires_at=run.hold.expires_at)


def resume(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """Let the agent go on; its streaks start afresh."""
    holding.release(tx, run, by=intervention.by, reason="continue")


def terminate(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """End the run, and with it the runs that it started."""
    _check_available(run, "terminate")
    reason = tap.message or f"Terminated by {intervention.by}."
    sessions.stop_run(tx, run, by=intervention.by, reason=reason)
    # The runs it started end with it, at any depth.
    below = f'Ended with "{run.name}", which started it: {reason}'
    # They are locked with it: `interventions` chose them by `lineage.live_descendant_ids`.
    for other in [one for one in tx.runs.values() if one is not run]:
        if other.status in ENDED | MUST_STOP or "terminate" in rows.unavailable_actions(other):
            continue
        cards.close_card(tx, other, resolution="terminate", by=intervention.by)
        sessions.stop_run(tx, other, by=intervention.by, reason=below)


def allow_calls(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """Allow the card's calls to repeat, and let the agent go on."""
    if intervention.decision is None:
        raise InvalidRequest("allowlist needs the decision whose call to allow.", field="decision")
    # From the card, not from the tap: what is allowed is what the person was shown.
    calls = intervention.decision.evidence.get("calls") or []
    if not calls:  # a budget's card has none
        raise InvalidRequest("This card has no call to allow.", field="decision")
    check_in_future(tap.expires_at, at=tx.at)
    allowlist.allow_calls(
        tx,
        run,
        calls,
        reason=tap.message or "",
        by=intervention.by,
        scope=tap.scope,
        expires_at=tap.expires_at,
    )
    holding.release(tx, run, by=intervention.by, reason="allowlist")


def inject(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """Answer the held calls with a person's message; one to a single agent answers no call."""
    _check_available(run, "inject")
    text, by, card = tap.message or "", intervention.by, intervention.decision
    if not text.strip():
        raise InvalidRequest("inject needs a message for the agent.", field="message")
    about, agent = (card.signal["turns"], card.agent) if card else ((), tap.agent or "")
    to = agent or None
    messages.queue_message(tx, run, text, by=by, agent=to, intervention=intervention)
    # Otherwise a message to one agent would end a pause, or the last turns, for all of them.
    if tap.agent is None:
        holding.release_with_correction(tx, run, by=by, reason="inject", about=about, agent=agent)


def finish(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """Let the agent go on for its last turns, told to sum up."""
    _check_available(run, "finish")
    by, card = intervention.by, intervention.decision
    agent = card.agent or None if card else None
    text = (tap.message or "").strip() or FINISH_TEXT
    messages.queue_message(tx, run, text, by=by, agent=agent, intervention=intervention)
    # Before the release, which ends the hold that tells which calls wait.
    holding.skip_held_calls(run)
    holding.release(tx, run, by=by, reason="finish")
    # After the release, which clears it.
    run.meters.finish_seq = run.meters.last_seq + holding.LAST_TURNS


def allow_budget(
    tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention
) -> budgets.CeilingChanges | None:
    """Raise the ceiling that the card is about; return a run's own ceilings, before and after."""
    more = {unit: value for unit, value in asdict(tap.amount or Amount()).items() if value}
    if not more:
        raise InvalidRequest("allow_budget needs an amount above zero.", field="amount")
    by, card = intervention.by, intervention.decision
    # Otherwise the card would close and the call run although the ceiling is still reached.
    unit = card.evidence.get("unit") if card else None
    if unit and unit not in more:
        raise InvalidRequest(f"This card's ceiling counts {unit}.", field=f"amount.{unit}")
    # Otherwise allowing more would set a first ceiling, and hold a run that had none.
    if not unit and (absent := [one for one in more if ceilings_of(run).get(one) is None]):
        refusal = f"This run has no ceiling in {absent[0]} to raise."
        raise InvalidRequest(refusal, field=f"amount.{absent[0]}")
    scope = ceiling_scope_of(card)
    whose = card.evidence.get("whose") if card else None
    owner = tx.run(UUID(whose)) if scope == TREE else run
    # The tap keeps the ceilings before and after: `undo` refuses if they were changed since.
    before = _current_ceilings(owner, scope)
    if scope in {"run", TREE}:
        # A card on one agent's ceiling in the run names that agent; a tree's card names a run.
        named = whose if scope == "run" else None
        raised = budgets.raise_run_ceilings(owner, more, whose=named, at=tx.at)
        budgets.apply_new_ceilings(tx, by=by, of=owner)
    elif scope == ORGANISATION:
        raised = None  # the projects' own journal rows tell it
        organisation.raise_day_ceiling(tx, run, whose or "", more, by=by)
    else:
        raised = None  # the project's own journal row tells it
        budgets.raise_shared_ceilings(run.project, scope, whose or "", more, by=by, at=tx.at)
        budgets.apply_new_ceilings(tx, by=by)
    intervention.ceilings = {"before": before, "after": _current_ceilings(owner, scope)}
    intervention.save(update_fields=["ceilings"])
    holding.release(tx, run, by=by, reason="allow_budget")
    return raised


def _current_ceilings(owner: Run, scope: str) -> dict[str, Any]:
    """Return the ceilings that an answer to a budget's card may change in a scope."""
    if scope in {"run", TREE}:
        return {"run": str(owner.id), "budget": owner.budget}
    if scope == ORGANISATION:
        return {ORGANISATION: organisation.read_extra()}
    return {name: getattr(owner.project, name) for name in SHARED_CEILINGS}


def undo(
    tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention
) -> budgets.CeilingChanges | None:
    """Take back what an earlier tap gave; return the run's ceilings that this changed.

    Raises:
        ActionUnavailable: the action cannot be undone, it was undone already, the ceiling has
            changed since, or the text is on its way.
    """
    by = intervention.by
    undone = run.interventions.select_related("decision").filter(key=tap.undoes or "").first()
    if undone is None:
        raise InvalidRequest("undo: this run has no such answer.", field="undoes")
    # Two people may undo at once, or one person may click twice, each under a new key.
    others = run.interventions.filter(action="undo").exclude(pk=intervention.pk)
    # Only the body names the tap that is undone; a run has few of them. It is not validated as
    # a tap: where the texts were erased, an empty body is left.
    bodies = others.values_list("body", flat=True)
    if any(json.loads(body).get("undoes") == undone.key for body in bodies):
        raise ActionUnavailable("It was undone already.")
    if undone.action not in UNDOABLE_ACTIONS:
        raise ActionUnavailable(f"{undone.action} cannot be undone.")
    if undone.action in TEXT_ACTIONS:
        messages.withdraw_text(tx, run, undone)
    if undone.action == "allowlist":
        allowlist.remove_entries_of(tx, run, made_by=undone.by, made_at=undone.at, by=by)
    moved = None
    if undone.ceilings:
        before, after = undone.ceilings["before"], undone.ceilings["after"]
        moved = _restore_ceilings(tx, run, before, after, by=by)
    # Suggestions count the calls that people let go, and this one was taken back.
    LetGo.objects.filter(decision=undone.decision_id, by=undone.by).delete()
    # A message to one agent ended no hold.
    if undone.decision_id is not None or not undone.queued.filter(agent__isnull=False).exists():
        _reopen_hold(tx, run, undone, by=by)
    if undone.status == "asked":  # it never reached the agent, and will not
        directives.mark_unreachable(tx, run, undone)
    return moved


def _restore_ceilings(
    tx: RunTransaction, run: Run, before: dict[str, Any], after: dict[str, Any], *, by: str
) -> budgets.CeilingChanges | None:
    """Restore earlier ceilings, unless somebody has changed them since."""
    owner = tx.run(UUID(before["run"])) if "run" in before else run
    scope = next((one for one in ("run", ORGANISATION) if one in before), "project")
    # Undoing an older tap must not discard what somebody set since.
    if _current_ceilings(owner, scope) != after:
        raise ActionUnavailable("The budget was changed since; set it in Settings.")
    if scope == "run":
        stood = ceilings_of(owner)
        owner.budget = before["budget"]
        budgets.apply_new_ceilings(tx, by=by, of=owner)
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
        return None  # the projects' own journal rows tell it
    project = run.project
    for name in [name for name in SHARED_CEILINGS if before[name] != after[name]]:
        setattr(project, name, before[name])
        project.save(update_fields=[name])
        journal.record_change(project.id, name, after[name], before[name], by=by, at=tx.at)
    budgets.apply_new_ceilings(tx, by=by)
    return None  # the project's own journal row tells it


def _reopen_hold(tx: RunTransaction, run: Run, undone: Intervention, *, by: str) -> None:
    """Reopen the card that the answer closed; if it held the agent, the agent is held again."""
    if run.status in MUST_STOP or run.open_decision is not None:
        return
    if run.status in ENDED:
        # A hold that was lifted after the session ended waits again for the session's return.
        lifted = undone.action == "continue" and undone.held_from is not None
        if lifted and undone.at >= (run.ended_at or tx.at):
            run.hold = Hold(run=run, since=tx.at, from_seq=run.meters.last_seq + 1, stands=True)
            run.reason = f"Paused by {by}."
            tx.record_state(run, by=by, reason="undo")
        return
    # If the answer has not left, the calls it let go still wait: the hold starts at them again.
    is_undelivered = undone.status in directives.UNDELIVERED_STATUSES
    held_from = undone.held_from
    first = held_from if held_from is not None and is_undelivered else run.meters.last_seq + 1
    if undone.action in TEXT_ACTIONS and held_from is not None:
        holding.unskip_held_calls(run, from_seq=held_from)
    if undone.action in TEXT_ACTIONS:
        run.meters.corrected, run.meters.finish_seq = [], None
    card = undone.decision
    if card is not None:
        cards.reopen_card(tx, run, card, from_seq=first)
    elif held_from is not None and "pause" not in rows.unavailable_actions(run):
        holding.hold(tx, run, by=by, reason=f"Paused by {by}.", from_seq=first)


def answer_permission(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """Answer a permission card; the agent works again once no other one is open."""
    if intervention.decision is None or intervention.decision.kind != PERMISSION:
        raise InvalidRequest(f"{tap.action} needs the card that asks for it.", field="decision")
    # An agent may ask for several permissions at once: it works again after the last answer.
    if not run.meters.open_permissions and run.meters.presence == "waiting":
        run.meters.presence = "working"
    # The denied call never runs, and the next turn may be long in coming.
    if tap.action == "deny" and intervention.decision.signal["turns"] == [run.meters.last_seq]:
        run.meters.doing = ""


def allow_once(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """Let the call run that the agent asks for; with `for_run`, also later in this run."""
    answer_permission(tx, run, tap, intervention)
    if not tap.for_run or intervention.decision is None:
        return
    asked = intervention.decision.evidence
    if not asked["asks"].get("for_run"):  # cards of older releases lack it
        raise ActionUnavailable("This call can only be allowed one call at a time.")
    allowlist.allow_calls(
        tx, run, asked["calls"], reason="Allowed on a permission card.", by=intervention.by
    )


def restart(tx: RunTransaction, run: Run, tap: Tap, intervention: Intervention) -> None:
    """End this run and open a new one that begins with the message."""
    if not (tap.message or "").strip():
        raise InvalidRequest("restart needs a message for the new run.", field="message")
    _check_available(run, "terminate")
    # A run that is already stopping is not stopped again: it keeps its first reason.
    if run.status not in MUST_STOP:
        sessions.stop_run(tx, run, by=intervention.by, reason=f"Restarted by {intervention.by}.")
    fresh = open_successor(tx, run, key=f"restart:{intervention.id}", by=intervention.by)
    messages.queue_message(
        tx, fresh, tap.message or "", by=intervention.by, intervention=intervention
    )
    intervention.new_run = fresh
    intervention.save(update_fields=["new_run"])


# Action -> act, which returns the ceilings of the run that it raised.
ACTIONS: dict[
    str, Callable[[RunTransaction, Run, Tap, Intervention], budgets.CeilingChanges | None]
] = {
    "pause": pause,
    "continue": resume,
    "terminate": terminate,
    "allowlist": allow_calls,
    "inject": inject,
    "allow_budget": allow_budget,
    "finish": finish,
    "restart": restart,
    "undo": undo,
    "allow_once": allow_once,
    "deny": answer_permission,
}
