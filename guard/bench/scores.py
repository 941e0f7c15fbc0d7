"""Figures of one policy over labelled runs. F1 is not among them.

Run length nearly separates the classes in most collections of recorded runs, so
that a rule which counts turns has a fine F1 and is worthless: read what is found
beside the false alarms per 1,000 healthy turns and the delay.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from guard.bench.labels import Labelled

SLACK = 2
"""Turns by which labelled loop starts may be off (the corpus's own estimate)."""


class Outcome(StrEnum):
    """What one run's first alarm is worth."""

    FOUND = "found"
    EARLY = "early"
    MISSED = "missed"
    FALSE = "false"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One labelled run under one policy.

    Attributes:
        labelled: The run.
        turns: How many of its turns could be read.
        alarm: Position of the first turn at which a card would open.
        detector: What opened it.
        summary: Its evidence in one sentence.
        us: CPU microseconds the engine took, turn by turn.
    """

    labelled: Labelled
    turns: int
    alarm: int | None
    detector: str | None = None
    summary: str = ""
    us: tuple[float, ...] = ()

    def outcome(self, slack: int = SLACK) -> Outcome:
        """Hold the alarm against the label; `slack` in turns."""
        start = self.labelled.loop_start
        if start is None:
            return Outcome.QUIET if self.alarm is None else Outcome.FALSE
        if self.alarm is None:
            return Outcome.MISSED
        return Outcome.FOUND if self.alarm >= start - slack else Outcome.EARLY

    @property
    def healthy_turns(self) -> int:
        """Turns in which an alarm would be false: all, or those before the loop."""
        start = self.labelled.loop_start
        return self.turns if start is None else start


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a policy is worth on some runs.

    Attributes:
        found: Stuck runs alarmed at or after their labelled start (less the slack).
        early: Stuck runs alarmed before it: false alarms too.
        false: Healthy runs alarmed.
        healthy_turns: Turns of healthy runs and healthy parts of stuck ones.
        delay_median: Turns from the labelled start to the alarm; None: none found.
        us_median: CPU microseconds a turn; None: not measured.
    """

    stuck: int
    found: int
    early: int
    missed: int
    healthy: int
    false: int
    healthy_turns: int
    delay_median: float | None
    delay_p90: float | None
    us_median: float | None
    us_p99: float | None

    @property
    def found_share(self) -> float | None:
        """Share of stuck runs found, in [0, 1]; None: there are none."""
        return self.found / self.stuck if self.stuck else None

    @property
    def fa_per_1000(self) -> float:
        """False and early alarms per 1,000 healthy turns."""
        return 1000 * (self.false + self.early) / max(1, self.healthy_turns)

    def as_row(self) -> dict[str, Any]:
        """Give plain JSON values."""
        share = self.found_share
        return {
            "stuck": self.stuck,
            "found": self.found,
            "found_share": None if share is None else round(share, 3),
            "early": self.early,
            "missed": self.missed,
            "healthy": self.healthy,
            "false": self.false,
            "healthy_turns": self.healthy_turns,
            "false_alarms_per_1000": round(self.fa_per_1000, 2),
            "delay_median": self.delay_median,
            "delay_p90": self.delay_p90,
            "us_median": _rounded(self.us_median),
            "us_p99": _rounded(self.us_p99),
        }


def score(trials: Iterable[Trial], *, slack: int = SLACK) -> Score:
    """Count what a policy found, missed and cried wolf about."""
    trials = list(trials)
    counts = Counter(trial.outcome(slack) for trial in trials)
    delays = _delays(trials, slack)
    us = sorted(took for trial in trials for took in trial.us)
    return Score(
        stuck=counts[Outcome.FOUND] + counts[Outcome.EARLY] + counts[Outcome.MISSED],
        found=counts[Outcome.FOUND],
        early=counts[Outcome.EARLY],
        missed=counts[Outcome.MISSED],
        healthy=counts[Outcome.FALSE] + counts[Outcome.QUIET],
        false=counts[Outcome.FALSE],
        healthy_turns=sum(trial.healthy_turns for trial in trials),
        delay_median=statistics.median(delays) if delays else None,
        delay_p90=quantile(delays, 0.9),
        us_median=statistics.median(us) if us else None,
        us_p99=quantile(us, 0.99),
    )


def score_by(
    trials: Sequence[Trial], name: Callable[[Labelled], str], *, slack: int = SLACK
) -> dict[str, Score]:
    """Score each group of runs apart, groups in alphabetical order."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(name(trial.labelled), []).append(trial)
    return {group: score(groups[group], slack=slack) for group in sorted(groups)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """The average over sources, each counting the same however many runs it has.

    Attributes:
        found_share: Over the sources with stuck runs, in [0, 1]; None: there are none.
        fa_per_1000: Over all sources.
    """

    found_share: float | None
    fa_per_1000: float

    def as_row(self) -> dict[str, float | None]:
        """Give plain JSON values."""
        share = self.found_share
        return {
            "found_share": None if share is None else round(share, 3),
            "false_alarms_per_1000": round(self.fa_per_1000, 2),
        }


def macro_average(by_source: Iterable[Score]) -> Macro:
    """Average scores source by source."""
    scores = list(by_source)
    shares = [share for one in scores if (share := one.found_share) is not None]
    return Macro(
        found_share=statistics.fmean(shares) if shares else None,
        fa_per_1000=statistics.fmean(one.fa_per_1000 for one in scores) if scores else 0.0,
    )


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Give the smallest value that `share` of all values do not exceed.

    >>> quantile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9)
    9
    """
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _delays(trials: Iterable[Trial], slack: int) -> list[int]:
    return sorted(
        trial.alarm - trial.labelled.loop_start
        for trial in trials
        if trial.outcome(slack) is Outcome.FOUND
        and trial.alarm is not None
        and trial.labelled.loop_start is not None
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
