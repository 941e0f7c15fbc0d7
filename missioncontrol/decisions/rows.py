"""Cards, interventions, autofixes and allowlist entries as wire rows. Pure: no query, no clock."""

from __future__ import annotations

from datetime import datetime

from pydantic import TypeAdapter

from guard.signals import Kind, Signal
from missioncontrol.decisions.models import AllowlistEntry, Autofix, Decision, Intervention
from missioncontrol.runs.lifecycle import Status
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import capabilities_of
from missioncontrol.wire.decisions import (
    PERMISSION,
    AllowlistRow,
    AutofixRow,
    CardEvidence,
    DecisionRow,
    InterventionAction,
    InterventionRow,
    VerdictRow,
)
from missioncontrol.wire.rows import row_of

# One that is being judged can be tapped as well: a person need not wait for the judge.
OPEN = ("judging", "open")

signals: TypeAdapter[Signal] = TypeAdapter(Signal)
evidences: TypeAdapter[CardEvidence] = TypeAdapter(CardEvidence)
verdicts: TypeAdapter[VerdictRow] = TypeAdapter(VerdictRow)

_LOOP_ACTIONS: tuple[InterventionAction, ...] = ("inject", "continue", "allowlist", "terminate")
_PERMISSION_ACTIONS: tuple[InterventionAction, ...] = ("allow_once", "deny")
# No `inject` and no `allowlist`: words do not lower a sum, and no call is at fault.
_BUDGET_ACTIONS: tuple[InterventionAction, ...] = ("allow_budget", "finish", "terminate")


def offered(kind: str, holds: bool, run: Run) -> tuple[InterventionAction, ...]:
    """Return what can be tapped on a card of this run."""
    if kind == PERMISSION:
        return _PERMISSION_ACTIONS
    every = _BUDGET_ACTIONS if kind == Kind.BUDGET else _LOOP_ACTIONS
    refused = unavailable(run)
    # A card that holds nobody offers to: its agent goes on meanwhile.
    flagged: tuple[InterventionAction, ...] = () if holds else ("pause",)
    return tuple(action for action in (*every, *flagged) if action not in refused)


def unavailable(run: Run) -> dict[str, str]:
    """Return what this agent cannot do, and why. Silence means it can."""
    return capabilities_of(run).unavailable(run.agent)


def decision_row(decision: Decision, run: Run, *, answer: str | None = None) -> DecisionRow:
    """Show a card; `answer` is where the intervention that closed it stands."""
    is_open = decision.status in OPEN
    # A closed card's hold is gone, or another's.
    hold = run.hold if is_open else None
    return row_of(
        DecisionRow,
        decision,
        project=run.project_id,
        run_name=run.name,
        # A tap on an open card names the run's version; a closed one shows where it closed.
        version=run.version if is_open else decision.version,
        agent_waiting=is_open and run.status == Status.HELD,
        evidence=evidences.validate_python(decision.evidence),
        verdict=verdicts.validate_python(decision.verdict) if decision.verdict else None,
        actions=offered(decision.kind, decision.holds, run) if is_open else (),
        unavailable=unavailable(run) if is_open and decision.kind != PERMISSION else {},
        unanswered=run.project.unanswered,
        waiting_since=hold.waiting_since if hold else None,
        gave_up_at=hold.gave_up_at if hold else None,
        parked=is_open and run.parked,
        intervention=answer,
    )


def intervention_row(made: Intervention, run: Run) -> InterventionRow:
    """Show an intervention."""
    return row_of(InterventionRow, made, project=run.project_id)


def autofix_row(fix: Autofix, run: Run, *, delivered_at: datetime | None) -> AutofixRow:
    """Show an autofix."""
    return row_of(
        AutofixRow,
        fix,
        project=run.project_id,
        run_name=run.name,
        text=fix.message.text,
        delivered_at=delivered_at,
        kind=fix.decision.kind,
        seq=fix.decision.signal["turns"][-1],
    )


def allowlist_row(entry: AllowlistEntry) -> AllowlistRow:
    """Show an allowlist entry."""
    return row_of(AllowlistRow, entry)
