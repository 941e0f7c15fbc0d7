"""What one turn leads to: the same for a live run, a replay, a backtest and an explanation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from guard.policy.deciding import Action, Effect, RunState, decide
from guard.signals import Assessment, Signal

RECOVERY_TURNS = 5
"""Turns without a new trip after which a correction is said to have helped, or not."""


class FollowUp(StrEnum):
    """What happens because of a turn, and rests on no signal."""

    COUNT_CORRECTED = "count corrected"
    """One more turn was done since a correction that is being watched."""
    SETTLE_CORRECTION = "settle correction"
    """Its turns are over: it helped if they brought something new."""
    STOP_FINISHED = "stop finished"
    """The agent was asked to finish and has had its last turns."""
    STOP_WITH_PARENT = "stop with parent"
    """The run that started this one was stopped."""
    COMPLETE = "complete"
    """The agent says that its task is done."""
    FOLLOW_POLICY = "follow policy"
    """The run is judged by a newer version of its project's policy from here on."""
    COUNT_AFRESH = "count afresh"
    """All streaks begin again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTurn:
    """A turn, as far as what follows depends on it.

    Attributes:
        assessment: What the engine and the ceilings say of it.
        is_done: It is no proposal: a watched correction counts it.
        is_past: Somebody stepped in after it: it is not answered any more.
        completes: It says that the task is done, and the policy listens for that.
    """

    assessment: Assessment
    is_done: bool = False
    is_past: bool = False
    completes: bool = False


def judge(
    state: RunState,
    turn: JudgedTurn,
    *,
    allows: Callable[[Signal], bool] = lambda _: False,
) -> tuple[Effect | FollowUp, ...]:
    """Say all that one turn leads to, in this order. Pure.

    First what was begun earlier and waited for a further turn, then what people
    are told of ceilings, then what `decide` says of the signals.

    Args:
        state: The run, as it stands before this turn's answer.
        turn: The turn, and what is said of it.
        allows: Whether people allowed every call that a signal rests on.
    """
    effects: list[Effect | FollowUp] = []
    if state.corrected_turns is not None and turn.is_done:
        effects.append(FollowUp.COUNT_CORRECTED)
        # A trip settles it too, as one that failed: with the answer to that trip.
        if state.corrected_turns + 1 >= RECOVERY_TURNS and turn.assessment.trip is None:
            effects.append(FollowUp.SETTLE_CORRECTION)
    is_stopped = state.is_finished or state.is_orphaned
    if is_stopped:
        finished = FollowUp.STOP_FINISHED
        effects.append(finished if state.is_finished else FollowUp.STOP_WITH_PARENT)
    if turn.completes:
        return (*effects, FollowUp.COMPLETE)
    if turn.is_past:
        return tuple(effects)
    if state.has_new_policy:
        effects.append(FollowUp.FOLLOW_POLICY)
    effects += [Effect(Action.TELL, signal) for signal in state.untold]
    # No answer can reach a run that has just been stopped.
    for effect in () if is_stopped else decide(state, turn.assessment, allows=allows):
        effects.append(effect)
        if effect.action in {Action.ALLOW, Action.WARN}:
            effects.append(FollowUp.COUNT_AFRESH)
    return tuple(effects)
