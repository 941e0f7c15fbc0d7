"""The same again: a call, two alternating turns, a series, or a call that keeps coming back."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import ClassVar

from guard.detectors import base
from guard.detectors.base import Detector, History, View, signal_of, tries_of
from guard.policy import Policy
from guard.quoting import name_or_quote
from guard.reading.messages import only_announces
from guard.reading.step import FEW_TERMS, Step
from guard.reading.terms import NEWS, SAME_WORDS, jaccard
from guard.signals import Kind, Signal

_PERIODS = range(2, 9)
_SHORT_PERIOD = 3
_WAITING_ROUNDS = 6
_UNSEEN_ROUNDS = 3
# Factor on `polls` where the outcome of a poll, a key or a click is never seen.
_UNSEEN_POLLS = 4
_BRISK_S = 60.0
_BRISK_FACTOR = 4  # factor on `polls` within the first `_BRISK_S` seconds
# This time also ends after this many steps, since older steps are forgotten.
_BRISK_STEPS = 32
# The share of steps in between that may have brought something: at first, for each more, at most.
_NEWS_SHARE, _NEWS_STEP, _MAX_NEWS_SHARE = 0.2, 0.1, 0.55
_TOUR_FACTOR = 4  # a tour has this many times `repeat.calls` calls
_MIN_ANSWERS = 3  # it has at least this many different answers
_EXTRA_REFUSALS = 2  # this many more refusals than repeats, because something was read in between


class Repeat(Detector):
    """Trip when the last turns repeat the turns before them, and nothing came of them.

    One measure serves periods of 1 to 8 turns: how far back each turn equals the turn one period
    earlier, with the same outcome if it is known. It is applied to the newest call and its repeats,
    ignoring steps in between that brought nothing, so that a third equal call trips before it runs;
    to all calls; and to all turns, so that agents who pass a matter to and fro are seen. A call
    that keeps coming back among others is a loop if little was gained in between or it kept being
    refused. So is a tour: calls that were all made before, with the same answers as then.

    Source: the identical calls of cline, opencode and goose; the alternating pattern of OpenHands;
    the cycles of gemini-cli and stella.
    """

    name: ClassVar[str] = "repeat"

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.repeat

    def examine(self, view: View) -> Signal | None:
        """Look for the newest turn among the earlier ones."""
        newest = view.history.last
        return None if newest.is_call and newest.is_new else super().examine(view)

    def same_request(self, history: History) -> Iterator[Signal]:
        """Look for repeats of the newest turn alone, ignoring steps that brought nothing."""
        newest = known = history.last
        again, failing = [newest], newest.failed
        for step in reversed(history.steps[:-1]):
            is_by_same = step.agent == newest.agent and step.is_call == newest.is_call
            if step.request == newest.request and is_by_same:
                if step.is_call and not known.has_same_outcome(step):
                    break
                known = known if known.outcome else step
                again.append(step)
                failing = failing or step.failed
            elif _ends_streak(step, newest, failing=failing):
                break
        again.reverse()
        if len(again) > 1:
            limit = self._repeat_limit(again, history)
            if only_announces(history.steps):
                limit = max(limit, self._rule.without_results)
            yield self._identical(Kind.EXACT_REPEAT, again, _summarise(again), limit)

    def _repeat_limit(self, again: Sequence[Step], history: History) -> int:
        if any(step.after_nudge for step in again):
            return 2 * self._rule.calls
        # "sleep 10" between two looks makes the looks a poll.
        is_poll = any(step.needs_time for step in history.since(again[0]))
        if is_poll or again[0].may_repeat:
            seen = any(step.outcome for step in again)
            return self._poll_limit(again, history) if seen else _UNSEEN_POLLS * self._rule.polls
        completed = [step for step in again if not step.proposed]
        enough = len(completed) >= self._rule.calls - 1
        if enough and all(step.outcome_known for step in completed):
            return self._rule.calls
        return max(self._rule.calls, self._rule.without_results)

    def _poll_limit(self, again: Sequence[Step], history: History) -> int:
        """Return how many polls are allowed: more in the first minute of what is waited for."""
        newest, first, last = again[-1], again[0].at, again[-1].at
        if not newest.needs_time or newest.failed or first is None or last is None:
            return self._rule.polls
        is_young = 0 < last - first < _BRISK_S and len(history.since(again[0])) < _BRISK_STEPS
        return self._rule.polls * (_BRISK_FACTOR if is_young else 1)

    def cycle(self, history: History) -> Iterator[Signal]:
        """Find the shortest period among the calls, and then among all turns."""
        mixed = history.last.is_call and len(history.calls) < len(history.steps)
        for steps in (history.calls, history.steps) if mixed else (history.steps,):
            for period in _PERIODS:
                tail = _cycle_tail(steps, period)
                if len(tail) < 2 * period or len({step.request for step in tail}) == 1:
                    continue
                # Repeating nearly the same words is no series.
                if any(step.is_call for step in tail[-2:]) or not _says_same(*tail[-2:]):
                    yield self._cycle_signal(tail, period, blind=only_announces(history.steps))
                    break

    def _cycle_signal(self, tail: Sequence[Step], period: int, *, blind: bool) -> Signal:
        # Longer periods trip after one round less and one turn.
        unseen = not all(step.outcome_known or step.proposed for step in tail)
        rounds = self._rule.rounds if period == 2 else self._rule.cycles  # noqa: PLR2004
        rounds += unseen or blind
        needed = rounds * period if period <= _SHORT_PERIOD else (rounds - 1) * period + 1
        # For a key or a click with a visible answer, the same answer again is enough.
        blindly = any(step.may_repeat and not step.outcome_known for step in tail)
        if blindly or any(step.needs_time for step in tail):
            needed = period * _WAITING_ROUNDS * (_UNSEEN_ROUNDS if blindly else 1)
        alike = min(
            1.0 if one.is_call or one.request == two.request else jaccard(one.words, two.words)
            for one, two in zip(tail, tail[period:], strict=False)
        )
        first, second, count = tail[-2], tail[-1], len(tail) // period
        summary = f"It went to and fro between the same two turns {count} times."
        if period > 2:  # noqa: PLR2004 - more than to and fro
            times = f"{len(tail) / period:.1f}" if len(tail) % period else f"{count}"
            summary = f"It went through the same {period} turns {times} times and came out where \
it began."
        elif first.agent != second.agent:
            ends = first.agent, second.agent
            one, other = (name_or_quote(agent) if agent else "" for agent in ends)
            summary = f"{one or 'One'} and {other or 'another'} answered each other the same way \
{count} times."
        return signal_of(
            self.name,
            Kind.PING_PONG if period == 2 else Kind.K_CYCLE,  # noqa: PLR2004 - to and fro
            tail,
            summary,
            limit=max(2, needed // period),
            repeats=count,
            score=min(1.0, len(tail) / needed),
            alike=(round(alike, 3), SAME_WORDS if alike < 1.0 else 1.0),
        )

    def recurring_call(self, history: History) -> Iterator[Signal]:
        """Look for a call that keeps coming back among others."""
        newest = history.last
        if newest.outcome is None:
            return
        again = [s for s in history.steps if s.request == newest.request and s.is_call]
        same = [step for step in again if step.outcome_key == newest.outcome_key]
        since = history.since(same[0])[1:]
        between = [step for step in since if step.is_call or step.agent != newest.agent]
        if 1 < len(same) <= len(between):
            waits = newest.may_repeat or any(step.needs_time for step in between)
            limit = self._poll_limit(same, history) if waits else self._rule.calls
            if len(same) >= limit and self._brought_news(between, same):
                limit = len(same) + 1
            yield self._identical(Kind.RECURRENCE, same, _summarise(same, _AMONG), limit)

    def refused_request(self, history: History) -> Iterator[Signal]:
        """Find the same refusal of one request, whatever was read in between."""
        newest = history.last
        if newest.outcome is not None and newest.failed and not newest.needs_time:
            refused = tries_of(
                history.steps,
                lambda step: (step.request, step.agent) == (newest.request, newest.agent),
                lambda step: step.failure == newest.failure,
                base.has_edited,  # which may be the cure
            )
            if len(refused) > 1:
                limit = self._rule.calls + _EXTRA_REFUSALS
                yield self._identical(Kind.RECURRENCE, refused, _summarise(refused, _AMONG), limit)

    def tour(self, history: History) -> Iterator[Signal]:
        """Look for a tour: nearly all of the last calls were made before, in any order."""
        newest, length = history.last, _TOUR_FACTOR * self._rule.calls
        if newest.outcome is None or newest.is_new:
            return
        calls, first = history.answered_of(newest.agent), dict[tuple[str, Hashable], int]()
        last = calls[-length:]
        if len(last) < length or sum([step.is_new for step in last]) > 1:
            return
        asked = [(step.request, step.outcome_key) for step in calls]
        known = [first.setdefault(one, place) < place for place, one in enumerate(asked)]
        if sum(known[-length:]) < length - 1 or any(step.needs_time for step in last):
            return
        if len({step.outcome_key for step in last}) < _MIN_ANSWERS:
            return  # acknowledgements: keys are pressed, but no effect is seen
        summary = f"It made its last {length} calls before and got the same answers."
        yield self._identical(Kind.RECURRENCE, last, summary, length)

    checks = (same_request, cycle, recurring_call, refused_request, tour)

    def _brought_news(self, between: Sequence[Step], same: Sequence[Step]) -> bool:
        """Return whether much came of the steps in between, or each check follows an edit."""
        newest = same[-1]
        allowed = min(_MAX_NEWS_SHARE, _NEWS_SHARE + _NEWS_STEP * (len(same) - self._rule.calls))
        if not newest.failed:
            # A check after an edit looks at a new state, so success is expected.
            places = (0, *[between.index(step) for step in same[1:]])
            if all(any(map(base.has_edited, between[a:b])) for a, b in pairwise(places)):
                return True
            allowed /= 1 if newest.outcome and newest.outcome.is_long else 2
        gained = [step.made_progress if step.is_call else step.says_new for step in between]
        return sum(gained) > allowed * len(between)

    def _identical(self, kind: Kind, steps: Sequence[Step], summary: str, limit: int) -> Signal:
        return signal_of(self.name, kind, steps, summary, limit=limit, alike=base.IDENTICAL)


def _cycle_tail(steps: Sequence[Step], period: int) -> Sequence[Step]:
    """Return the longest tail in which each turn repeats the turn one period earlier, in vain."""
    if len(steps) <= period or not _repeats(steps[-1 - period], steps[-1]):
        return ()  # usually
    known: dict[int, Step] = {}
    for place in range(len(steps) - period - 1, -1, -1):
        earlier, again = steps[place], steps[place + period]
        expected = known.get(place % period, again)
        is_lap = _repeats(earlier, again)
        if is_lap and again.is_call:
            is_lap = not again.made_progress and expected.has_same_outcome(earlier)
        if not is_lap:
            return steps[place + 1 :]
        # An unknown answer must not connect two different ones.
        known[place % period] = expected if expected.outcome else earlier
    return steps


def _repeats(earlier: Step, later: Step) -> bool:
    if earlier.is_call != later.is_call or earlier.agent != later.agent:
        return False
    return earlier.request == later.request or (not later.is_call and _says_same(earlier, later))


def _says_same(earlier: Step, later: Step) -> bool:
    """Return whether a message says the same as another, in nearly the same words."""
    anew = len(later.terms - earlier.terms)
    return anew <= FEW_TERMS + 1 and jaccard(earlier.words, later.words) >= SAME_WORDS


def _ends_streak(step: Step, newest: Step, *, failing: bool) -> bool:
    """Return whether a step between the repeats brought something.

    Between good answers, a question that was not asked before is enough: an agent that
    looks around and checks again is not stuck. Between failures it is not enough.
    """
    is_own = step.agent == newest.agent
    if not step.is_call:
        if newest.is_call:  # one's own words are talk; another agent's may be an answer
            return not is_own and step.says_new
        return is_own or step.made_progress or step.says_new
    if not is_own:
        return step.had_effect or (not newest.is_call and step.news >= NEWS)
    return step.made_progress or not step.outcome_known or (step.is_new and not failing)


_ACTIONS = {
    "file_edit": "made the same edit",
    "message": "said the same",
    "read": "read the same thing",
    "search": "made the same search",
    "shell_exec": "ran the same command",
    "test_run": "ran the same test",
}
_AMONG = ", with other steps between,"


def _summarise(again: Sequence[Step], among: str = "") -> str:
    newest = again[-1]
    action = _ACTIONS.get(newest.action_class, "made the same call")
    completed = [step for step in again if not step.proposed]
    answered = [step for step in completed if step.outcome is not None]
    sentence = f"It {action} {len(again)} times{among}"
    if not newest.is_call:
        return f"{sentence}."
    if not answered:
        return f"{sentence}; what came back is not known."
    answer = "the same error" if answered[-1].failed else base.describe_answers(answered)
    if not newest.proposed:
        return f"{sentence} and got {answer}."
    times = "once" if len(completed) == 1 else f"{len(completed)} times"
    return f"It {action} {times}, got {answer}, and is about to do so again."
