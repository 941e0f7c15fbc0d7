"""The same again: a call, two turns in turn, a series, or a call that keeps coming back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import ClassVar

from guard.detectors.base import Detector, History, View, compare_answers, surest, tail_of
from guard.policy import Policy
from guard.reading.messages import only_announces
from guard.reading.step import FEW_TERMS, Step
from guard.reading.terms import BRIEF, NEWS, SAME_WORDS, likeness
from guard.signals import Kind, Signal

_PERIODS = range(2, 9)
_SHORT = 3
_PATIENT_ROUNDS = 6
_BLIND_ROUNDS = 3
_BLIND_POLLS = 4
"""So many times the patience where nobody saw what came of a poll, a key or a click."""
_SOON = 60.0
_BRISK = 4
"""Within so many seconds so many times as many polls are no loop."""
_BRISK_STEPS = 32
"""That minute ends with so many steps: what began before those remembered is not known."""
_MOVED, _MOVED_EACH, _MOVED_MOST = 0.2, 0.1, 0.55
"""The share of steps between that may have brought something: at first, for each more, at most."""
_REFUSED = 2
"""So many more refusals than repeats: something was read between them."""
_FEW_NAMES = 2
"""So many names in an answer may be made anew each time."""
_FIGURE = re.compile(r"\d+(?:\.\d+)?")
_LOOKS = 10
_ONE_WAY = 0.8
_LONGEST = 1500


class Repeat(Detector):
    """Trip when the last turns are those of before, and nothing has come of them.

    One measure for periods of 1 to 8 turns: how far back each turn is the one a
    period before it, with the same outcome where it is known. It is taken of the
    newest call and its repeats, fruitless steps between looked through, so that a
    third equal call trips before it runs; of the calls; and of all turns, so that
    agents who hand a matter to and fro are seen. A call that keeps coming back among
    others is a loop where little was gained between, or it kept being refused.

    Source: the identical calls of cline, opencode and goose; the alternating pattern
    of OpenHands; the cycles of gemini-cli and stella.
    """

    name: ClassVar[str] = "repeat"

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.repeat

    def examine(self, view: View) -> Signal | None:
        """Look for the newest turn among those before it."""
        history = view.history
        if history.last.is_first:
            return None
        return surest((self._once_more(history), *self._series(history), *self._recurring(history)))

    # --- periods of one turn ------------------------------------------------------

    def _once_more(self, history: History) -> Signal | None:
        again = _laps(_attempts(history.steps), 1)
        if len(again) < 2:  # noqa: PLR2004 - once is no repeat
            row = _flickering(history.steps)
            summary = f"It looked {len(row)} times in a row; only figures went up and down."
            return self._same(Kind.EXACT_REPEAT, row, summary, len(row)) if row else None
        limit = self._limit(again, history)
        if only_announces(history.steps):
            limit = max(limit, self._rule.without_results)
        return self._same(Kind.EXACT_REPEAT, again, _say_again(again), limit)

    def _limit(self, again: Sequence[Step], history: History) -> int:
        if any(step.nudged for step in again):
            return 2 * self._rule.calls
        # "sleep 10" between two looks makes the looking a poll.
        between = history.between(again[0], again[-1])
        if not all(again[-1].answers_as(step) for step in again):
            return self._rule.polls
        if any(step.patient for step in (*again, *between)) or again[0].stays_patient:
            seen = any(step.outcome for step in again)
            return self._polls(again, history) if seen else _BLIND_POLLS * self._rule.polls
        completed = [step for step in again if not step.proposed]
        enough = len(completed) >= self._rule.calls - 1
        if enough and all(step.outcome_known for step in completed):
            return self._rule.calls
        return max(self._rule.calls, self._rule.without_results)

    def _polls(self, again: Sequence[Step], history: History) -> int:
        """Say how often may be looked: what began less than a minute ago may be at work yet."""
        newest, first, last = again[-1], again[0].at, again[-1].at
        if not newest.patient or newest.failed or first is None or last is None:
            return self._rule.polls
        steps = len(history.steps) - history.steps.index(again[0])
        is_young = 0 < last - first < _SOON and steps < _BRISK_STEPS
        return self._rule.polls * (_BRISK if is_young else 1)

    # --- periods of several -------------------------------------------------------

    def _series(self, history: History) -> Iterator[Signal]:
        """Find the shortest period among the calls, and among all turns."""
        mixed = history.last.is_call and len(history.calls) < len(history.steps)
        for steps in (history.calls, history.steps) if mixed else (history.steps,):
            for period in _PERIODS:
                tail = _laps(steps, period)
                if len(tail) < 2 * period or _is_one(tail):
                    continue
                yield self._rounds(tail, period, blind=only_announces(history.steps))
                break

    def _rounds(self, tail: Sequence[Step], period: int, *, blind: bool) -> Signal:
        needed = self._needed(tail, period, blind=blind)
        laps = zip(tail, tail[period:], strict=False)
        alike = min(
            1.0 if one.is_call or one.request == two.request else likeness(one.words, two.words)
            for one, two in laps
        )
        return self.signal(
            Kind.PING_PONG if period == 2 else Kind.K_CYCLE,  # noqa: PLR2004 - to and fro
            tail,
            _say_rounds(tail, period),
            limit=max(2, needed // period),
            repeats=len(tail) // period,
            score=min(1.0, len(tail) / needed),
            similarity=round(alike, 3),
            threshold=SAME_WORDS if alike < 1.0 else 1.0,
        )

    def _needed(self, tail: Sequence[Step], period: int, *, blind: bool) -> int:
        """Say how many turns of a series trip: longer ones at a round less and a turn."""
        unseen = not all(step.outcome_known or step.proposed for step in tail)
        if any(step.stays_patient if unseen else step.patient for step in tail):
            return period * _PATIENT_ROUNDS * (_BLIND_ROUNDS if unseen else 1)
        rounds = self._rule.rounds if period == 2 else self._rule.cycles  # noqa: PLR2004
        rounds += unseen or blind
        return rounds * period if period <= _SHORT else (rounds - 1) * period + 1

    # --- a call that keeps coming back ----------------------------------------------

    def _recurring(self, history: History) -> Iterator[Signal]:
        newest = history.last
        if newest.outcome is None:
            return
        again = [s for s in history.steps if s.request == newest.request and s.is_call]
        same = [step for step in again if step.outcome_key == newest.outcome_key]
        since = history.steps[history.steps.index(same[0]) + 1 :]
        between = [step for step in since if step.is_call or step.agent != newest.agent]
        if 1 < len(same) <= len(between):
            waits = newest.stays_patient or any(step.patient for step in between)
            limit = self._polls(same, history) if waits else self._rule.calls
            if len(same) >= limit and not self._gained_little(between, same):
                limit = len(same) + 1
            yield self._comes_back(same, limit)
        if newest.failed and not newest.patient:
            refused = _refused(history.steps, newest)
            if len(refused) > 1:
                yield self._comes_back(refused, self._rule.calls + _REFUSED)

    def _gained_little(self, between: Sequence[Step], same: Sequence[Step]) -> bool:
        newest = same[-1]
        allowed = min(_MOVED_MOST, _MOVED + _MOVED_EACH * (len(same) - self._rule.calls))
        if not newest.failed:
            if _edited_each_time(between, same):
                return False
            allowed /= 1 if newest.outcome and newest.outcome.is_long else 2
        gained = [step.progressed if step.is_call else step.tells_something for step in between]
        return sum(gained) <= allowed * len(between)

    def _comes_back(self, same: Sequence[Step], limit: int) -> Signal:
        summary = f"It {_name_the_action(same[-1])} {len(same)} times, with other steps between, \
and got {_name_the_answer(same)}."
        return self._same(Kind.RECURRENCE, same, summary, limit)

    def _same(self, kind: Kind, steps: Sequence[Step], summary: str, limit: int) -> Signal:
        return self.signal(kind, steps, summary, limit=limit, similarity=1.0, threshold=1.0)


def _laps(steps: Sequence[Step], period: int) -> Sequence[Step]:
    """Give the longest tail in which each turn is the one a period before, in vain."""
    if len(steps) <= period or not _asks_again(steps[-1 - period], steps[-1]):
        return ()
    later = list(steps[-1 : -1 - period : -1])
    known = list(later)
    start = len(steps) - period
    while start > 0:
        slot = (len(steps) - start) % period
        earlier = steps[start - 1]
        if not _is_again(earlier, later[slot], known[slot], alone=period == 1):
            break
        # An answer that is not known does not join two that differ.
        later[slot] = earlier
        known[slot] = known[slot] if known[slot].outcome else earlier
        start -= 1
    return steps[start:]


def _asks_again(earlier: Step, later: Step) -> bool:
    if earlier.is_call != later.is_call or earlier.agent != later.agent:
        return False
    if later.is_call:
        return earlier.request == later.request
    return earlier.request == later.request or _says_again(earlier, later)


def _is_again(earlier: Step, later: Step, known: Step, *, alone: bool) -> bool:
    if not _asks_again(earlier, later):
        return False
    if not later.is_call:
        return True
    if alone:
        return known.answers_as(earlier) or _answers_nearly(known, earlier)
    return not later.progressed and known.answers_as(earlier)


def _answers_nearly(step: Step, other: Step) -> bool:
    """The same answer but for a name or two; a figure may be what moves."""
    if step.outcome is None or other.outcome is None or len(step.outcome.terms) < BRIEF:
        return False
    apart = step.outcome.terms ^ other.outcome.terms
    return len(apart) <= 2 * _FEW_NAMES and not any(map(str.isdigit, apart))


def _says_again(earlier: Step, later: Step) -> bool:
    """Tell whether a message says what another said, nearly in its words."""
    anew = len(later.terms - earlier.terms)
    return anew <= FEW_TERMS + 1 and likeness(earlier.words, later.words) >= SAME_WORDS


def _is_one(tail: Sequence[Step]) -> bool:
    """The same turn over and over, in these words or nearly."""
    first, second = tail[-2:]
    if len({step.request for step in tail}) == 1:
        return True
    return not first.is_call and not second.is_call and _says_again(first, second)


def _attempts(steps: Sequence[Step]) -> list[Step]:
    """Give the newest turn and its repeats, with nothing come of what stands between."""
    newest = steps[-1]
    attempts, failing = [newest], newest.failed
    for step in reversed(steps[:-1]):
        is_by_same = step.agent == newest.agent and step.is_call == newest.is_call
        if step.request == newest.request and is_by_same:
            attempts.append(step)
            failing = failing or step.failed
        elif _ends_streak(step, newest, failing=failing):
            break
    attempts.reverse()
    return attempts


def _ends_streak(step: Step, newest: Step, *, failing: bool) -> bool:
    """Tell whether something came of a step that stands between the repeats.

    Between good answers, a question not asked before is enough: whoever looks
    around and checks again is not stuck. Between failures it is not.
    """
    is_own = step.agent == newest.agent
    if not step.is_call:
        if newest.is_call:  # one's own words are talk, another's may be an answer
            return not is_own and step.tells_something
        return is_own or step.progressed or step.tells_something
    if not is_own:
        return step.acted or (not newest.is_call and step.news >= NEWS)
    return step.progressed or not step.outcome_known or (step.fresh and not failing)


def _refused(steps: Sequence[Step], newest: Step) -> list[Step]:
    """The same refusal of one request, whatever was read between; an edit may be the cure."""
    refused: list[Step] = []
    for step in reversed(steps):
        if step.request == newest.request and step.agent == newest.agent:
            if step.failure != newest.failure:
                break
            refused.append(step)
        elif step.edits and step.acted:
            break
    refused.reverse()
    return refused


def _edited_each_time(between: Sequence[Step], same: Sequence[Step]) -> bool:
    """A check after an edit looks at a new state, and green is as it should be."""
    edited, since = 0, False
    for step in between:
        if step.edits and step.acted:
            since = True
        elif step in same:
            edited, since = edited + since, False
    return edited >= len(same) - 1


# --- figures that flicker ---------------------------------------------------------
#
# A figure that goes one way is progress: a percentage, a count. Figures that go up
# and down (the load, a position) stand for nothing that moves; a clock goes on whatever
# happens.


def _flickering(steps: Sequence[Step]) -> list[Step]:
    """Give the newest agent's last equal calls if their answers only flicker."""
    newest = steps[-1]
    if newest.fresh or newest.outcome is None or newest.failed:
        return []
    if not (newest.asks or newest.moves or newest.patient):
        return []  # a measurement is taken more than once
    own = [step for step in steps if step.agent == newest.agent and step.is_call]
    row = tail_of(own, lambda step: step.request == newest.request and step.outcome is not None)
    text = newest.outcome.text
    if len(row) < _LOOKS or len(text) > _LONGEST or (shape := _shape_of(text)) == text:
        return []
    row = tail_of(
        row, lambda step: step.outcome is not None and _shape_of(step.outcome.text) == shape
    )
    texts = [step.outcome.text for step in row if step.outcome]
    return row if len(row) >= _LOOKS and only_flickers(texts) else []


def only_flickers(texts: Sequence[str]) -> bool:
    """Tell whether texts differ in figures alone, and none of these goes one way.

    >>> only_flickers(["load 1.2", "load 0.9", "load 1.4", "load 1.1"])
    True
    >>> only_flickers(["4 % done", "9 % done", "15 % done"])
    False
    """
    if len(set(map(_shape_of, texts))) > 1:
        return False
    series = zip(
        *([float(found[:30]) for found in _FIGURE.findall(text)] for text in texts), strict=True
    )
    moving = [figures for figures in series if len(set(figures)) > 1]
    return bool(moving) and not any(_goes_one_way(figures) for figures in moving)


def _shape_of(text: str) -> str:
    return _FIGURE.sub("0", text)


def _goes_one_way(figures: Sequence[float]) -> bool:
    steps = [later - earlier for earlier, later in pairwise(figures) if later != earlier]
    up = sum(step > 0 for step in steps)
    return max(up, len(steps) - up) >= _ONE_WAY * len(steps)


# --- in words -------------------------------------------------------------------

_ACTIONS = {
    "file_edit": "made the same edit",
    "message": "said the same",
    "read": "read the same thing",
    "search": "made the same search",
    "shell_exec": "ran the same command",
    "test_run": "ran the same test",
}


def _name_the_action(step: Step) -> str:
    return _ACTIONS.get(step.action_class, "made the same call")


def _name_the_answer(steps: Sequence[Step]) -> str:
    return "the same error" if steps[-1].failed else compare_answers(steps)


def _say_again(again: Sequence[Step]) -> str:
    newest = again[-1]
    action = _name_the_action(newest)
    completed = [step for step in again if not step.proposed]
    answered = [step for step in completed if step.outcome is not None]
    if not newest.is_call:
        return f"It {action} {len(again)} times."
    if not answered:
        return f"It {action} {len(again)} times; what came back is not known."
    answer = _name_the_answer(answered)
    if newest.proposed:
        times = "once" if len(completed) == 1 else f"{len(completed)} times"
        return f"It {action} {times}, got {answer}, and is about to do so again."
    return f"It {action} {len(again)} times and got {answer}."


def _say_rounds(tail: Sequence[Step], period: int) -> str:
    first, second, rounds = tail[-2], tail[-1], len(tail) // period
    if period > 2:  # noqa: PLR2004 - more than to and fro
        times = f"{len(tail) / period:.1f}" if len(tail) % period else f"{rounds}"
        return f"It went through the same {period} turns {times} times and came out where it began."
    if first.agent != second.agent:
        return f"{first.agent or 'One'} and {second.agent or 'another'} answered each other \
the same way {rounds} times."
    return f"It went to and fro between the same two turns {rounds} times."
