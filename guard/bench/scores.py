"""Figures of one policy on labelled runs, without F1.

In most collections of recorded runs, length alone nearly separates the classes: a
worthless rule that counts turns has a good F1. So read the share found together with
the false alarms per 1,000 healthy turns and the delay.
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

# Turns by which labelled starts of loops may be off (the corpus's own estimate).
SLACK = 2


# The standard normal quantile of a two-sided 95 % interval.
_Z = 1.96


class Outcome(StrEnum):
    """How the alarms of one run compare with its label."""

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
        turns: How many positions its file has, unreadable ones included.
        alarms: Positions of every turn at which a card would open, oldest first.
        detector: The detector that opened the first card.
        summary: Its evidence in one sentence.
        us: CPU microseconds the engine took, turn by turn.
    """

    labelled: Labelled
    turns: int
    alarms: tuple[int, ...] = ()
    detector: str | None = None
    summary: str = ""
    us: tuple[float, ...] = ()

    @property
    def alarm(self) -> int | None:
        """The first alarm."""
        return self.alarms[0] if self.alarms else None

    def found_at(self, slack: int = SLACK) -> int | None:
        """Return the first alarm inside a stuck stretch."""
        return next((at for at in self.alarms if self.labelled.stretch_at(at, slack=slack)), None)

    def false_alarms(self, slack: int = SLACK) -> list[int]:
        """Return the alarms outside every stuck stretch, except arguable ones."""
        # After only two attempts in vain, a careful reader could say either.
        weak, stretch_at = self.labelled.weak, self.labelled.stretch_at
        return [at for at in self.alarms if at not in weak and not stretch_at(at, slack=slack)]

    def outcome(self, slack: int = SLACK) -> Outcome:
        """Compare the alarms with the label; `slack` in turns."""
        false = bool(self.false_alarms(slack))
        # A run without a stuck stretch is healthy, however long it is.
        if not self.labelled.parts:
            return Outcome.FALSE if false else Outcome.QUIET
        # A found loop outweighs an earlier false alarm, which still counts per 1,000 turns.
        if self.found_at(slack) is not None:
            return Outcome.FOUND
        return Outcome.EARLY if false else Outcome.MISSED

    def delay(self, slack: int = SLACK) -> int | None:
        """Return the turns from where the loop was evident to the alarm; None: not found."""
        found = self.found_at(slack)
        stretch = None if found is None else self.labelled.stretch_at(found, slack=slack)
        return None if found is None or stretch is None else found - stretch.evident


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well a policy does on a set of runs.

    Attributes:
        found: Stuck runs with an alarm inside a stuck stretch (give or take the slack).
        early: Stuck runs with false alarms only.
        false: Healthy runs with a false alarm.
        false_alarms: All alarms outside stuck stretches, except arguable ones, in any run.
        on_last_turn: How many of these are at a run's last turn: the log's end, not a loop.
        healthy_turns: Turns outside every stuck stretch.
        delay_median: Turns from where a loop was evident to its alarm; None: none found.
        us_median: CPU microseconds per turn; None: not measured.
    """

    stuck: int
    found: int
    early: int
    missed: int
    healthy: int
    false: int
    false_alarms: int
    on_last_turn: int
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
        """False alarms per 1,000 healthy turns."""
        # Per turn, not per run: 2,000 turns give more occasions for an alarm than 20.
        return 1000 * self.false_alarms / max(1, self.healthy_turns)

    @property
    def found_interval(self) -> tuple[float, float] | None:
        """95 % interval of the share found (Wilson, 1927); None: there are no stuck runs."""
        return wilson(self.found, self.stuck) if self.stuck else None

    def as_row(self) -> dict[str, Any]:
        """Return plain JSON values."""
        interval = self.found_interval
        return {
            "stuck": self.stuck,
            "found": self.found,
            "found_share": rounded(self.found_share, 3),
            "found_interval": None if interval is None else [round(end, 3) for end in interval],
            "early": self.early,
            "missed": self.missed,
            "healthy": self.healthy,
            "false": self.false,
            "false_alarms": self.false_alarms,
            "on_last_turn": self.on_last_turn,
            "healthy_turns": self.healthy_turns,
            "false_alarms_per_1000": round(self.fa_per_1000, 2),
            "delay_median": self.delay_median,
            "delay_p90": self.delay_p90,
            "us_median": rounded(self.us_median, 1),
            "us_p99": rounded(self.us_p99, 1),
        }


def score(trials: Iterable[Trial], *, slack: int = SLACK) -> Score:
    """Count the loops that a policy found and missed, and its false alarms."""
    trials = list(trials)
    counts = Counter(trial.outcome(slack) for trial in trials)
    # Only of found loops: a missed one has no delay, and is counted as missed.
    delays = sorted(delay for trial in trials if (delay := trial.delay(slack)) is not None)
    wrong = [(trial.turns - 1, at) for trial in trials for at in trial.false_alarms(slack)]
    # Over the turns of all runs: medians per run would hide the slow turns of long runs.
    us = sorted(took for trial in trials for took in trial.us)
    return Score(
        stuck=counts[Outcome.FOUND] + counts[Outcome.EARLY] + counts[Outcome.MISSED],
        found=counts[Outcome.FOUND],
        early=counts[Outcome.EARLY],
        missed=counts[Outcome.MISSED],
        healthy=counts[Outcome.FALSE] + counts[Outcome.QUIET],
        false=counts[Outcome.FALSE],
        false_alarms=len(wrong),
        on_last_turn=sum(last == at for last, at in wrong),
        healthy_turns=sum(trial.labelled.healthy_turns(trial.turns) for trial in trials),
        delay_median=statistics.median(delays) if delays else None,
        delay_p90=quantile(delays, 0.9),
        us_median=statistics.median(us) if us else None,
        us_p99=quantile(us, 0.99),
    )


def score_by(
    trials: Sequence[Trial], name: Callable[[Labelled], str], *, slack: int = SLACK
) -> dict[str, Score]:
    """Score each group of runs separately, in alphabetical order of their names."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(name(trial.labelled), []).append(trial)
    return {group: score(groups[group], slack=slack) for group in sorted(groups)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """Averages over sources, each with the same weight however many runs it has.

    Attributes:
        found_share: Over the sources with stuck runs, in [0, 1]; None: there are none.
        fa_per_1000: Over all sources.
    """

    found_share: float | None
    fa_per_1000: float

    def as_row(self) -> dict[str, float | None]:
        """Return plain JSON values."""
        return {
            "found_share": rounded(self.found_share, 3),
            "false_alarms_per_1000": round(self.fa_per_1000, 2),
        }


def macro_average(by_source: Iterable[Score]) -> Macro:
    """Return the averages of the scores of several sources."""
    scores = list(by_source)
    shares = [share for one in scores if (share := one.found_share) is not None]
    return Macro(
        found_share=statistics.fmean(shares) if shares else None,
        fa_per_1000=statistics.fmean(one.fa_per_1000 for one in scores) if scores else 0.0,
    )


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest value that `share` of all values do not exceed.

    >>> quantile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9)
    9
    """
    # Not interpolated: a delay is a whole number of turns.
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def wilson(found: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson, 1927).

    >>> [round(end, 2) for end in wilson(9, 10)]
    [0.6, 0.98]
    """
    # The plain normal interval has no width if all of a few runs are found.
    share, square = found / of, _Z * _Z
    middle = share + square / (2 * of)
    spread = _Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return (middle - spread) / (1 + square / of), (middle + spread) / (1 + square / of)


def rounded(value: float | None, digits: int) -> float | None:
    """Round a figure; None stays None."""
    return None if value is None else round(value, digits)
