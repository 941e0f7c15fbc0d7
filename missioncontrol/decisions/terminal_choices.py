"""Choices made at an agent's terminal while the server was away, reported later.

An agent's report releases no agent that people hold, and permits nothing. Apart from ending
the run, it only answers the open card of the call it is about, and only if the project lets
agents choose, no person paused the run and no request of the agent was waiting for people.
Every report is journalled.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from guard.reading.normalize import format_call
from guard.signals import Kind
from missioncontrol.decisions import allowlist, cards, directives, holding, rows, sessions
from missioncontrol.decisions.models import SPOKE, Decision, Intervention
from missioncontrol.errors import NotFound
from missioncontrol.proof import canonical
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import Status
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.sanitizing import masked_json, masked_text
from missioncontrol.wire.decisions import InterventionRow
from missioncontrol.wire.events import InterventionMade
from missioncontrol.wire.rows import to_json

Call = Annotated[str, Field(max_length=4000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LateChoice:
    """One choice; `key` makes a repeat harmless.

    `turn` is the key of the call it is about. `by` is who chose: a person at the terminal, the
    policy because nobody was there, or guard with its own correction.
    """

    key: Annotated[str, Field(min_length=1, max_length=200)]
    action: Literal["terminate", "continue", "allowlist", "inject"]
    by: Literal["terminal", "policy", "guard"] = "terminal"
    turn: Annotated[str, Field(max_length=200)] | None = None
    message: Annotated[str, Field(max_length=20_000)] | None = None
    reason: Annotated[str, Field(max_length=2000)] = ""
    calls: Annotated[tuple[Call, ...], Field(max_length=20)] = ()


def record_choice(
    run_id: UUID, choice: LateChoice, *, project: UUID, at: datetime
) -> tuple[InterventionRow, bool]:
    """Carry out and journal a choice; True: it is new, False: this repeats the first answer.

    Takes the run's row lock.

    Raises:
        NotFound: no such run in the agent's project.
        KeyReused: the key was used before for another choice.
    """
    with journal.lock_run(run_id, at=at) as (tx, run):
        if run.project_id != project:
            raise NotFound("The run")
        body = canonical(to_json(choice))
        if known := directives.find_repeated(run, choice.key, body=body):
            return rows.intervention_row(known, run), False
        tx.raise_version(run)
        by = SPOKE[choice.by]
        card = _find_card(run, choice)
        if choice.action == "terminate":
            cards.close_card(tx, run, resolution=choice.action, by=by)
            sessions.stop_run(tx, run, by=by, reason=choice.reason or f"Terminated by {by}.")
        elif card is not None:
            _answer_card(tx, run, card, choice, by=by)
        # It was carried out where it was chosen: nothing is left to deliver.
        intervention = Intervention.objects.create(
            run=run,
            decision=card,
            key=choice.key,
            body=body,
            action=choice.action,
            message=masked_text(choice.message, run.project.redaction),
            status="acknowledged",
            by=by,
            version=run.version,
            at=tx.at,
            delivered_at=tx.at,
            acknowledged_at=tx.at,
        )
        row = rows.intervention_row(intervention, run)
        tx.record(run, InterventionMade, by=by, row=row)
        return row, True


def _answer_card(
    tx: RunTransaction, run: Run, card: Decision, choice: LateChoice, *, by: str
) -> None:
    """Answer the card as it was chosen at the terminal, and let the run go on."""
    cards.close_card(tx, run, resolution=choice.action, by=by)
    if choice.action == "allowlist":
        shown, own = card.evidence.get("calls") or (), run.project.redaction
        stored: list[str] = []
        for call in choice.calls:
            # As its turn may have been stored: each argument is masked by itself, numbers too.
            forms = [masked_text(call, own) or ""]
            tool, _, rest = call.partition(" {")
            with suppress(ValueError, RecursionError):  # plain words, or a call that was cut
                args = masked_json(json.loads(f"{{{rest}"), own)
                forms.append(format_call(masked_text(tool, own) or "", args))
            # Only calls that the card shows: an agent must not allow others this way.
            stored += [form for form in forms if form in shown]
        allowlist.allow_calls(tx, run, dict.fromkeys(stored), reason=choice.reason, by=by)
    if choice.action == "inject":
        # At the terminal the correction replaced this call: it did not run.
        Turn.objects.filter(run=run, key=choice.turn, phase="proposed").update(skipped=True)
    holding.release(tx, run, by=by, reason=choice.action)
    if choice.action == "inject":  # after the release, which clears corrections
        run.meters.corrected = [card.signal["turns"]]


def _find_card(run: Run, choice: LateChoice) -> Decision | None:
    """Return the card that the choice answers.

    An agent may always end its run, but may not release a hold that is for people to end.
    """
    if run.open_decision is None:
        return None
    card = Decision.objects.get(pk=run.open_decision)
    if choice.action == "terminate":
        return card
    if not run.project.agents_choose or card.kind == Kind.BUDGET or not choice.turn:
        return None
    # If the agent waited in the hold, people must end it, even after the agent gave up.
    gave_up = run.hold is not None and run.hold.gave_up_at is not None
    has_waited = run.status == Status.HELD or gave_up or run.parked
    # The same holds if a person paused the run, before or after the card opened,
    pauses = run.interventions.filter(action="pause")
    is_paused = run.hold is not None and pauses.filter(at__gte=run.hold.since).exists()
    # or if the hold outlived its session: nothing tells whether an agent waited in it.
    outlived = run.decisions.filter(resolution="ended", holds=True)
    if has_waited or is_paused or outlived.exists():
        return None
    about = Turn.objects.filter(run=run, key=choice.turn, seq__in=card.signal["turns"])
    return card if about.exists() else None
