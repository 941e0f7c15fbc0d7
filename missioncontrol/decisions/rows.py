"""Cards, interventions, autofixes and allowlist entries as wire rows. Pure: no query, no clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from pydantic import TypeAdapter

from guard.signals import Kind, Signal
from missioncontrol.decisions.models import AllowlistEntry, Autofix, Decision, Intervention
from missioncontrol.runs.lifecycle import Status
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import capabilities_of
from missioncontrol.wire.allowlist import AllowlistRow
from missioncontrol.wire.decisions import (
    PERMISSION,
    AutofixRow,
    CardEvidence,
    DecisionRow,
    InterventionAction,
    InterventionRow,
    VerdictRow,
)

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
    return DecisionRow(
        id=decision.id,
        project=run.project_id,
        run=run.id,
        run_name=run.name,
        # A tap on an open card names the run's version; a closed one shows where it closed.
        version=run.version if is_open else decision.version,
        status=cast(Any, decision.status),
        kind=decision.kind,
        detector=decision.detector,
        holds=decision.holds,
        agent_waiting=is_open and run.status == Status.HELD,
        agent=decision.agent,
        evidence=evidences.validate_python(decision.evidence),
        verdict=verdicts.validate_python(decision.verdict) if decision.verdict else None,
        actions=offered(decision.kind, decision.holds, run) if is_open else (),
        unavailable=unavailable(run) if is_open and decision.kind != PERMISSION else {},
        opened_at=decision.opened_at,
        expires_at=decision.expires_at,
        unanswered=cast(Any, run.project.unanswered),
        waiting_since=hold.waiting_since if hold else None,
        gave_up_at=hold.gave_up_at if hold else None,
        parked=is_open and run.parked,
        resolution=cast(Any, decision.resolution),
        resolved_by=decision.resolved_by,
        resolved_at=decision.resolved_at,
        intervention=cast(Any, answer),
    )


def intervention_row(made: Intervention, run: Run) -> InterventionRow:
    """Show an intervention."""
    return InterventionRow(
        id=made.id,
        project=run.project_id,
        run=run.id,
        decision=made.decision_id,
        key=made.key,
        action=cast(Any, made.action),
        status=cast(Any, made.status),
        by=made.by,
        message=made.message,
        version=made.version,
        at=made.at,
        delivered_at=made.delivered_at,
        acknowledged_at=made.acknowledged_at,
        new_run=made.new_run_id,
    )


def autofix_row(fix: Autofix, run: Run, *, delivered_at: datetime | None) -> AutofixRow:
    """Show an autofix."""
    return AutofixRow(
        id=fix.id,
        project=run.project_id,
        run=run.id,
        run_name=run.name,
        decision=fix.decision_id,
        text=fix.message.text,
        applied_at=fix.applied_at,
        delivered_at=delivered_at,
        recovered=fix.recovered,
        judged_at=fix.judged_at,
        turns_after=fix.turns_after,
        kind=fix.decision.kind,
        seq=fix.decision.signal["turns"][-1],
    )


def allowlist_row(entry: AllowlistEntry) -> AllowlistRow:
    """Show an allowlist entry."""
    return AllowlistRow(
        id=entry.id,
        project=entry.project_id,
        scope=cast(Any, entry.scope),
        run=entry.run_id,
        agent=entry.agent,
        pattern=entry.pattern,
        match=cast(Any, entry.match),
        hits=entry.hits,
        last_hit_at=entry.last_hit_at,
        expires_at=entry.expires_at,
        created_by=entry.created_by,
        created_at=entry.created_at,
        reason=entry.reason,
    )
