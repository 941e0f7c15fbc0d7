"""The work is done, and the one fact is verified over and over in new words."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, turns_of
from guard.detectors.targets import name_other_targets
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import NEWS, Step
from guard.talk import terms_of

_COMMON = 0.5
_SHORT_ANSWER = 300
_MUCH_NEWS = 0.5
_INLINE = re.compile(r"\s-[ce]\s|<<|\|\s*(?:python|node|ruby|bash|sh|psql|sqlite3)\b|-m timeit")


class Reverification(Detector):
    """Trip when an agent keeps checking one thing that holds, and changes nothing.

    Checks are tests and little scripts written for the purpose. All of them
    succeed, their answers are short or known, and all are about one thing that
    the calls before were not all about. An edit, a failure or a long new answer
    between them ends the row: then there is something new to check.

    Source: "the same verification in new words" (FINDINGS 7b), which no peer sees.
    """

    name: ClassVar[str] = "reverification"
    kind: ClassVar[Kind] = Kind.REVERIFICATION

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.reverification

    def examine(self, view: View) -> Signal | None:
        """Count the checks the run ends with."""
        newest = view.trail.last
        if not newest.is_call or not _checks(newest):
            return None
        calls = view.trail.of_agent(newest.agent).calls
        row = _row(calls)
        least = max(2, self._rule.checks // 2)
        if len(row) < least or len({step.request for step in row}) == 1:
            return None
        if not _share_a_subject(row, calls[: -len(row)]):
            return None
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, len(row) / self._rule.checks),
            turns=turns_of(row),
            evidence=Evidence(
                summary=f"It checked the same thing {len(row)} times in different ways; it holds, \
and nothing was changed between.",
                calls=once_each(row),
                repeats=len(row),
                limit=self._rule.checks,
            ),
        )


def _row(calls: Sequence[Step]) -> list[Step]:
    row: list[Step] = []
    for step in reversed(calls):
        if step.thinks or (step.asks and not _checks(step) and step.news < _MUCH_NEWS):
            continue
        if not _checks(step):
            break
        row.append(step)
    row.reverse()
    return row


def _checks(step: Step) -> bool:
    """Tell a check that holds: code run for its answer, with nothing much in it."""
    outcome = step.outcome
    if outcome is None or not (step.runs or step.action == "test_run"):
        return False
    if step.failed or step.patient:
        return False
    if step.news >= NEWS and (outcome.is_long or len(outcome.text) > _SHORT_ANSWER):
        return False
    return step.action == "test_run" or _is_inline(step.call)


@functools.lru_cache(maxsize=512)
def _is_inline(call: str) -> bool:
    return _INLINE.search(call[:_SHORT_ANSWER]) is not None


def _share_a_subject(row: Sequence[Step], before: Sequence[Step]) -> bool:
    """Tell whether every check names one thing that not every call is about."""
    tests = [step for step in row if step.action == "test_run"]
    if len(tests) > len(row) // 2 and name_other_targets(tests):
        return False
    shared = frozenset.intersection(*(terms_of(step.request) for step in row))
    if not before:
        return bool(shared)
    said = [terms_of(step.request) for step in before]
    rare = [term for term in shared if sum(term in terms for terms in said) <= _COMMON * len(said)]
    return bool(rare)
