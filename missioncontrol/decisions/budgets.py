"""Ceilings: a run's own, and those that the runs of a project share.

Locks: to change a project's ceilings, lock the project's row first, then its runs in id
order (`spending` describes the rest). `journal.lock_project` locks the project;
`organisation.lock_organisation` comes before it if the ceiling is that of all projects.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from guard.budget import ANY_AGENT, WARN_AT, Budget, Spent
from guard.detectors.budget import budget_signal
from guard.errors import PolicyInvalid
from guard.signals import Assessment, Kind, Signal
from missioncontrol.accounts.models import Project
from missioncontrol.costs.spending import (
    ORGANISATION,
    SHARED_SCOPES,
    SHARED_UNITS,
    TREE,
    SharedCounters,
    counter_name,
    day_of,
)
from missioncontrol.costs.trees import (
    Ancestors,
    ancestor_signals,
    spent_by_tree,
    tree_ceilings,
)
from missioncontrol.decisions import cards
from missioncontrol.decisions.models import Decision
from missioncontrol.decisions.rows import OPEN_STATUSES
from missioncontrol.errors import InvalidRequest
from missioncontrol.notify import services as notices
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import ceilings_of, round_dollars
from missioncontrol.wire.events import BudgetCrossed
from missioncontrol.wire.runs import BudgetState

logger = logging.getLogger(__name__)

Ceilings = Mapping[str, Any]
# Unit -> the ceiling before and after.
CeilingChanges = dict[str, tuple[str | None, str]]


def check_budgets(given: Ceilings) -> dict[str, Any]:
    """Check the value that a person sets as `budgets`, scope by scope.

    Raises:
        PolicyInvalid: a field is wrong; the error names it.
    """
    for scope, value in given.items():
        path = f"budgets.{scope}"
        # The organisation's ceiling is missing on purpose: a project cannot set it.
        if scope not in {"run", "project", "day", "agents"}:
            raise PolicyInvalid(path, "one of agents, day, project, run", scope)
        if scope == "agents":
            for name, ceilings in _check_table(value, path, "agents").items():
                _check_ceilings(ceilings, f"{path}.{name}", shared=True)
        else:
            _check_ceilings(value, path, shared=scope != "run")
    return dict(given)


def ceilings_of_scope(project: Project, scope: str, name: str, *, at: datetime) -> Budget | None:
    """Return the ceilings that the runs of a project share in a scope, if any.

    Ceilings that cannot be read count as none and are logged: judging goes on.
    """
    if scope == "agent":
        agents = project.budgets.get("agents") or {}
        # The ceilings for any agent apply to an agent that has none of its own.
        # A turn without a name counts towards no agent's ceiling: it could be anybody's.
        found = agents.get(name) or agents.get(ANY_AGENT) if name else None
    elif scope == ORGANISATION:
        found = project.organisation_budget
    else:
        found = project.budgets.get(scope)
    if not found:
        return None
    extra: Mapping[str, str] = {}  # added to a day's ceilings, for that day only
    if scope == "day":
        extra = extra_today(project, at=at)
    elif scope == ORGANISATION:
        extra = extra_of_day(name, project.organisation_extra or {})
    try:
        more = {
            unit: str(Decimal(str(limit)) + Decimal(extra[unit]))
            for unit, limit in found.items()
            if unit in extra and limit is not None
        }
        return Budget.from_mapping({**found, **more}, path=f"budgets.{scope}")
    except (PolicyInvalid, ArithmeticError) as error:
        _log_unreadable(project.id, scope, str(error))
        return None


def add_shared_signals(
    run: Run,
    assessment: Assessment,
    counters: SharedCounters,
    ancestors: Ancestors,
    *,
    agent: str,
    at: datetime,
) -> Assessment:
    """Add the signals of shared ceilings after the run's own ceilings and before loops."""
    shared = [*ancestor_signals(run, ancestors, counters, seq=assessment.seq, at=at)]
    for scope in SHARED_SCOPES:
        name = counter_name(scope, run.project, agent, at=at)
        ceilings = ceilings_of_scope(run.project, scope, name, at=at)
        # Most projects share no ceiling: then nothing more is read.
        if ceilings is None:
            continue
        spent = counters.spent(run.project, scope, name)
        signal = budget_signal(ceilings, spent, seq=assessment.seq, scope=scope, whose=name or None)
        if signal is not None and scope == ORGANISATION:
            # Only the ceiling: not everybody here may know what other projects spent.
            state = "is reached" if signal.trips else "is nearly used up"
            total = signal.evidence.ceiling
            summary = f"The organisation's budget of ${total} for today {state}."
            evidence = replace(signal.evidence, summary=summary, spent=None)
            signal = replace(signal, score=1.0 if signal.trips else WARN_AT, evidence=evidence)
        shared += [signal] if signal else []
    # Budgets before loops: for a run over its budget, that is the question to ask.
    own = [signal for signal in assessment.signals if signal.kind is Kind.BUDGET]
    rest = [signal for signal in assessment.signals if signal.kind is not Kind.BUDGET]
    return replace(assessment, signals=(*own, *shared, *rest))


def new_crossings(run: Run, signals: Iterable[Signal]) -> tuple[Signal, ...]:
    """Return the signals of ceilings, near or reached, that people were not told of yet."""
    fresh: dict[tuple[Any, ...], Signal] = {}
    for signal in signals:
        if signal.kind is Kind.BUDGET:
            # Of two signals that people would read as the same, keep the first.
            fresh.setdefault(_state_identity(_state_of(signal)), signal)
    # Read only if there is such a signal: this is called at every turn.
    known = {_state_identity(state) for state in run.meters.notified_budgets} if fresh else set()
    return tuple(signal for state, signal in fresh.items() if state not in known)


def record_crossing(tx: RunTransaction, run: Run, signal: Signal) -> None:
    """Record that a ceiling is nearly reached, or reached."""
    state = _state_of(signal)
    run.meters.notified_budgets = [*run.meters.notified_budgets, state]
    tx.record(run, BudgetCrossed, by="guard", **state)
    if not signal.trips:
        notices.notify_near_ceiling(run, state, at=tx.at)


def raise_run_ceilings(
    run: Run, more: Ceilings, *, whose: str | None, at: datetime
) -> CeilingChanges:
    """Raise ceilings of a run, or of one agent in it; return them before and after."""
    now, spent = ceilings_of(run), spent_by_tree(run, SharedCounters([run], at=at), at=at)
    if whose:
        agents = dict(now.get("agents") or {})
        before = agents.get(whose) or agents.get(ANY_AGENT) or {}
        raised = _raised_ceilings(before, spent.agents.get(whose, Spent()), more)
        own: dict[str, Any] = {"agents": {**agents, whose: {**before, **raised}}}
    else:
        before, raised = now, _raised_ceilings(now, spent, more)
        own = raised
    # Checked before anything is stored: it raises if the new ceiling is out of bounds.
    Budget.from_mapping(own)
    # The run's own ceilings win over its project's, so raising one lowers no other.
    run.budget = {**run.budget, **own}
    return {
        unit: (None if before.get(unit) is None else str(before[unit]), str(ceiling))
        for unit, ceiling in raised.items()
    }


def raise_shared_ceilings(
    project: Project, scope: str, name: str, more: Ceilings, *, by: str, at: datetime
) -> None:
    """Raise ceilings that runs share; those of a day for that day only.

    The caller holds the project's row lock. Ceilings of a past day are left alone: what they
    held goes on anyway.

    Raises:
        InvalidRequest: there is no such ceiling.
        PolicyInvalid: the raised ceiling would be out of bounds.
    """
    # A card may be answered after midnight: then it does not mean today's ceiling.
    if scope == "day" and name != day_of(project, at):
        return
    agents = {name} if scope == "agent" else set()
    # Start from what was spent, not only from the old ceiling, which may be far below.
    spent = SharedCounters([], agents=agents, at=at, projects=[project]).spent(project, scope, name)
    ceilings = ceilings_of_scope(project, scope, name, at=at)
    for unit in more:
        if ceilings is None or unit not in SHARED_UNITS or getattr(ceilings, unit) is None:
            raise InvalidRequest(f"amount.{unit}: there is no such budget to raise.")
    raised = _raised_ceilings({unit: getattr(ceilings, unit) for unit in more}, spent, more)
    Budget.from_mapping(raised, path=f"budgets.{scope}")
    what, value = _changed_field(project, scope, name, raised, at=at)
    before = getattr(project, what)
    setattr(project, what, value)
    project.save(update_fields=[what])
    journal.record_change(project.id, what, before, value, by=by, at=at)


def live_run_ids(project: UUID | None = None) -> list[UUID]:
    """Return the live runs of a project, or of all projects: a change of ceilings affects them."""
    found = Run.objects.exclude(status__in=ENDED)
    if project is not None:
        found = found.filter(project_id=project)
    return list(found.values_list("id", flat=True))


def apply_new_ceilings(tx: RunTransaction, *, by: str, of: Run | None = None) -> None:
    """Record what the ceilings of runs are now, and release what the old ones held.

    Every run of the transaction gets an event. If only the ceilings `of` one run changed, that
    run gets one, and the runs of its tree that were told of them. Who changed them, and by how
    much, is in one row: the project's or the tap's.
    """
    runs = tx.runs.values()
    # Read once for all runs: a project's change affects every open run.
    shown = Decision.objects.filter(pk__in=[run.open_decision for run in runs], kind=Kind.BUDGET)
    evidences = shown.values_list("evidence", flat=True)
    agents = {one.get("whose") or "" for one in evidences if one.get("scope") == "agent"}
    counters, ancestors = SharedCounters(runs, agents=agents, at=tx.at), Ancestors(runs)
    for run in runs:
        states = run.meters.notified_budgets
        if of is None or run is of or any(one["whose"] == str(of.id) for one in states):
            tx.raise_version(run)
            # What people were told of the old ceilings is obsolete.
            run.meters.notified_budgets = []
            tx.record_state(run, by="policy", reason="budget changed", budget=ceilings_of(run))
        if run.open_decision is not None:
            _release_if_below(tx, run, counters, ancestors, by=by)


def release_for_new_day(*, at: datetime) -> None:
    """Release the agents held by the ceiling of a past day: the new day has its own."""
    of_days = Decision.objects.filter(evidence__scope__in=["day", ORGANISATION])
    held = of_days.filter(status__in=OPEN_STATUSES, kind=Kind.BUDGET)
    for decision in held.select_related("run__project"):
        evidence = decision.evidence
        if evidence["whose"] == counter_name(evidence["scope"], decision.run.project, "", at=at):
            continue
        with journal.lock_run(decision.run_id, at=at) as (tx, run):
            # It was answered while this waited for the run's lock.
            if run.open_decision != decision.id:
                continue
            reason = "a new day began"
            cards.settle_card(tx, run, decision, resolution="proceed", by="policy", reason=reason)


def _release_if_below(
    tx: RunTransaction, run: Run, counters: SharedCounters, ancestors: Ancestors, *, by: str
) -> None:
    """Close a budget's card whose ceiling is no longer reached; a pause stays."""
    decision = run.decisions.get(pk=cast(UUID, run.open_decision))
    if decision.kind != Kind.BUDGET:
        return
    evidence = decision.evidence
    scope, whose = evidence.get("scope") or "run", evidence.get("whose") or ""
    if scope == TREE:
        owner = ancestors.get(UUID(whose))
        budget = tree_ceilings(owner) if owner else None
        spent = spent_by_tree(owner, counters, at=tx.at) if owner else Spent()
    elif scope == "run":
        budget = Budget.from_mapping(ceilings_of(run))
        spent = spent_by_tree(run, counters, at=tx.at)
        if whose:
            # The card was about one agent's ceiling within the run.
            budget, spent = budget.of_agent(whose), spent.agents.get(whose, Spent())
    else:
        budget = ceilings_of_scope(run.project, scope, whose, at=tx.at)
        spent = counters.spent(run.project, scope, whose)
    limit = getattr(budget, evidence["unit"], None)
    if limit is not None and getattr(spent, evidence["unit"]) >= limit:
        return
    reason = "budget raised"
    cards.settle_card(tx, run, decision, resolution="allow_budget", by=by, reason=reason)


def _state_of(signal: Signal) -> dict[str, Any]:
    evidence = signal.evidence
    return asdict(
        BudgetState(
            scope=cast(Any, evidence.scope or "run"),
            whose=evidence.whose,
            unit=evidence.unit or "usd",
            level="reached" if signal.score >= 1.0 else "warning",
            spent=evidence.spent or "",
            ceiling=evidence.ceiling or "",
            share=round(signal.score, 3),
        )
    )


def _state_identity(state: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(state[name] for name in ("scope", "whose", "unit", "level", "ceiling"))


def _raised_ceilings(now: Ceilings, spent: Spent, more: Ceilings) -> dict[str, Any]:
    """Return each named ceiling, raised so that `more` can still be spent.

    A ceiling that was not set, or is below what was spent, is raised from what was spent.
    """
    raised: dict[str, Any] = {}
    for unit, value in more.items():
        used, step = round_dollars(Decimal(str(getattr(spent, unit)))), Decimal(str(value))
        ceiling = max(Decimal(str(now.get(unit) or 0)), used) + step
        raised[unit] = str(ceiling) if unit == "usd" else int(ceiling)
    return raised


def _changed_field(
    project: Project, scope: str, name: str, raised: dict[str, Any], *, at: datetime
) -> tuple[str, dict[str, Any]]:
    """Return which field of the project changes, and its new value."""
    if scope == "day":
        # For today only: the day's own ceiling stays, and applies again tomorrow.
        set_ = project.budgets["day"]
        more = {
            unit: str(Decimal(str(value)) - Decimal(str(set_[unit])))
            for unit, value in raised.items()
        }
        return "day_extra", {
            "day": day_of(project, at),
            "more": {**extra_today(project, at=at), **more},
        }
    if scope == "agent":
        agents = dict(project.budgets.get("agents") or {})
        # An agent that had the ceilings for any agent gets its own, starting from those.
        agents[name] = {**(agents.get(name) or agents.get(ANY_AGENT) or {}), **raised}
        return "budgets", {**project.budgets, "agents": agents}
    return "budgets", {**project.budgets, scope: {**project.budgets[scope], **raised}}


def extra_today(project: Project, *, at: datetime) -> dict[str, str]:
    """Return what was allowed in addition to today's ceilings, by unit."""
    return extra_of_day(day_of(project, at), project.day_extra)


def extra_of_day(day: str, kept: Mapping[str, Any]) -> dict[str, str]:
    """Return the stored extra by unit if it is for this day, otherwise nothing."""
    more: dict[str, str] = kept["more"] if kept.get("day") == day else {}
    return more


@lru_cache(maxsize=256)
def _log_unreadable(project: UUID, scope: str, fault: str) -> None:
    """Log an unreadable budget once, not at every turn."""
    logger.error("the budgets of project %s (%s) cannot be read: %s", project, scope, fault)


def _check_ceilings(value: object, path: str, *, shared: bool) -> None:
    ceilings = _check_table(value, path, "ceilings")
    for unit in ceilings:
        if shared and unit not in SHARED_UNITS:
            raise PolicyInvalid(f"{path}.{unit}", f"one of {', '.join(sorted(SHARED_UNITS))}", unit)
    Budget.from_mapping(ceilings, path=path)


def _check_table(value: object, path: str, of: str) -> Ceilings:
    if not isinstance(value, Mapping):
        raise PolicyInvalid(path, f"a table of {of}", value)
    return value
