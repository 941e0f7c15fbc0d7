"""Leave one source out: thresholds chosen on the others, scored on it.

It tells how much of a figure is thresholds that fit these very runs. It does not
tell how much of it is structure that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from typing import Any

from guard.bench.scores import SLACK, Score, Trial, score
from guard.policy import Policy

Grid = Mapping[str, Sequence[float]]
Point = tuple[float, ...]

# The main thresholds: what is tried beside the policy's own value.
GRID: Grid = {
    "exact_repeat.repeats": (3, 4),
    "semantic_repeat.threshold": (0.86, 0.92),
    "same_error.in_a_row": (4, 5, 6),
    "same_error.near": (3, 4),
    "recurrence.moved": (0.1, 0.2, 0.3),
    "stagnation.known": (6, 8),
    "stall.evidence": (4.0, 5.0, 6.0),
}
PENALTY = 3
"""How many found loops one false or early alarm costs."""


def grid_points(base: Policy, grid: Grid = GRID) -> list[Point]:
    """Give every combination of values; the first is the policy as it is."""
    own = [_value_at(base, path) for path in grid]
    axes = [dict.fromkeys((mine, *others)) for mine, others in zip(own, grid.values(), strict=True)]
    return list(product(*axes))


def policy_at(base: Policy, point: Point, grid: Grid = GRID) -> Policy:
    """Give the base policy with the thresholds of one point.

    >>> from guard.policy import DEFAULT_POLICY
    >>> policy_at(DEFAULT_POLICY, (5,), {"exact_repeat.repeats": (3, 5)}).exact_repeat.repeats
    5
    """
    values: dict[str, Any] = deepcopy(base.as_mapping())
    for path, value in zip(grid, point, strict=True):
        section, name = path.split(".")
        values[section][name] = value
    return Policy.from_mapping(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One source, judged with thresholds that were chosen without it."""

    source: str
    chosen: dict[str, float]
    trials: tuple[Trial, ...]
    score: Score


def leave_one_out(
    trials: Mapping[Point, Sequence[Trial]], *, slack: int = SLACK, grid: Grid = GRID
) -> list[LeftOut]:
    """Choose on all sources but one, score on that one, for each source.

    Args:
        trials: Every grid point's trials over all runs; the first is the usual one.
        slack: Turns by which labelled starts may be off.
        grid: What the points' values mean.
    """
    sources = sorted({trial.labelled.source for some in trials.values() for trial in some})
    return [_leave_out(source, trials, slack, grid) for source in sources]


def objective(figures: Score) -> int:
    """What is maximised: loops found, less `PENALTY` for each false or early alarm."""
    return figures.found - PENALTY * (figures.false + figures.early)


def _value_at(policy: Policy, path: str) -> float:
    section, name = path.split(".")
    value: float = getattr(getattr(policy, section), name)
    return value


def _leave_out(
    source: str, trials: Mapping[Point, Sequence[Trial]], slack: int, grid: Grid
) -> LeftOut:
    usual = next(iter(trials))

    def worth(point: Point) -> tuple[int, int]:
        others = [trial for trial in trials[point] if trial.labelled.source != source]
        changed = sum(one != common for one, common in zip(point, usual, strict=True))
        # Between equals the one nearest to the policy as it is.
        return objective(score(others, slack=slack)), -changed

    best = max(trials, key=worth)
    own = tuple(trial for trial in trials[best] if trial.labelled.source == source)
    return LeftOut(
        source=source,
        chosen=dict(zip(grid, best, strict=True)),
        trials=own,
        score=score(own, slack=slack),
    )
