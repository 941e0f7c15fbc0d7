"""Labelled runs through policies: every policy once over every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from guard.bench.forms import FORMS
from guard.bench.labels import Labelled
from guard.bench.scores import Trial
from guard.formats import Recording, read_recording
from guard.policy import Policy
from guard.printing import progress
from guard.reading.normalize import canonical_json
from guard.replay import replay
from guard.turn import Role

# The rule of OpenCode and Cline: the same tool and arguments, three times in a row.
IDENTICAL_CALLS = "three identical calls"
_IDENTICAL = 3

# The plain rule that stands beside every figure: alarm at this turn.
TURN_COUNTS = (10, 25, 30)


def try_policies(
    runs: Sequence[Labelled], policies: Mapping[str, Policy]
) -> dict[str, list[Trial]]:
    """Replay each run under each policy; one recording is in memory at a time.

    Raises:
        UnreadableRecording: a labelled run has no readable turn file.
    """
    trials: dict[str, list[Trial]] = {name: [] for name in (*policies, IDENTICAL_CALLS)}
    for labelled in progress(runs, total=len(runs), what="runs"):
        recording = read_recording(labelled.path)
        trials[IDENTICAL_CALLS].append(count_identical(labelled, recording))
        # All policies beside one reading of the file: runs are long, and a corpus does not fit
        # memory.
        for name, policy in policies.items():
            replayed = replay(recording, policy)
            trials[name].append(
                Trial(
                    labelled=labelled,
                    turns=len(recording.turns),
                    alarms=tuple(alarm.index for alarm in replayed.alarms),
                    detector=replayed.detector,
                    summary=replayed.alarm.evidence.summary if replayed.alarm else "",
                    us=replayed.us,
                )
            )
    return trials


def try_forms(runs: Sequence[Labelled], policy: Policy) -> dict[str, list[Trial]]:
    """Replay each run under one policy, told in every form; labels stay what they are.

    Raises:
        UnreadableRecording: a labelled run has no readable turn file.
    """
    trials: dict[str, list[Trial]] = {name: [] for name in FORMS}
    for labelled in progress(runs, total=len(runs), what="runs in every form"):
        recording = read_recording(labelled.path)
        for name, tell in FORMS.items():
            retold = tell(recording.turns)
            replayed = replay(replace(recording, turns=tuple(one.turn for one in retold)), policy)
            # Back to the recorded turn, which is what the label speaks of.
            alarms = [retold[alarm.index].origin for alarm in replayed.alarms]
            trials[name].append(
                Trial(labelled=labelled, turns=len(recording.turns), alarms=tuple(alarms))
            )
    return trials


def count_identical(labelled: Labelled, recording: Recording) -> Trial:
    """Give what the rule "three identical calls in a row" does on a run."""
    # At the third alone: a fourth is the same loop.
    alarms, row = [], 0
    last: tuple[str, str] | None = None
    for place, turn in enumerate(recording.turns):
        if turn is None or turn.tool is None or turn.role is Role.TOOL:
            continue
        call = turn.tool, canonical_json(turn.args)
        row = row + 1 if call == last else 1
        last = call
        if row == _IDENTICAL:
            alarms.append(place)
    return Trial(
        labelled=labelled,
        turns=len(recording.turns),
        alarms=tuple(alarms),
        detector=IDENTICAL_CALLS,
    )


def count_turns(trials: Iterable[Trial], at: int) -> list[Trial]:
    """Give what the rule "alarm at turn `at`" does on the same runs."""
    return [
        Trial(
            labelled=trial.labelled,
            turns=trial.turns,
            # A run that is over by then has no such turn.
            alarms=(at,) if trial.turns > at else (),
            detector=f"turn {at}",
        )
        for trial in trials
    ]
