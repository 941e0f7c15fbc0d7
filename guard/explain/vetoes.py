"""What holds a detector back: taken away, one by one, would it speak?

Detectors are pure functions of the trail. So the reason for a silence is found by
asking again with one kind of progress taken out of every remembered step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from guard.detectors import Detector, View
from guard.nearness import NEAR
from guard.signals import Signal
from guard.step import NEWS, Step
from guard.trail import Trail


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of veto: where it stands, and the step without it."""

    says: str
    holds: Callable[[Step, Step], bool]
    lift: Callable[[Step, Step], Step]


def _answered_otherwise(step: Step, last: Step) -> bool:
    if step.outcome is None or last.outcome is None or step.outcome_key == last.outcome_key:
        return False
    return step.nearness(last) >= NEAR


# Each function takes a step and the newest one.
KINDS: dict[str, Kind] = {
    "news": Kind(
        "something new came back",
        lambda step, _: step.news >= NEWS,
        lambda step, _: replace(step, news=0.0),
    ),
    "deed": Kind(
        "something was changed",
        lambda step, _: step.acted,
        lambda step, _: replace(step, untried=False),
    ),
    "batch": Kind(
        "the calls act, each on something else",
        lambda step, _: step.is_call and not step.asks,
        lambda step, _: replace(step, asks=True, untried=False),
    ),
    "improved": Kind(
        "fewer checks failed",
        lambda step, _: step.improved,
        lambda step, _: replace(step, improved=False),
    ),
    "patience": Kind(
        "it waits, or is retried, by nature",
        lambda step, _: step.patient,
        lambda step, _: replace(step, patient=False),
    ),
    "first_asked": Kind(
        "something not asked before",
        lambda step, _: step.is_call and step.fresh,
        lambda step, _: replace(step, fresh=False),
    ),
    "outcomes": Kind(
        "another answer to the same question",
        _answered_otherwise,
        lambda step, last: (
            replace(step, outcome=last.outcome) if _answered_otherwise(step, last) else step
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Veto:
    """One veto that holds a detector back.

    Attributes:
        kinds: What it is made of: one of `KINDS`, or several that act together.
        turns: `seq` of the steps it stands at, oldest first.
        without: What the detector would say without it.
    """

    kinds: tuple[str, ...]
    turns: tuple[int, ...]
    without: Signal

    @property
    def says(self) -> str:
        """The veto in words."""
        return ", and ".join(KINDS[kind].says for kind in self.kinds)


def find_vetoes(detector: Detector, view: View, signal: Signal | None) -> list[Veto]:
    """Find what keeps a detector below the signal it would give.

    A single veto is looked for first; where none is enough, the fewest that
    together are.
    """
    if signal is not None and signal.score >= 1.0:
        return []
    present = [kind for kind in KINDS if _places(view, (kind,))]
    found = [veto for kind in present if (veto := _without(detector, view, (kind,), signal))]
    if found or not (veto := _without(detector, view, tuple(present), signal)):
        return found
    return [_reduce(veto, detector, view, signal)]


def _reduce(veto: Veto, detector: Detector, view: View, signal: Signal | None) -> Veto:
    """Leave out every kind that the veto stands without."""
    for kind in reversed(veto.kinds):
        fewer = tuple(other for other in veto.kinds if other != kind)
        veto = _without(detector, view, fewer, signal) or veto
    return veto


def _without(
    detector: Detector, view: View, kinds: tuple[str, ...], signal: Signal | None
) -> Veto | None:
    lifted = detector.examine(replace(view, trail=_lift(view.trail, kinds)))
    if lifted is None or (signal is not None and lifted.score <= signal.score):
        return None
    start = min(lifted.turns)
    turns = tuple(seq for seq in _places(view, kinds) if seq >= start)
    return Veto(kinds=kinds, turns=turns, without=lifted)


def _places(view: View, kinds: Sequence[str]) -> list[int]:
    newest = view.trail.last
    return [
        step.seq
        for step in view.trail.steps
        if any(KINDS[kind].holds(step, newest) for kind in kinds)
    ]


def _lift(trail: Trail, kinds: Sequence[str]) -> Trail:
    lifted = Trail(len(trail.steps))
    for step in trail.steps:
        bare = step
        for kind in kinds:
            bare = KINDS[kind].lift(bare, trail.last)
        lifted.add(bare)
    return lifted
