"""One look after the other in which only figures flicker: the load, a position, an age.

A figure that goes one way is progress: a percentage, a count. Figures that go up
and down stand for nothing that moves; a clock goes on whatever happens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from guard.detectors.base import tail_of
from guard.reading.step import Step

_FIGURE = re.compile(r"\d+(?:\.\d+)?")
_LOOKS = 10
_ONE_WAY = 0.8
_LONGEST = 1500


def flickering(steps: Sequence[Step]) -> list[Step]:
    """Give the newest agent's last equal calls if their answers only flicker.

    Args:
        steps: Everything remembered, oldest first; never empty.
    """
    newest = steps[-1]
    if newest.fresh or newest.outcome is None or newest.failed:
        return []
    if not (newest.asks or newest.moves or newest.patient):
        return []  # a measurement is taken more than once
    row = _row(steps, newest)
    if len(row) < _LOOKS:
        return []
    return row if only_flickers([step.outcome.text for step in row if step.outcome]) else []


def only_flickers(texts: Sequence[str]) -> bool:
    """Tell whether texts differ in figures alone, and none of these goes one way.

    >>> only_flickers(["load 1.2", "load 0.9", "load 1.4", "load 1.1"])
    True
    >>> only_flickers(["4 % done", "9 % done", "15 % done"])
    False
    """
    if len({_FIGURE.sub("0", text) for text in texts}) > 1:
        return False
    series = zip(
        *([float(found[:30]) for found in _FIGURE.findall(text)] for text in texts), strict=True
    )
    moving = [figures for figures in series if len(set(figures)) > 1]
    return bool(moving) and not any(_goes_one_way(figures) for figures in moving)


def _row(steps: Sequence[Step], newest: Step) -> list[Step]:
    """The last calls of the agent, as long as all are this one and of one shape."""
    own = [step for step in steps if step.agent == newest.agent and step.is_call]
    row = tail_of(own, lambda step: step.request == newest.request and step.outcome is not None)
    text = newest.outcome.text if newest.outcome else ""
    if len(row) < _LOOKS or len(text) > _LONGEST or (shape := _FIGURE.sub("0", text)) == text:
        return []
    return tail_of(row, lambda step: _shape(step) == shape)


def _shape(step: Step) -> str:
    return _FIGURE.sub("0", step.outcome.text if step.outcome else "")


def _goes_one_way(figures: Sequence[float]) -> bool:
    steps = [later - earlier for earlier, later in pairwise(figures) if later != earlier]
    up = sum(step > 0 for step in steps)
    return max(up, len(steps) - up) >= _ONE_WAY * len(steps)
