"""Turns whose words overlap with recent turns for too long."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from guard.contrib import check_order
from guard.detectors.base import Detector, View, signal_of
from guard.policy import Policy
from guard.policy.fields import SHARE, Table, within
from guard.reading.step import Step
from guard.signals import Kind, Severity, Signal

# The rule remembers no more turns than this, and compares with fewer.
MAX_HISTORY = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Table):
    """When turns overlap in their words for too long."""

    window: Annotated[int, within(1, 20), "with how many of the last turns it is compared"] = 5
    threshold: Annotated[float, SHARE, "the Jaccard overlap from which two turns are alike"] = 0.85
    warn: Annotated[int, within(1, 50), "after how many similar turns it warns"] = 3
    terminate: Annotated[int, within(1, 50), "and after how many it ends the run"] = 5

    def __post_init__(self) -> None:
        Table.__post_init__(self)
        check_order(self, "warn", "terminate")


class Broker(Detector):
    """Warn after 3 similar turns in a row, end the run after 5.

    A turn is similar if the sets of its words and of one of the last 5 turns
    overlap by 0.85 (Jaccard). The first turn always passes, and one dissimilar
    turn starts the count again. Preset `broker`; no judge is asked.

    Source: the broker's loop detector in a trading agent's lesson on session
    termination; its thresholds are used here, not those of its prose ("3 turns").
    """

    name: ClassVar[str] = "broker"
    kind: ClassVar[Kind] = Kind.SEMANTIC_REPEAT
    reads_raw: ClassVar[bool] = True

    def __init__(self, policy: Policy) -> None:
        self._rule = Rule.read(policy.contrib.get("broker", {}))

    def examine(self, view: View) -> Signal | None:
        """Count the similar turns at the end of the run."""
        # The outcome is part of a turn's text, and a proposed call has none yet.
        if view.history.last.proposed:
            return None
        turns = [step for step in view.history.steps if not step.proposed][-MAX_HISTORY:]
        rule = self._rule
        # From the newest turn back to the last dissimilar one; beyond the limit nothing changes.
        most = min(len(turns), rule.terminate)
        counts = (
            count
            for count in range(most)
            if self._similarity(turns[: len(turns) - count]) < rule.threshold
        )
        similar = next(counts, most)
        if not similar:
            return None
        ends, alike = similar >= rule.terminate, turns[-1 - similar :]
        times = "once" if similar == 1 else f"{similar} times"
        return signal_of(
            self.name,
            self.kind,
            alike,
            f"It repeated itself {times}, almost word for word.",
            limit=rule.terminate if ends else rule.warn,
            repeats=similar,
            score=min(1.0, similar / rule.warn),
            alike=(round(self._similarity(turns), 3), rule.threshold),
            severity=Severity.STOP if ends else Severity.ESCALATE,
        )

    def _similarity(self, turns: Sequence[Step]) -> float:
        """Return how similar the last turn is to the most similar one before it."""
        newest = words_in(text_of(turns[-1]))
        others = turns[-1 - self._rule.window : -1]
        return max((jaccard(newest, words_in(text_of(one))) for one in others), default=0.0)


def text_of(step: Step) -> str:
    """Return the whole text of a turn: what was written, asked for, and came back."""
    call = step.call if step.is_call else ""
    parts = (step.raw.content, call, step.raw.output)
    return "\n".join(part for part in parts if part)


# Cached, because each turn is compared with five others.
@functools.lru_cache(maxsize=512)
def words_in(text: str) -> frozenset[str]:
    """Return the set of words separated by white space, in lower case."""
    return frozenset(text.lower().split())


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of all words that both sets have, in [0, 1]; 0 if one is empty.

    >>> round(jaccard(words_in("check the price now"), words_in("check the price again")), 2)
    0.6
    >>> jaccard(words_in(""), words_in(""))
    0.0
    """
    # Two empty turns are no loop, so an empty set is like nothing.
    if not one or not other:
        return 0.0
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


DETECTOR = Broker
