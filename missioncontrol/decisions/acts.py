"""What a person's tap says, and what each does to a run, under the locks of `interventions`.

The card is closed and the version moved before the act, and the receipt is followed after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter

from guard.budget import LEAST, MOST
from missioncontrol.costs.spending import ORGANISATION, TREE
from missioncontrol.decisions import (
    allowlist,
    budgets,
    cards,
    endings,
    holding,
    messages,
    organisation,
    rows,
    undoing,
)
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.errors import ActionUnavailable, InvalidRequest
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN
from missioncontrol.runs.models import Run
from missioncontrol.runs.services import open_successor
from missioncontrol.wire.decisions import PERMISSION, InterventionAction

# What an agent is told that is asked to finish, unless the person writes it.
SUM_UP = (
    "Your budget is used up. Start nothing new: say in one last message what is done, what is "
    "left and where you stopped, then end."
)

Dollars = Annotated[Decimal, Field(ge=LEAST, le=MOST)]
Count = Annotated[int, Field(ge=1, le=int(MOST))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much more a budget allows, by unit; above 0, like the ceilings themselves."""

    usd: Dollars | None = None
    tokens: Count | None = None
    calls: Count | None = None
    turns: Count | None = None
    seconds: Count | None = None
    failures: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """One request of a person; `key` makes a repeat harmless."""

    key: Annotated[str, Field(min_length=1, max_length=200)]
    action: InterventionAction
    decision: UUID | None = None
    message: str | None = None
    version: int | None = None
    amount: Amount | None = None
    scope: Literal["run", "agent", "project"] = "run"
    expires_at: datetime | None = None
    undoes: str | None = None
    """Of `undo`: the key of the tap that is taken back."""


taps: TypeAdapter[Tap] = TypeAdapter(Tap)


def scope_of(card: Decision | None) -> str:
    """Whose ceiling a budget's card is about."""
    return (card.evidence.get("scope") if card else None) or "run"


def _check_available(run: Run, action: str) -> None:
    """Refuse what this agent cannot do: a button must not lie."""
    # An ended run may be terminated all the same: it is then never let on again.
    refusal = rows.unavailable(run).get(action)
    if refusal and not (action == "terminate" and run.status in ENDED):
        raise ActionUnavailable(refusal)


def pause(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """Ask the agent to wait from its next turn on."""
    _check_available(run, "pause")
    holding.hold(
        tx, run, by=made.by, reason=f"Paused by {made.by}.", from_seq=run.meters.last_seq + 1
    )
    if run.open_decision is not None and run.hold:  # flagged so far: it is now asked to wait
        shown = run.decisions.filter(pk=run.open_decision)
        shown.update(holds=True, expires_at=run.hold.expires_at)


def go_on(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """Let the agent go on; the count begins again."""
    holding.release(tx, run, by=made.by, reason="continue")


def terminate(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """End the run, and with it whom it started."""
    _check_available(run, "terminate")
    reason = tap.message or f"Terminated by {made.by}."
    endings.stop(tx, run, by=made.by, reason=reason)
    # Whoever it started ends with it, however far below.
    below = f'Ended with "{run.name}", which started it: {reason}'
    # They are locked with it: `interventions` chose them by `lineage.started_by`.
    for other in [one for one in tx.runs.values() if one is not run]:
        if other.status in ENDED | FORBIDDEN or "terminate" in rows.unavailable(other):
            continue
        cards.close_card(tx, other, resolution="terminate", by=made.by)
        endings.stop(tx, other, by=made.by, reason=below)


def allow_calls(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """Allow the card's calls to repeat, and let the agent go on."""
    if made.decision is None:
        raise InvalidRequest("allowlist needs the decision whose call it allows.", field="decision")
    # From the card, not from the tap: what is allowed is what the person was shown.
    calls = made.decision.evidence.get("calls") or []
    if not calls:  # as a budget's
        raise InvalidRequest("This card names no call to allow.", field="decision")
    allowlist.allow_calls(
        tx,
        run,
        calls,
        reason=tap.message or "",
        by=made.by,
        scope=tap.scope,
        expires_at=tap.expires_at,
    )
    holding.release(tx, run, by=made.by, reason="allowlist")


def inject(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """Answer the held calls with a person's words."""
    _check_available(run, "inject")
    if not (tap.message or "").strip():
        raise InvalidRequest("inject needs a message for the agent.", field="message")
    _say(tx, run, tap.message or "", made)
    card = made.decision
    about, agent = (card.signal["turns"], card.agent) if card else ((), "")
    holding.correct(tx, run, by=made.by, reason="inject", about=about, agent=agent)


def finish(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """Let the agent go on for its last turns, told to sum up."""
    _check_available(run, "finish")
    _say(tx, run, (tap.message or "").strip() or SUM_UP, made)
    # Before the release, which ends the hold that says which calls wait.
    holding.skip_held_calls(run)
    holding.finish(tx, run, by=made.by)


def _say(tx: RunTransaction, run: Run, text: str, made: Intervention) -> None:
    agent = made.decision.agent or None if made.decision else None
    messages.say(tx, run, text, by=made.by, agent=agent, made=made)


def allow_budget(
    tx: RunTransaction, run: Run, tap: Tap, made: Intervention
) -> budgets.Raised | None:
    """Raise the ceiling that the card is about; the run's own as it was and is."""
    more = {unit: value for unit, value in asdict(tap.amount or Amount()).items() if value}
    if not more:
        raise InvalidRequest("allow_budget needs an amount above zero.", field="amount")
    scope = scope_of(made.decision)
    whose = made.decision.evidence.get("whose") if made.decision else None
    owner = tx.run(UUID(whose)) if scope == TREE else run
    # Kept with the tap, before and after: undoing refuses what somebody else moved since.
    before = undoing.ceilings_at(owner, scope)
    if scope in {"run", TREE}:
        # A card on one agent's ceiling in the run names that agent; a tree's names the run.
        named = whose if scope == "run" else None
        raised = budgets.raise_own(owner, more, whose=named, at=tx.at)
        budgets.ceilings_moved(tx, by=made.by, of=owner)
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


def undo(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> budgets.Raised | None:
    """Take back what an earlier tap gave."""
    undone = run.interventions.select_related("decision").filter(key=tap.undoes or "").first()
    if undone is None:
        raise InvalidRequest("undo names no tap on this run.", field="undoes")
    # Two people at once, or a second click under a key of its own; under the run's lock.
    if undoing.is_undone(run, undone, beside=made):
        raise ActionUnavailable("It was taken back already.")
    return undoing.take_back(tx, run, undone, by=made.by)


def answer_question(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """The agent's request is open, and carries it; it works again, or asks the next."""
    if made.decision is None or made.decision.kind != PERMISSION:
        raise InvalidRequest(f"{tap.action} needs the card that asks for it.", field="decision")
    # An agent may ask for several permissions at once: it works again after the last answer.
    if not run.meters.open_permissions and run.meters.presence == "waiting":
        run.meters.presence = "working"


def restart(tx: RunTransaction, run: Run, tap: Tap, made: Intervention) -> None:
    """End this run and open a fresh one that begins with the message."""
    if not (tap.message or "").strip():
        raise InvalidRequest("restart needs a message for the fresh run.", field="message")
    _check_available(run, "terminate")
    # One that is stopping is not stopped twice: its reason stays the first.
    if run.status not in FORBIDDEN:
        endings.stop(tx, run, by=made.by, reason=f"Restarted by {made.by}.")
    fresh = open_successor(tx, run, key=f"restart:{made.id}", by=made.by)
    messages.say(tx, fresh, tap.message or "", by=made.by, made=made)
    made.new_run = fresh
    made.save(update_fields=["new_run"])


# Tap -> act, which returns the run's ceilings it raised.
ACTS: dict[str, Callable[[RunTransaction, Run, Tap, Intervention], budgets.Raised | None]] = {
    "pause": pause,
    "continue": go_on,
    "terminate": terminate,
    "allowlist": allow_calls,
    "inject": inject,
    "allow_budget": allow_budget,
    "finish": finish,
    "restart": restart,
    "undo": undo,
    "allow_once": answer_question,
    "deny": answer_question,
}
