"""The same call with the same outcome, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, name_the_answer, name_the_deed, once_each, turns_of
from guard.detectors.flicker import flickering
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import NEWS, Step
from guard.talk import only_announces

_BLIND = 4
"""So many times the patience where nobody saw what came of a poll, a key or a click."""


class ExactRepeat(Detector):
    """Trip when one agent asks for the same and the same comes back.

    Fruitless steps between the repeats are looked through; news, a new deed or
    another outcome ends the streak. A proposed call counts as a repeat of
    completed ones, so the third identical call trips before it runs.

    Source: the 3-to-5-identical-calls rules of cline, opencode and goose, made
    aware of results as stella and OpenHands do (PEERS 1a).
    """

    name: ClassVar[str] = "exact_repeat"
    kind: ClassVar[Kind] = Kind.EXACT_REPEAT

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.exact_repeat

    def examine(self, view: View) -> Signal | None:
        """Count how often the newest step was seen with nothing gained since."""
        if view.trail.last.is_first:
            return None
        repeats = _find_repeats(view.trail.steps)
        if len(repeats) < 2:  # noqa: PLR2004 - once is no repeat
            return self._flickers(view)
        limit = self._limit(repeats, view.trail.between(repeats[0], repeats[-1]))
        if only_announces(view.trail.steps):
            limit = max(limit, self._rule.without_results)
        return self._signal(repeats, limit, _summarise(repeats))

    def _flickers(self, view: View) -> Signal | None:
        row = flickering(view.trail.steps)
        summary = f"It looked {_times(len(row))} in a row; only figures went up and down."
        return self._signal(row, len(row), summary) if row else None

    def _signal(self, repeats: Sequence[Step], limit: int, summary: str) -> Signal:
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, len(repeats) / limit),
            turns=turns_of(repeats),
            evidence=Evidence(
                summary=summary,
                calls=once_each(repeats),
                repeats=len(repeats),
                limit=limit,
                similarity=1.0,
                threshold=1.0,
            ),
        )

    def _limit(self, repeats: Sequence[Step], between: Sequence[Step]) -> int:
        if any(step.nudged for step in repeats):
            return 2 * self._rule.repeats
        # "sleep 10" between two looks makes the looking a poll.
        if any(step.patient for step in (*repeats, *between)) or repeats[0].stays_patient:
            seen = any(step.outcome for step in repeats)
            return self._rule.polls if seen else _BLIND * self._rule.polls
        completed = [step for step in repeats if not step.proposed]
        enough = len(completed) >= self._rule.repeats - 1
        if enough and all(step.outcome_known for step in completed):
            return self._rule.repeats
        return max(self._rule.repeats, self._rule.without_results)


def _find_repeats(steps: Sequence[Step]) -> list[Step]:
    """Give the newest step and its fruitless repeats before, oldest first."""
    newest = steps[-1]
    request, repeats, failing = newest.request, [newest], newest.failed
    known = newest if newest.outcome else None
    for step in reversed(steps[:-1]):
        if step.request == request and _is_same_deed(step, newest):
            if known and not known.answers_as(step):
                break
            known = known or (step if step.outcome else None)
            repeats.append(step)
            failing = failing or step.failed
        elif _ends_streak(step, newest, failing=failing):
            break
    repeats.reverse()
    return repeats


def _is_same_deed(step: Step, newest: Step) -> bool:
    return step.agent == newest.agent and step.is_call == newest.is_call


def _ends_streak(step: Step, newest: Step, *, failing: bool) -> bool:
    """Tell whether something came of a step that stands between the repeats.

    Between good answers, a question not asked before is enough: whoever looks
    around and checks again is not stuck. Between failures it is not.
    """
    is_own = step.agent == newest.agent
    if not step.is_call:
        if newest.is_call:  # one's own words are talk, another's may be an answer
            return not is_own and step.tells_something
        return is_own or step.news >= NEWS
    if not is_own:
        return step.acted or (not newest.is_call and step.news >= NEWS)
    return step.progressed or not step.outcome_known or (step.fresh and not failing)


def _summarise(repeats: Sequence[Step]) -> str:
    newest = repeats[-1]
    deed = name_the_deed(newest)
    completed = [step for step in repeats if not step.proposed]
    answered = [step for step in completed if step.outcome is not None]
    if not newest.is_call:
        return f"It {deed} {_times(len(repeats))}."
    if not answered:
        return f"It {deed} {_times(len(repeats))}; what came back is not known."
    answer = name_the_answer(answered[-1])
    if newest.proposed:
        return f"It {deed} {_times(len(completed))}, got {answer}, and is about to do so again."
    return f"It {deed} {_times(len(repeats))} and got {answer}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
