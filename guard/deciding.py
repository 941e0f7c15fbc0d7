"""What a turn leads to, the same for a live run, a replay, a backtest and an explanation.

`decide` says what is done about a loop, depending on the run's mode and on who controls it;
`judge` adds what follows from earlier actions. Both are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from guard.signals import Assessment, Kind, Severity, Signal
from guard.wire import Mode

# Whether people allowed every call that a signal rests on; called for signals to be answered.
Allows = Callable[[Signal], bool]
# Turns without a new trip after which a correction is judged to have helped or not.
RECOVERY_TURNS = 5


class Action(StrEnum):
    """What is done about a signal."""

    NOTIFY = "tell"  # a ceiling is near or reached: people are told once about each
    RECORD = "note"  # it is recorded: what a rule in `observe` would have done
    NUDGE = "nudge"  # the agent is told what repeats; nobody is asked
    QUESTION = "question"  # a model is asked whether this suspicion is a loop
    ALLOW = "allow"  # people allowed this call to repeat: its count begins again
    WARN = "warn"  # people are told; the agent goes on
    FLAG = "flag"  # a card opens; the agent goes on
    HOLD = "hold"  # a card opens; the agent waits for its answer
    FIX = "fix"  # as `hold`, but the judge's correction, if it has one, is sent instead
    ESCALATE = "escalate"  # a card as in `flag`, and the agent is asked for another strategy
    STOP = "stop"  # the policy ends the run; not one more turn is let through

    @property
    def is_quiet(self) -> bool:
        """Nobody is asked, and no other action is prevented."""
        return self in {Action.RECORD, Action.NUDGE}


class FollowUp(StrEnum):
    """What follows from a turn without resting on a signal."""

    COUNT_CORRECTED = "count corrected"  # one more turn was done since a watched correction
    SETTLE_CORRECTION = "settle correction"  # there are enough: it helped if they brought news
    STOP_FINISHED = "stop finished"  # the agent was asked to finish and has had its last turns
    STOP_WITH_PARENT = "stop with parent"  # the run that started this one was stopped
    COMPLETE = "complete"  # the agent says that its task is done
    ADOPT_POLICY = "follow policy"  # from here on a newer policy of its project judges the run
    RESET_STREAKS = "count afresh"  # all streaks begin again


class Control(StrEnum):
    """Who controls a run."""

    FREE = "free"  # nobody: its agent works
    HELD = "held"  # its open card
    PAUSED = "paused"  # a person, whose answer comes first
    ALREADY_ENDED = "already ended"  # it ended before its turns came: imported, or sent late
    OUT_OF_REACH = "out of reach"  # it has ended, or is being ended


class Card(StrEnum):
    """What a run's open card asks of people."""

    NONE = "none"
    INFORMS = "tells"  # nothing: its agent was asked for another strategy and goes on
    ASKS = "asks"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """What an answer depends on, apart from what the engine says of the turn."""

    mode: Mode
    control: Control = Control.FREE  # who controls it
    card: Card = Card.NONE  # its open card
    is_finishing: bool = False  # it was asked to finish: its last turns are let through
    fix_failed: bool = False  # in `auto`, a correction for this trouble did not help
    knows_budget: bool = False  # people were told of every ceiling that it has reached
    has_judge: bool = False  # there is a model to ask about suspicions
    corrected_turns: int | None = None  # turns done since a watched correction; None: no correction
    is_finished: bool = False  # it was asked to finish, and this turn is beyond its last
    is_orphaned: bool = False  # the run that started it was stopped, but it still works
    has_new_policy: bool = False  # it follows its project's policy, which has changed
    crossings: tuple[Signal, ...] = ()  # ceilings near or reached, people not told yet

    @property
    def is_free(self) -> bool:
        """Nobody controls the run, and no card is open for it."""
        return self.control is Control.FREE and self.card is Card.NONE


class Effect(NamedTuple):
    """One thing to do about one signal."""

    action: Action
    signal: Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """The facts about a turn that decide what follows from it."""

    assessment: Assessment  # what the engine and the ceilings say of it
    is_done: bool = False  # it is not a proposal, so it counts for a watched correction
    is_superseded: bool = False  # a person stepped in after it: it is no longer answered
    completes: bool = False  # it says that the task is done, and the policy looks for that


_HOLDING_MODES = frozenset({Mode.PAUSE, Mode.AUTO})
_ACTION_BY_MODE = {
    Mode.WARN: Action.WARN,
    Mode.FLAG: Action.FLAG,
    Mode.PAUSE: Action.HOLD,
    Mode.AUTO: Action.FIX,
}


def decide(
    state: RunState, assessment: Assessment, *, allows: Allows = lambda _: False
) -> tuple[Effect, ...]:
    """Return what is done about an assessment, in this order. Pure.

    The mode limits the consequences: in `warn` people are only warned, in `flag` no run is
    held or ended. With a card open, the policy can still end the run, and a trip that needs
    a person replaces a card that only informed people.

    Args:
        state: The run before this turn is answered.
        assessment: What the engine said of the turn.
        allows: Whether people allowed a signal's calls.
    """
    effects: list[Effect] = []
    for signal in assessment.signals if state.is_free else ():
        # These ask nobody, and happen once in a streak.
        is_nudge = signal.severity is Severity.NUDGE
        is_sure = signal.severity is Severity.OBSERVE and signal.score >= 1.0
        if signal.first and (is_nudge or is_sure) and not allows(signal):
            effects.append(Effect(Action.NUDGE if is_nudge else Action.RECORD, signal))
    trip, suspicion = assessment.trip, assessment.suspicion
    if state.is_finishing:
        return tuple(effects)
    if trip is not None:
        if _is_answered(state, trip) and (action := _choose_action(state, trip, allows)):
            effects.append(Effect(action, trip))
    elif suspicion is not None and state.has_judge and state.is_free and not allows(suspicion):
        effects.append(Effect(Action.QUESTION, suspicion))
    return tuple(effects)


def _is_answered(state: RunState, trip: Signal) -> bool:
    """Return whether a trip is answered.

    Whoever controls the run comes first, unless the trip asks for more than the open card.
    """
    if state.card is Card.NONE:
        return state.control in {Control.FREE, Control.ALREADY_ENDED}
    if state.mode not in _HOLDING_MODES:
        return False
    if trip.severity is Severity.STOP:
        return state.control in {Control.FREE, Control.HELD}
    is_free = state.control is Control.FREE
    return trip.severity is Severity.ASK and is_free and state.card is Card.INFORMS


def _choose_action(state: RunState, trip: Signal, allows: Allows) -> Action | None:
    is_budget = trip.kind is Kind.BUDGET
    if allows(trip):
        return Action.ALLOW
    if state.control is Control.ALREADY_ENDED:
        answer = Action.WARN
    elif trip.severity is Severity.STOP and state.mode in _HOLDING_MODES:
        answer = Action.STOP
    elif trip.severity is Severity.ESCALATE and state.mode is not Mode.WARN:
        answer = Action.ESCALATE
    else:
        answer = _ACTION_BY_MODE[state.mode]
    if answer is Action.WARN and is_budget and state.knows_budget:
        return None  # a ceiling stays reached: people are told once, until it is raised
    # No correction can restore a spent budget: it always waits for a person.
    if answer is Action.FIX and (state.fix_failed or is_budget):
        return Action.HOLD
    return answer


def judge(
    state: RunState, turn: TurnFacts, *, allows: Allows = lambda _: False
) -> tuple[Effect | FollowUp, ...]:
    """Return everything that one turn leads to, in this order. Pure.

    First come earlier actions that waited for a further turn, then what people are
    told about ceilings, then what `decide` says of the signals.

    Args:
        state: The run before this turn is answered.
        turn: The turn, and the assessment of it.
        allows: Whether people allowed a signal's calls.
    """
    effects: list[Effect | FollowUp] = []
    if state.corrected_turns is not None and turn.is_done:
        effects.append(FollowUp.COUNT_CORRECTED)
        # A trip settles the correction too, as failed: with the answer to that trip.
        if state.corrected_turns + 1 >= RECOVERY_TURNS and turn.assessment.trip is None:
            effects.append(FollowUp.SETTLE_CORRECTION)
    is_stopped = state.is_finished or state.is_orphaned
    if is_stopped:
        effects.append(FollowUp.STOP_FINISHED if state.is_finished else FollowUp.STOP_WITH_PARENT)
    if turn.completes:
        return (*effects, FollowUp.COMPLETE)
    if turn.is_superseded:
        return tuple(effects)
    if state.has_new_policy:
        effects.append(FollowUp.ADOPT_POLICY)
    effects += [Effect(Action.NOTIFY, signal) for signal in state.crossings]
    # No answer can reach a run that has just been stopped.
    for effect in () if is_stopped else decide(state, turn.assessment, allows=allows):
        effects.append(effect)
        if effect.action in {Action.ALLOW, Action.WARN}:
            effects.append(FollowUp.RESET_STREAKS)
    return tuple(effects)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowPattern:
    """Calls a person allows to repeat: canonical call text, or a glob over it."""

    pattern: str
    match: Literal["exact", "glob"] = "exact"

    def covers(self, call: str) -> bool:
        """Return whether this canonical call text matches.

        >>> AllowPattern(pattern='Bash {"command":"pytest*', match="glob").covers(
        ...     'Bash {"command":"pytest -q"}')
        True
        """
        return call == self.pattern if self.match == "exact" else fnmatchcase(call, self.pattern)


def is_allowed(signal: Signal, patterns: Iterable[AllowPattern]) -> bool:
    """Return whether people allowed every call this signal rests on.

    A budget is never allowed by a pattern: its card offers `allow_budget`.
    """
    calls, known = signal.evidence.calls, tuple(patterns)
    covered = all(any(pattern.covers(call) for pattern in known) for call in calls)
    return signal.kind is not Kind.BUDGET and bool(calls) and covered
