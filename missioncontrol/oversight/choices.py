"""What was chosen at an agent's terminal while we were away, told later.

An agent's word lets nobody go whom people hold: the choice answers a card only
where the project lets agents choose and no request of the agent is waiting here.
In any case it is journalled.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter

from missioncontrol.errors import KeyReused, NotFound
from missioncontrol.ids import new_id
from missioncontrol.oversight import allowlist, cards, rows
from missioncontrol.oversight.models import Intervention
from missioncontrol.runs import journal
from missioncontrol.runs.cleaning import masked_text
from missioncontrol.runs.journal import Book
from missioncontrol.runs.lifecycle import Status
from missioncontrol.runs.models import Run, Turn
from missioncontrol.wire import InterventionMade, InterventionRow

SPOKE = {"terminal": "agent terminal", "policy": "policy", "guard": "guard"}
Call = Annotated[str, Field(max_length=4000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LateChoice:
    """One choice; `key` makes a repeat harmless.

    `turn` is the key of the call it is about, `by` who chose: a person at the
    terminal, the policy as nobody was there, or guard with its own correction.
    """

    key: Annotated[str, Field(min_length=1, max_length=200)]
    action: Literal["terminate", "continue", "allowlist", "inject"]
    by: Literal["terminal", "policy", "guard"] = "terminal"
    turn: Annotated[str, Field(max_length=200)] | None = None
    message: Annotated[str, Field(max_length=20_000)] | None = None
    reason: Annotated[str, Field(max_length=2000)] = ""
    calls: Annotated[tuple[Call, ...], Field(max_length=20)] = ()


_choices: TypeAdapter[LateChoice] = TypeAdapter(LateChoice)


def take_choice(
    run_id: UUID, choice: LateChoice, *, project: UUID, at: datetime
) -> tuple[InterventionRow, bool]:
    """Do and journal what was chosen; True: it is new, False: the first answer again.

    Takes the run's row lock.

    Raises:
        NotFound: no such run in the agent's project.
        KeyReused: the key came before with another choice.
    """
    with journal.writing([run_id], at=at) as book:
        run = book.run(run_id)
        if run.project_id != project:
            raise NotFound("The run")
        body = journal.canonical(_choices.dump_python(choice, mode="json"))
        known = Intervention.objects.filter(run=run, key=choice.key).first()
        if known is None:
            return _take(book, run, choice, body=body), True
        if known.body != body:
            raise KeyReused(choice.key)
        return rows.intervention_row(known, run), False


def _take(book: Book, run: Run, choice: LateChoice, *, body: str) -> InterventionRow:
    book.bump(run)
    by = SPOKE[choice.by]
    card = run.open_decision
    if _may_act(run, choice):
        cards.close_card(book, run, resolution=choice.action, by=by)
        _act(book, run, choice, by=by)
    else:
        card = None
    made = Intervention(
        id=new_id(), run=run, decision_id=card, key=choice.key, body=body, action=choice.action,
        message=masked_text(choice.message), status="acknowledged", by=by, version=run.version,
        at=book.at, delivered_at=book.at, acknowledged_at=book.at,
    )  # fmt: skip
    made.save(force_insert=True)
    row = rows.intervention_row(made, run)
    book.record(run, InterventionMade, by=by, row=row)
    return row


def _may_act(run: Run, choice: LateChoice) -> bool:
    """Ending is always let; letting go is not an agent's to say while people hold it."""
    if choice.action == "terminate":
        return True
    return run.project.agents_choose and run.status != Status.HELD


def _act(book: Book, run: Run, choice: LateChoice, *, by: str) -> None:
    if choice.action == "terminate":
        cards.stop(book, run, by=by, reason=choice.reason or f"Terminated by {by}.")
        return
    if choice.action == "allowlist":
        calls = [masked_text(call) or "" for call in choice.calls]
        allowlist.allow_in_run(book, run, calls, reason=choice.reason, by=by)
    if choice.action == "inject":
        Turn.objects.filter(run=run, key=choice.turn, phase="proposed").update(skipped=True)
    cards.release(book, run, by=by, reason=choice.action)
