"""What a turn leads to: the same for a live run, a replay, a backtest and an explanation.

`decide` says what is done about a loop, by the run's mode and by who has it in hand; `judge`
what else follows, because of what was begun earlier. Both are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from guard.signals import Assessment, Kind, Severity, Signal
from guard.wire import Mode

# Whether people allowed every call that a signal rests on; asked of what would be answered.
Allows = Callable[[Signal], bool]
# Turns without a new trip after which a correction is said to have helped, or not.
RECOVERY_TURNS = 5


class Action(StrEnum):
    """What is done about a signal."""

    TELL = "tell"  # a ceiling is near or reached: people hear of each once
    NOTE = "note"  # it is written down: what a rule in `observe` would have done
    NUDGE = "nudge"  # the agent is told what repeats; nobody is asked
    QUESTION = "question"  # a model is asked whether this suspicion is a loop
    ALLOW = "allow"  # people allowed that call to repeat: its count begins again
    WARN = "warn"  # people are told; the agent goes on
    FLAG = "flag"  # a card opens; the agent goes on
    HOLD = "hold"  # a card opens; the agent waits for its answer
    FIX = "fix"  # as `hold`, and the judge's correction is given in its place, if it has one
    ESCALATE = "escalate"  # a card as in `flag`, and the agent is asked for another strategy
    STOP = "stop"  # the run ends by the policy; not one more turn is let through

    @property
    def is_quiet(self) -> bool:
        """Nobody is asked, and nothing else is kept from being done."""
        return self in {Action.NOTE, Action.NUDGE}


class FollowUp(StrEnum):
    """What happens because of a turn, and rests on no signal."""

    COUNT_CORRECTED = "count corrected"  # one more turn was done since a watched correction
    SETTLE_CORRECTION = "settle correction"  # those are over: it helped if they brought news
    STOP_FINISHED = "stop finished"  # the agent was asked to finish and has had its last turns
    STOP_WITH_PARENT = "stop with parent"  # the run that started this one was stopped
    COMPLETE = "complete"  # the agent says that its task is done
    FOLLOW_POLICY = "follow policy"  # a newer policy of its project judges the run from here on
    COUNT_AFRESH = "count afresh"  # all streaks begin again


class Control(StrEnum):
    """Who has a run in hand."""

    FREE = "free"  # nobody: its agent works
    HELD = "held"  # its open card
    PAUSED = "paused"  # a person, whose answer comes first
    ALREADY_ENDED = "already ended"  # before its turns came: imported, or sent late
    OUT_OF_REACH = "out of reach"  # it has ended, or is being ended


class Card(StrEnum):
    """What a run's open card asks of people."""

    NONE = "none"
    TELLS = "tells"  # nothing: its agent was asked for another strategy and goes on
    ASKS = "asks"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """What an answer depends on, besides what the engine says of the turn."""

    mode: Mode
    control: Control = Control.FREE  # who has it in hand
    card: Card = Card.NONE  # its open card
    is_finishing: bool = False  # it was asked to finish: its last turns are let through
    fix_failed: bool = False  # in `auto`, a correction for this trouble did not help
    knows_budget: bool = False  # people were told of every ceiling that it has reached
    has_judge: bool = False  # there is a model to ask about suspicions
    corrected_turns: int | None = None  # turns done since a watched correction; None: none is
    is_finished: bool = False  # it was asked to finish, and this turn is beyond its last
    is_orphaned: bool = False  # the run that started it was stopped, and it still works
    has_new_policy: bool = False  # it follows its project's policy, which has changed
    crossings: tuple[Signal, ...] = ()  # ceilings that it nears or reached, people not told yet

    @property
    def is_free(self) -> bool:
        """Nobody has it in hand, and nobody is asked about it."""
        return self.control is Control.FREE and self.card is Card.NONE


class Effect(NamedTuple):
    """One thing to do about one signal."""

    action: Action
    signal: Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTurn:
    """A turn, as far as what follows depends on it."""

    assessment: Assessment  # what the engine and the ceilings say of it
    is_done: bool = False  # it is no proposal: a watched correction counts it
    is_past: bool = False  # somebody stepped in after it: it is not answered any more
    completes: bool = False  # it says that the task is done, and the policy listens for that


_HOLDING = frozenset({Mode.PAUSE, Mode.AUTO})
_ANSWERS = {
    Mode.WARN: Action.WARN,
    Mode.FLAG: Action.FLAG,
    Mode.PAUSE: Action.HOLD,
    Mode.AUTO: Action.FIX,
}


def decide(
    state: RunState, assessment: Assessment, *, allows: Allows = lambda _: False
) -> tuple[Effect, ...]:
    """Say what is done about an assessment, in this order. Pure.

    The mode bounds the severity: in `warn` nothing but a warning follows, in `flag` no run
    is held or ended. With a card open, an end by the policy still comes, and what needs
    a person takes the place of a card that only told them.

    Args:
        state: The run, as it stands before this turn's answer.
        assessment: What the engine said of the turn.
        allows: What people allowed.
    """
    effects: list[Effect] = []
    for signal in assessment.signals if state.is_free else ():
        # Without asking anybody, once in a streak.
        is_nudge = signal.severity is Severity.NUDGE
        is_sure = signal.severity is Severity.OBSERVE and signal.score >= 1.0
        if signal.first and (is_nudge or is_sure) and not allows(signal):
            effects.append(Effect(Action.NUDGE if is_nudge else Action.NOTE, signal))
    trip, suspicion = assessment.trip, assessment.suspicion
    if state.is_finishing:
        return tuple(effects)
    if trip is not None:
        if _may_answer(state, trip) and (action := _answer_to(state, trip, allows)):
            effects.append(Effect(action, trip))
    elif suspicion is not None and state.has_judge and state.is_free and not allows(suspicion):
        effects.append(Effect(Action.QUESTION, suspicion))
    return tuple(effects)


def _may_answer(state: RunState, trip: Signal) -> bool:
    """Whoever has the run in hand comes first, unless this asks for more than the open card."""
    if state.card is Card.NONE:
        return state.control in {Control.FREE, Control.ALREADY_ENDED}
    if state.mode not in _HOLDING:
        return False
    if trip.severity is Severity.STOP:
        return state.control in {Control.FREE, Control.HELD}
    is_free = state.control is Control.FREE
    return trip.severity is Severity.ASK and is_free and state.card is Card.TELLS


def _answer_to(state: RunState, trip: Signal, allows: Allows) -> Action | None:
    is_budget = trip.kind is Kind.BUDGET
    if allows(trip):
        return Action.ALLOW
    if state.control is Control.ALREADY_ENDED:
        answer = Action.WARN
    elif trip.severity is Severity.STOP and state.mode in _HOLDING:
        answer = Action.STOP
    elif trip.severity is Severity.ESCALATE and state.mode is not Mode.WARN:
        answer = Action.ESCALATE
    else:
        answer = _ANSWERS[state.mode]
    if answer is Action.WARN and is_budget and state.knows_budget:
        return None  # a ceiling stays reached: it was said once, until it is raised
    # No correction makes money: a spent budget always waits for a person.
    if answer is Action.FIX and (state.fix_failed or is_budget):
        return Action.HOLD
    return answer


def judge(
    state: RunState, turn: JudgedTurn, *, allows: Allows = lambda _: False
) -> tuple[Effect | FollowUp, ...]:
    """Say all that one turn leads to, in this order. Pure.

    First what was begun earlier and waited for a further turn, then what people
    are told of ceilings, then what `decide` says of the signals.

    Args:
        state: The run, as it stands before this turn's answer.
        turn: The turn, and what is said of it.
        allows: What people allowed.
    """
    effects: list[Effect | FollowUp] = []
    if state.corrected_turns is not None and turn.is_done:
        effects.append(FollowUp.COUNT_CORRECTED)
        # A trip settles it too, as one that failed: with the answer to that trip.
        if state.corrected_turns + 1 >= RECOVERY_TURNS and turn.assessment.trip is None:
            effects.append(FollowUp.SETTLE_CORRECTION)
    is_stopped = state.is_finished or state.is_orphaned
    if is_stopped:
        effects.append(FollowUp.STOP_FINISHED if state.is_finished else FollowUp.STOP_WITH_PARENT)
    if turn.completes:
        return (*effects, FollowUp.COMPLETE)
    if turn.is_past:
        return tuple(effects)
    if state.has_new_policy:
        effects.append(FollowUp.FOLLOW_POLICY)
    effects += [Effect(Action.TELL, signal) for signal in state.crossings]
    # No answer can reach a run that has just been stopped.
    for effect in () if is_stopped else decide(state, turn.assessment, allows=allows):
        effects.append(effect)
        if effect.action in {Action.ALLOW, Action.WARN}:
            effects.append(FollowUp.COUNT_AFRESH)
    return tuple(effects)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowPattern:
    """Calls a person allows to repeat: canonical call text, or a glob over it."""

    pattern: str
    match: Literal["exact", "glob"] = "exact"

    def covers(self, call: str) -> bool:
        """Tell whether this canonical call text is meant.

        >>> AllowPattern(pattern='Bash {"command":"pytest*', match="glob").covers(
        ...     'Bash {"command":"pytest -q"}')
        True
        """
        return call == self.pattern if self.match == "exact" else fnmatchcase(call, self.pattern)


def is_allowed(signal: Signal, patterns: Iterable[AllowPattern]) -> bool:
    """Tell whether people allowed every call this signal rests on.

    A budget is never allowed by a pattern: its card offers `allow_budget`.
    """
    calls, known = signal.evidence.calls, tuple(patterns)
    covered = all(any(pattern.covers(call) for pattern in known) for call in calls)
    return signal.kind is not Kind.BUDGET and bool(calls) and covered
