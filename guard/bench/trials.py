"""Labelled runs through policies: every policy once over every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from guard.bench.labels import Labelled
from guard.bench.scores import Trial
from guard.formats import read_recording
from guard.policy import Policy
from guard.progress import progress
from guard.replay import replay

TURN_COUNTS = (10, 25, 30)
"""The plain rule that stands beside every figure: alarm at this turn."""


def try_policies(
    runs: Sequence[Labelled], policies: Mapping[str, Policy]
) -> dict[str, list[Trial]]:
    """Replay each run under each policy; one recording is in memory at a time.

    Raises:
        UnreadableRecording: a labelled run has no readable turn file.
    """
    trials: dict[str, list[Trial]] = {name: [] for name in policies}
    for labelled in progress(runs, total=len(runs), what="runs"):
        recording = read_recording(labelled.path)
        for name, policy in policies.items():
            replayed = replay(recording, policy)
            trials[name].append(
                Trial(
                    labelled=labelled,
                    turns=replayed.turns,
                    alarm=replayed.first_alarm,
                    detector=replayed.detector,
                    summary=replayed.alarm.evidence.summary if replayed.alarm else "",
                    us=replayed.us,
                )
            )
    return trials


def count_turns(trials: Iterable[Trial], at: int) -> list[Trial]:
    """Give what the rule "alarm at turn `at`" does on the same runs."""
    return [
        Trial(
            labelled=trial.labelled,
            turns=trial.turns,
            alarm=at if trial.turns > at else None,
            detector=f"turn {at}",
        )
        for trial in trials
    ]
