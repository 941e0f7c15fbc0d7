"""Trials of policies on labelled runs, and on the scenarios of other projects' tests.

Other projects test their own detectors with these scenarios: do we agree? A file holds one
project's cases, `{"suite", "note", "cases": [...]}`. A case has turns, the project's expectation
and its portability: `core` (any loop detector should agree), `threshold` (it depends on the
suite's own limits), `args_only` (it has no results), `suite_specific` (a rule of that project).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from guard.bench.forms import FORMS
from guard.bench.labels import Labelled
from guard.bench.scores import Trial
from guard.errors import UnreadableRecording
from guard.formats import Recording, read_recording
from guard.formats.fields import read_turn
from guard.policy import DEFAULT_POLICY, Policy
from guard.printing import progress
from guard.reading.normalize import canonical_json
from guard.replay import replay
from guard.turn import Role

# The rule of OpenCode and Cline: the same tool and arguments three times in a row.
IDENTICAL_CALLS = "three identical calls"
_IDENTICAL = 3

# Baseline rules, reported with every figure: alarm at this turn.
TURN_COUNTS = (10, 25, 30)
# A loop must be caught at most so many turns after a suite's own verdict.
LATER = 2


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
        # Each file is read once for all policies: runs are long, and a corpus does not fit into
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
    """Replay each run in every form under one policy; the labels stay the same.

    Raises:
        UnreadableRecording: a labelled run has no readable turn file.
    """
    trials: dict[str, list[Trial]] = {name: [] for name in FORMS}
    for labelled in progress(runs, total=len(runs), what="runs in every form"):
        recording = read_recording(labelled.path)
        for name, tell in FORMS.items():
            retold = tell(recording.turns)
            replayed = replay(replace(recording, turns=tuple(one.turn for one in retold)), policy)
            # The recorded turn, to which the label refers.
            alarms = [retold[alarm.index].origin for alarm in replayed.alarms]
            trials[name].append(
                Trial(labelled=labelled, turns=len(recording.turns), alarms=tuple(alarms))
            )
    return trials


def count_identical(labelled: Labelled, recording: Recording) -> Trial:
    """Return the trial of the rule "three identical calls in a row" on a run."""
    # Only at the third call: a fourth is the same loop.
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
    """Return the trials of the rule "alarm at turn `at`" on the same runs."""
    return [
        Trial(
            labelled=trial.labelled,
            turns=trial.turns,
            # A shorter run has no such turn.
            alarms=(at,) if trial.turns > at else (),
            detector=f"turn {at}",
        )
        for trial in trials
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One scenario: turns and its project's verdict on them.

    Attributes:
        portability: To which detectors it applies; see the module.
        stuck: Whether the project expects an alarm.
        at_turn: Where it expects its own alarm, first turn 0; None: anywhere.
    """

    id: str
    portability: str
    recording: Recording
    stuck: bool
    at_turn: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The result of a policy on a scenario."""

    case: Case
    alarm: int | None

    @property
    def agrees(self) -> bool:
        """Quiet if quiet is expected; otherwise an alarm within `LATER` turns of the verdict."""
        if not self.case.stuck:
            return self.alarm is None
        if self.alarm is None:
            return False
        # An alarm before the suite's own verdict is fine: other detectors have other limits.
        return self.case.at_turn is None or self.alarm <= self.case.at_turn + LATER

    def __str__(self) -> str:
        wanted = "quiet" if not self.case.stuck else f"stuck at {self.case.at_turn}"
        got = "quiet" if self.alarm is None else f"alarm at {self.alarm}"
        return f"{self.case.id}: expected {wanted}, {got}"


def read_cases(folder: Path) -> list[Case]:
    """Read every suite of a folder, in alphabetical order.

    Raises:
        UnreadableRecording: the folder holds no scenario, or a broken one.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            for row in json.loads(path.read_text())["cases"]:
                # An unreadable turn stays as None, so that later ones keep the places that
                # `at_turn` counts.
                turns = tuple(read_turn(turn, seq=seq) for seq, turn in enumerate(row["turns"]))
                case = Case(
                    id=str(row["id"]),
                    portability=str(row["portability"]),
                    recording=Recording(run=str(row["id"]), turns=turns),
                    stuck=row["expected"]["verdict"] != "not_stuck",
                    at_turn=row["expected"]["at_turn"],
                )
                found.append(case)
        # If a broken suite were skipped, its cases would go missing from the count unnoticed.
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UnreadableRecording(str(path), "is no suite of scenarios") from error
    if not found:
        raise UnreadableRecording(str(folder), "holds no scenario")
    return found


def rule_on(case: Case, policy: Policy = DEFAULT_POLICY) -> Ruling:
    """Replay a scenario under a policy."""
    return Ruling(case=case, alarm=replay(case.recording, policy).first_alarm)


def count_agreement(rulings: Iterable[Ruling]) -> dict[str, dict[str, int]]:
    """Count stuck and quiet cases, and how many of each agree, by portability."""
    counts: dict[str, Counter[str]] = {}
    for ruling in rulings:
        sort = "stuck" if ruling.case.stuck else "quiet"
        row = counts.setdefault(ruling.case.portability, Counter())
        row[sort] += 1
        row[f"{sort}_agree"] += ruling.agrees
    columns = ("stuck", "stuck_agree", "quiet", "quiet_agree")
    return {name: {column: counts[name][column] for column in columns} for name in sorted(counts)}
