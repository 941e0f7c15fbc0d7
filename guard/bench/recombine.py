"""Every point of a grid in one pass: a run is read once, its signals recombined.

A detector sees only its own section of the policy, and what the engine reads of a
turn does not depend on thresholds. So each detector looks once for each of its own
settings, and every grid point takes the signals of its settings. Where the judge
lets an agent go, streaks start afresh at that point alone: it is replayed by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from guard.bench.choose import Point
from guard.bench.labels import Labelled
from guard.bench.scores import Trial
from guard.detectors import DETECTORS, View
from guard.engine import Engine
from guard.formats import Recording, read_recording
from guard.judge.court import Court
from guard.panel import Panel, Seat
from guard.policy import Policy
from guard.progress import progress
from guard.replay import replay
from guard.signals import Assessment, Signal
from guard.turn import Turn

Setting = tuple[str, str]
"""A detector's name and how it is set, as text."""


def try_points(
    runs: Sequence[Labelled], policies: Mapping[Point, Policy]
) -> dict[Point, list[Trial]]:
    """Give each point's trials over all runs; the policies differ by thresholds only.

    Raises:
        UnreadableRecording: a labelled run has no readable turn file.
    """
    settings = {point: _settings_of(policy) for point, policy in policies.items()}
    trials: dict[Point, list[Trial]] = {point: [] for point in policies}
    for labelled in progress(runs, total=len(runs), what="runs, every threshold"):
        recording = read_recording(labelled.path)
        turns = sum(turn is not None for turn in recording.turns)
        for point, alarm in _first_alarms(recording, policies, settings).items():
            trials[point].append(Trial(labelled=labelled, turns=turns, alarm=alarm))
    return trials


def _settings_of(policy: Policy) -> tuple[Setting, ...]:
    """Name the detectors of a policy with their thresholds, in the registry's order."""
    return tuple(
        (name, repr(getattr(policy, name, None))) for name in DETECTORS if name in policy.detectors
    )


class _Chorus(Panel):
    """Has every setting of every detector look at a step."""

    def __init__(self, policies: Iterable[Policy], settings: Iterable[tuple[Setting, ...]]) -> None:
        policies = list(policies)
        super().__init__(policies[0])
        self._seats: dict[Setting, Seat] = {}
        for policy, own in zip(policies, settings, strict=True):
            for setting in own:
                if setting not in self._seats:
                    detector = DETECTORS[setting[0]](policy)
                    self._seats[setting] = Seat(detector, policy.rungs_of(setting[0]))
        self.trips: dict[Setting, Signal] = {}

    def examine(self, view: View, turn: Turn) -> Iterator[Signal]:
        self.trips = {}
        for setting, seat in self._seats.items():
            found = seat.detector.examine(view)
            if found and view.seq in found.turns and (signal := seat.rungs.place(found)).trips:
                self.trips[setting] = signal
        return iter(())


class _Reader(Engine):
    def __init__(self, chorus: _Chorus, policy: Policy) -> None:
        super().__init__(policy)
        self._panel = chorus


def _first_alarms(
    recording: Recording,
    policies: Mapping[Point, Policy],
    settings: Mapping[Point, tuple[Setting, ...]],
) -> dict[Point, int | None]:
    any_policy = next(iter(policies.values()))
    chorus = _Chorus(policies.values(), settings.values())
    engine, seen = _Reader(chorus, any_policy), dict[int, Turn]()
    court = Court(any_policy, workspace=recording.workspace, goal=recording.goal)
    alarms: dict[Point, int | None] = {}
    for place, turn in enumerate(recording.turns):
        if turn is None:
            continue
        chorus.trips = {}
        assessment = engine.observe(turn)
        seen[assessment.seq] = turn
        for point in policies if chorus.trips else ():
            trip = None if point in alarms else _trip(settings[point], chorus.trips, assessment)
            if trip is not None:
                is_let_go = court.dismisses(trip, seen)
                alarms[point] = (
                    replay(recording, policies[point]).first_alarm if is_let_go else place
                )
    return {point: alarms.get(point) for point in policies}


def _trip(
    own: Iterable[Setting], trips: Mapping[Setting, Signal], assessment: Assessment
) -> Signal | None:
    signals = tuple(trips[setting] for setting in own if setting in trips)
    return Assessment(
        seq=assessment.seq, similarity=0.0, changed=assessment.changed, signals=signals
    ).trip
