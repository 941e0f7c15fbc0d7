"""What one turn leads to, as a table: the state of a run, a turn of it, what follows."""

from dataclasses import replace

import pytest

from guard.deciding import (
    RECOVERY_TURNS,
    Action,
    Card,
    Control,
    FollowUp,
    RunState,
    TurnFacts,
    judge,
)
from guard.signals import Assessment, Evidence, Kind, Severity, Signal
from guard.wire import Mode

TRIP = Signal(
    detector="repeat",
    kind=Kind.EXACT_REPEAT,
    score=1.0,
    turns=(0, 1, 2),
    evidence=Evidence(summary="It did the same three times.", calls=("Bash ls",)),
)
BUDGET = replace(TRIP, detector="budget", kind=Kind.BUDGET)
NEAR_BUDGET = replace(BUDGET, score=0.9)
NUDGE = replace(TRIP, severity=Severity.NUDGE)
END = replace(TRIP, severity=Severity.STOP)

FREE = RunState(mode=Mode.PAUSE)
WARNED = RunState(mode=Mode.WARN)
CORRECTED = replace(FREE, corrected_turns=0)
NEARLY_SETTLED = replace(FREE, corrected_turns=RECOVERY_TURNS - 1, fix_failed=True)
FINISHED = replace(FREE, is_finishing=True, is_finished=True)
ORPHANED = replace(FREE, is_orphaned=True)
HELD = replace(FREE, control=Control.HELD, card=Card.ASKS)


def a_turn(*signals, **fields):
    assessment = Assessment(seq=2, score=1.0, changed=False, signals=signals)
    return TurnFacts(assessment=assessment, **{"is_done": True, **fields})


def what_follows(state, turn, **fields):
    """Each effect by its name: what was begun earlier, what is done about a signal."""
    effects = judge(state, turn, **fields)
    return [one if isinstance(one, FollowUp) else one.action for one in effects]


@pytest.mark.parametrize(
    ("state", "turn", "effects"),
    [
        (FREE, a_turn(), []),
        (FREE, a_turn(NUDGE, TRIP), [Action.NUDGE, Action.HOLD]),
        (FREE, a_turn(END), [Action.STOP]),
        (HELD, a_turn(TRIP), []),
        (HELD, a_turn(END), [Action.STOP]),
        # Who is only warned goes on: the next loop counts from here.
        (WARNED, a_turn(TRIP), [Action.WARN, FollowUp.RESET_STREAKS]),
        # A correction is watched for some turns; a trip settles it with its own answer.
        (CORRECTED, a_turn(), [FollowUp.COUNT_CORRECTED]),
        (CORRECTED, a_turn(is_done=False), []),
        (CORRECTED, a_turn(is_superseded=True), [FollowUp.COUNT_CORRECTED]),
        (NEARLY_SETTLED, a_turn(), [FollowUp.COUNT_CORRECTED, FollowUp.SETTLE_CORRECTION]),
        (NEARLY_SETTLED, a_turn(TRIP), [FollowUp.COUNT_CORRECTED, Action.HOLD]),
        # Nothing answers a run that has just been stopped, for whatever reason.
        (FINISHED, a_turn(TRIP), [FollowUp.STOP_FINISHED]),
        (FINISHED, a_turn(is_superseded=True), [FollowUp.STOP_FINISHED]),
        (replace(FINISHED, is_orphaned=True), a_turn(), [FollowUp.STOP_FINISHED]),
        (ORPHANED, a_turn(NUDGE, TRIP), [FollowUp.STOP_WITH_PARENT]),
        (ORPHANED, a_turn(completes=True), [FollowUp.STOP_WITH_PARENT, FollowUp.COMPLETE]),
        # What completes is over; what somebody has answered already is not answered again.
        (FREE, a_turn(TRIP, completes=True), [FollowUp.COMPLETE]),
        (FREE, a_turn(TRIP, is_superseded=True), []),
        (replace(FREE, has_new_policy=True), a_turn(is_superseded=True), []),
        (replace(FREE, has_new_policy=True), a_turn(TRIP), [FollowUp.ADOPT_POLICY, Action.HOLD]),
        # A ceiling is told to people whoever has the run in hand.
        (replace(FREE, crossings=(NEAR_BUDGET,)), a_turn(NEAR_BUDGET), [Action.NOTIFY]),
        (replace(HELD, crossings=(BUDGET,)), a_turn(BUDGET), [Action.NOTIFY]),
        (replace(FREE, crossings=(BUDGET,)), a_turn(BUDGET), [Action.NOTIFY, Action.HOLD]),
        (
            replace(ORPHANED, crossings=(BUDGET,)),
            a_turn(BUDGET),
            [FollowUp.STOP_WITH_PARENT, "tell"],
        ),
        (replace(WARNED, knows_budget=True), a_turn(BUDGET), []),
    ],
)
def test_each_state_and_turn_has_its_effects_in_order(state, turn, effects):
    assert what_follows(state, turn) == effects


def test_what_people_allowed_counts_afresh():
    effects = what_follows(FREE, a_turn(TRIP), allows=lambda _: True)

    assert effects == [Action.ALLOW, FollowUp.RESET_STREAKS]
