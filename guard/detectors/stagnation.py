"""Different questions that teach nothing: the same answer, a known one, or none that is seen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from guard.detectors import base
from guard.detectors.base import Detector, History, View, signal_of, tail_of
from guard.policy import Policy
from guard.reading.normalize import NEAR_EQUAL
from guard.reading.step import Step
from guard.reading.terms import NEWS, words_in
from guard.reading.volatile import PLACEHOLDER
from guard.signals import Kind, Signal

_PATIENCE = 2
_MIN_QUESTIONS = 3
_HEAD = 400
_ID = re.compile(r"(?=\D*\d)\w{6,}")
_FIGURE = re.compile(r"\d+")

_NEW_NAMES = 0.2  # up to this many new names per call, on average, count as none
_NAMES = 3  # calls with fewer names than this, on average, tell nothing, such as a game's moves
_AGAIN = 2
_OWN_WORDS = 0.75  # six wordings of one search share two words in five
_GAIN = 100


class Stagnation(Detector):
    """Trip when an agent keeps asking and learns nothing.

    There are three kinds: different questions with the same answer (paging past the end,
    searching for what is not there); near-equal questions, including commands that only
    become longer; questions whose answers held nothing that was new to the run. Other acts
    are excluded: equal acknowledgements of them are a batch.

    If results are unknown, the questions still tell: an agent that gets on names something
    new, and a stuck agent asks for the same things again, in any order.

    Source: stella's stagnation rung.
    """

    name: ClassVar[str] = "stagnation"

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.stagnation

    def examine(self, view: View) -> Signal | None:
        """Look only if the newest step brought nothing new."""
        return None if view.history.last.news >= NEWS else super().examine(view)

    def repeated_answers(self, history: History) -> Iterator[Signal | None]:
        """Look at the questions that the run ends with."""
        newest = history.last
        # Equal acknowledgements of other acts are a batch.
        is_question = newest.is_answered and (newest.is_question or newest.runs_code)
        if not is_question or newest.outcome is None or newest.outcome.has_more:
            return
        own = history.answered_of(newest.agent)
        yield from self._question_signals(own)
        together = [step for step in history.calls if step.is_answered]
        # Agents that take turns at one matter are as stuck as one agent alone with it.
        if len(own) < len(together):
            yield from self._question_signals(together)

    def unanswered_calls(self, history: History) -> Iterator[Signal]:
        """Look at what is asked for, if the outcomes are unknown."""
        newest, count = history.last, self._rule.without_results
        if not _is_unanswered(newest):
            return
        own = [step for step in history.calls if step.agent == newest.agent]
        row = own[-count:]
        if len(row) < count or not all(_is_unanswered(step) for step in row):
            return
        if sum(len(step.names) for step in row) < _NAMES * count:
            return
        known = frozenset[str]().union(*(step.names for step in own[:-count]))
        anew = 0
        for step in row:
            # Another change or another page may help, and only its unknown outcome could tell.
            elsewhere = step.is_new and any(one.is_place for one in step.arguments.values())
            is_change = step.is_edit and step.is_new
            anew += _GAIN if is_change else len(step.names - known) or elsewhere
            known |= step.names
        if sum(not step.is_new for step in row) < _AGAIN or anew > _NEW_NAMES * count:
            return
        summary = f"Its last {count} calls ask for nothing that it had not asked for; what came \
back is not known."
        yield signal_of(self.name, Kind.STAGNATION, row, summary, limit=count)

    checks = (repeated_answers, unanswered_calls)

    def _question_signals(self, calls: Sequence[Step]) -> Iterator[Signal | None]:
        last = calls[-_MIN_QUESTIONS:]
        if len(last) == _MIN_QUESTIONS and len({step.outcome_key for step in last}) == 1:
            key = last[-1].outcome_key
            alike = tail_of(calls, lambda step: step.outcome_key == key)
            same = _without_batch(tail_of(alike, lambda step: step.is_question))
            close = tail_of(alike, lambda step: step.similarity(last[-1]) >= NEAR_EQUAL)
            near = _without_batch(tail_of(close, lambda step: step.is_question or step.runs_code))
            yield self._signal(same, self._rule.questions, base.describe_answers(same))
            yield self._signal(near, self._rule.near, base.describe_answers(near))
        if not any(step.is_new for step in last):
            known = tail_of(calls, lambda it: it.is_question and it.news < NEWS and not it.is_new)
            yield self._signal(known, self._rule.known, "nothing it did not know")

    def _signal(self, steps: Sequence[Step], limit: int, answer: str) -> Signal | None:
        """Compare steps with a limit; None: too few, or all one call, which `repeat` reports."""
        # Parallel workers that look once each are a fan-out, and none of them is stuck.
        times = Counter(step.agent for step in steps)
        again = base.one_per_batch(step for step in steps if times[step.agent] > 1)
        if len(again) < _MIN_QUESTIONS or again[-1] is not steps[-1]:
            return None
        if len({(step.request, step.outcome_key) for step in again}) == 1:
            return None
        if any(step.needs_time for step in again):
            limit *= _PATIENCE
        summary = f"It asked {len(again)} times in different ways and got {answer}."
        return signal_of(self.name, Kind.STAGNATION, again, summary, limit=limit)


def _without_batch(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps, or fewer if they are a batch: lookups that each name another thing."""
    if len(steps) < _MIN_QUESTIONS or not base.have_own_targets(steps):
        return steps
    # Each answer may have another id, apart from the words of the request; a duration is no id.
    outcomes = {
        frozenset(filter(_ID.fullmatch, words_in(step.outcome.text) - step.words))
        for step in steps
        if step.outcome
    }
    if steps[-1].action_class != "search" or len(outcomes) > 1:
        return ()
    # Different searches that find nothing ("0 rows", "[]") count half; an equal number of
    # hits does not.
    text = steps[-1].outcome.text[:_HEAD] if steps[-1].outcome else ""
    is_figure = any(int(number[:9]) > 1 for number in _FIGURE.findall(text))
    if PLACEHOLDER not in text or not is_figure:
        return steps if is_figure else steps[len(steps) // 2 :]
    # Searches that name their own subject count half too, such as three files with this word and
    # three with that. They are no rewordings, in which few words differ between the questions.
    frame = frozenset.intersection(*(step.names for step in steps))
    own = [step.names - frame for step in steps]
    is_apart = len(frozenset().union(*own)) >= _OWN_WORDS * sum(map(len, own))
    return steps[len(steps) // 2 :] if is_apart else steps


def _is_unanswered(step: Step) -> bool:
    """Return whether the outcome of a call is unknown."""
    return step.is_call and not step.outcome_known and not step.proposed and not step.may_repeat
