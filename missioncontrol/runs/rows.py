"""Runs and turns as wire rows.

Pure: no query, no clock. A list of turns stays small whatever they hold: long texts are cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from guard.adapters.capabilities import Capabilities
from guard.budget import UNITS
from guard.errors import PolicyInvalid
from guard.nature import ToolNature
from guard.policy import Policy, base_name, matching
from guard.turn import Phase, Role, Usage
from guard.turn import Turn as GuardTurn
from guard.wire import Mode
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import JournalRow, Run, TokenCounts, Turn
from missioncontrol.wire.rows import row_of
from missioncontrol.wire.runs import BudgetState, Meters, RunRow, TapePoint, TurnRow

BURN_MINUTES = 5
# The columns' precision in dollars: an amount that was added can be subtracted exactly.
MICRO = Decimal("0.000001")
# In the form that the database returns: the opening event equals what is read later.
ZERO_COST = Decimal(0).quantize(MICRO)
USAGE_COLUMNS = {
    "input": "input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write_5m": "cache_write_5m_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}


def usage_of(counted: TokenCounts) -> Usage:
    """Return the tokens counted for a run, or for one model call."""
    return Usage(**{name: getattr(counted, column) for name, column in USAGE_COLUMNS.items()})


def capabilities_of(run: Run) -> Capabilities:
    """Return what can be done to a run's agent, as its adapter declared it."""
    return Capabilities.read(run.capabilities)


def hold_outlives_session(run: Run) -> bool:
    """Tell whether an ended run is held again when it comes back."""
    return run.status in ENDED and run.hold is not None


def rules_of(run: Run) -> dict[str, Any]:
    """Return the policy a run follows: its own, or its project's."""
    # Not merged: a run is judged by the whole policy that its agent chose.
    rules: dict[str, Any] = run.policy or run.project.policy
    return rules


def stored_policy(mapping: Mapping[str, Any]) -> Policy | None:
    """Read a stored policy; None: an older release's, it names what no longer exists."""
    try:
        return Policy.from_mapping(mapping)
    except PolicyInvalid:
        return None


def ceilings_of(run: Run) -> dict[str, Any]:
    """Return every ceiling in force: the policy's, the project's, then the run's own.

    For an ended run, those it ended under; if these were not stored yet, its own alone.
    """
    # A project's ceilings change later; an ended run must not seem to have exceeded them.
    base = (run.meters.final_ceilings or {}) if run.status in ENDED else shared_ceilings(run)
    return {**base, **run.budget}


def shared_ceilings(run: Run) -> dict[str, Any]:
    """Return the ceilings that a run has from its policy and its project now."""
    rules = rules_of(run)
    ceilings = rules.get("budget") or _preset_ceilings(base_name(rules))
    for table in matching(rules.get("task_type") or {}, run.task_type):
        ceilings = table.get("budget") or ceilings
    return {**ceilings, **run.project.budget}


@cache
def _preset_ceilings(name: str | None) -> Mapping[str, Any]:
    """Return the ceilings of the preset with this name."""
    policy = stored_policy({"extends": name})
    budget = policy.budget if policy else None
    ceilings = {unit: getattr(budget, unit, None) for unit in UNITS}
    return {
        # Dollars as text, as every ceiling is kept: a float would not hold them exactly.
        unit: str(ceiling) if unit == "usd" else ceiling
        for unit, ceiling in ceilings.items()
        if ceiling is not None
    }


def burn_rate(run: Run, at: datetime) -> Decimal:
    """Return dollars per hour over the five minutes up to its last turn; 0 once that is long past.

    Measured at that turn, or at a later cost, not at `at`: a page that is opened later shows
    what the board was told.
    """
    last = run.meters.last_turn_at
    if last is None or at - last > timedelta(minutes=BURN_MINUTES):
        return Decimal(0)
    # Whole minutes: costs are stored by the minute, so that the column stays short. Telemetry may
    # report calls before their turns arrive.
    this_minute: int = max(
        [int(last.timestamp()) // 60, *(minute for minute, _ in run.meters.recent_costs)]
    )
    spent = sum(
        Decimal(cost)
        for minute, cost in run.meters.recent_costs
        if this_minute - minute < BURN_MINUTES
    )
    # A younger run is not averaged over minutes before it began.
    age = max(1, min(BURN_MINUTES, this_minute - int(run.started_at.timestamp()) // 60 + 1))
    # Finer than a cent: an agent with a cheap model must not seem to spend $0.00.
    return (Decimal(spent) * 60 / age).quantize(Decimal("0.0001"))


def round_dollars(amount: Decimal | None) -> Decimal:
    """Round a sum to the columns' precision: SQLite adds binary floating-point numbers."""
    return Decimal(amount or 0).quantize(MICRO).normalize() + Decimal(0)


def tape_of(points: list[Any]) -> tuple[TapePoint, ...]:
    """Return stored points as tape points."""
    return tuple((float(score), bool(changed)) for score, changed in points)


def run_row(run: Run, *, at: datetime) -> RunRow:
    """Return a run as its wire row."""
    return row_of(
        RunRow,
        run,
        **_meter_fields(run, at=at),
        mode=Mode(run.mode),
        # One card on the run, and one for each permission that its agent asks for.
        open_decisions=int(run.open_decision is not None) + run.meters.open_permissions,
        budget=ceilings_of(run),
        budget_state=BudgetState(**states[-1]) if (states := run.meters.notified_budgets) else None,
        unavailable=capabilities_of(run).unavailable(run.agent),
        relation=run.relation if run.parent_id else None,
        # A stored root names itself, so that one query finds a whole tree; on the wire it has none.
        root=run.root if run.root != run.id else None,
        tape=tape_of(run.meters.tape),
        seq=run.meters.event_seq,
        hold_stands=hold_outlives_session(run),
    )


def meters_row(run: Run, *, new_points: int, at: datetime) -> Meters:
    """Return what changes with every turn, with the last `new_points` of the tape only."""
    tape = tape_of(run.meters.tape[-new_points:] if new_points else [])
    return Meters(**_meter_fields(run, at=at), agent=run.agent, tape=tape)


# Columns of a run's meters that are sent as they are.
METER_FIELDS = (
    "cost_usd",
    "judge_cost_usd",
    "unpriced_calls",
    "doing",
    "model",
    "presence",
    "last_turn_at",
    "judged_turns",
)


def _meter_fields(run: Run, *, at: datetime) -> dict[str, Any]:
    """Return what a run's row and its meters both show, except the tape."""
    return {
        **{name: getattr(run.meters, name) for name in METER_FIELDS},
        "turns": run.meters.last_seq + 1,
        "usage": usage_of(run.meters),
        # Empty in the database, where the column has no NULL; absent on the wire.
        "usage_source": run.meters.usage_source or None,
        "calls": run.meters.tool_calls,
        "burn_usd_per_hour": burn_rate(run, at),
    }


def turn_row(turn: Turn, *, project: Any, brief: bool = False) -> TurnRow:
    """Return a turn as its wire row; `brief`: with long texts cut, for lists and live events."""
    # Built whole and then cut: only the few turns with a long text need `replace`.
    whole = row_of(
        TurnRow,
        turn,
        project=project,
        files=tuple(turn.files),
        usage=Usage(**turn.usage) if turn.usage else None,
        cut=(),
    )
    if not brief:
        return whole
    texts = {name: getattr(whole, name) for name in ("content", "result", "error")}
    long = {name: text for name, text in texts.items() if text and len(text) > MAX_TEXT}
    short: Any = {name: text[:MAX_TEXT] for name, text in long.items()}
    if (args := _shorten(whole.args)) != whole.args:
        short["args"] = args
    return replace(whole, cut=tuple(short), **short) if short else whole


# Without its score: a detector must not build on earlier verdicts.
def guard_turn(turn: Turn) -> GuardTurn:
    """Return a turn, as it is now, in the form that detectors read."""
    return row_of(
        GuardTurn,
        turn,
        role=Role(turn.role),
        phase=Phase(turn.phase),
        files=tuple(turn.files),
        usage=Usage(**turn.usage) if turn.usage else None,
        nature=ToolNature.from_mapping(turn.nature) if turn.nature else None,
        session=None,
    )


def observations_of(turn: Turn) -> Iterator[tuple[int, GuardTurn]]:
    """Yield the one or two observations that a row holds, each with its number."""
    whole = guard_turn(turn)
    if turn.first_obs != turn.obs:
        yield (
            turn.first_obs,
            replace(
                # The proposal came first, without the fields that only the outcome sets.
                whole,
                phase=Phase.PROPOSED,
                result=None,
                error=None,
                usage=None,
                cost_usd=None,
            ),
        )
    yield turn.obs, whole


def header(row: JournalRow) -> dict[str, Any]:
    """Return the hashed header of a journal row, less the digest and chain."""
    return {
        "project": str(row.project_id),
        "run": str(row.run_id) if row.run_id else None,
        "seq": row.seq,
        "type": row.type,
        "at": row.at.isoformat(),
        "by": row.by,
        "version": row.version,
        "status": row.status,
    }


# Characters of a content, result or error that a list or a live event carries.
MAX_TEXT = 4096

_MAX_ARG = 1024
_MAX_MEMBERS = 32
_MAX_DEPTH = 5


def _shorten(value: Any, depth: int = 0) -> Any:
    """Return a value with its long texts, long lists and deep levels cut.

    >>> _shorten({"command": "ls", "n": 1})
    {'command': 'ls', 'n': 1}
    """
    if isinstance(value, str):
        return value[:_MAX_ARG]
    if not isinstance(value, dict | list):
        return value
    if depth >= _MAX_DEPTH:
        return "…"
    if isinstance(value, list):
        return [_shorten(part, depth + 1) for part in value[:_MAX_MEMBERS]]
    kept = list(value.items())[:_MAX_MEMBERS]
    # Names are cut too: they are an agent's text as much as the values.
    return {name[:_MAX_ARG]: _shorten(part, depth + 1) for name, part in kept}
