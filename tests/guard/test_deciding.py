"""What is done about an assessment, by who has the run in hand and what its card asks."""

from dataclasses import replace

import pytest

from guard.deciding import Action, Card, Control, Effect, RunState, decide
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
END = replace(TRIP, severity=Severity.STOP)
ELSEWHERE = replace(TRIP, severity=Severity.ESCALATE)
NEAR = replace(TRIP, score=0.9)
NUDGE = replace(TRIP, severity=Severity.NUDGE)
SHADOW = replace(TRIP, severity=Severity.OBSERVE)
SUSPICION = replace(NEAR, kind=Kind.SUSPICION)

PAUSE = RunState(mode=Mode.PAUSE)
ASKED = replace(PAUSE, control=Control.HELD, card=Card.ASKS)
TOLD = replace(PAUSE, card=Card.INFORMS)


def assessed(*signals, suspicion=None):
    return Assessment(seq=2, score=1.0, changed=False, signals=signals, suspicion=suspicion)


def actions(state, *signals, **fields):
    return [effect.action for effect in decide(state, assessed(*signals), **fields)]


@pytest.mark.parametrize(
    ("signal", "warn", "flag", "pause", "auto"),
    [
        (TRIP, Action.WARN, Action.FLAG, Action.HOLD, Action.FIX),
        (BUDGET, Action.WARN, Action.FLAG, Action.HOLD, Action.HOLD),
        (ELSEWHERE, Action.WARN, Action.ESCALATE, Action.ESCALATE, Action.ESCALATE),
        (END, Action.WARN, Action.FLAG, Action.STOP, Action.STOP),
    ],
)
def test_each_mode_has_its_answer_to_each_severity(signal, warn, flag, pause, auto):
    answers = [actions(RunState(mode=mode), signal) for mode in Mode]

    assert list(Mode) == [Mode.WARN, Mode.FLAG, Mode.PAUSE, Mode.AUTO]
    assert answers == [[warn], [flag], [pause], [auto]]


def test_a_correction_that_failed_leads_to_a_person():
    assert actions(RunState(mode=Mode.AUTO, fix_failed=True), TRIP) == [Action.HOLD]


@pytest.mark.parametrize("mode", list(Mode))
def test_nothing_follows_from_what_is_only_near(mode):
    assert actions(RunState(mode=mode)) == actions(RunState(mode=mode), NEAR) == []


@pytest.mark.parametrize(
    ("state", "signal", "answer"),
    [
        (ASKED, TRIP, []),
        (ASKED, ELSEWHERE, []),
        (ASKED, END, [Action.STOP]),
        (TOLD, TRIP, [Action.HOLD]),
        (TOLD, ELSEWHERE, []),
        (TOLD, END, [Action.STOP]),
        (replace(TOLD, mode=Mode.FLAG), TRIP, []),
        (replace(ASKED, mode=Mode.FLAG), END, []),
        (replace(ASKED, control=Control.FREE), TRIP, []),
        (replace(ASKED, control=Control.PAUSED), END, []),
        (replace(PAUSE, control=Control.PAUSED), TRIP, []),
        (replace(PAUSE, control=Control.OUT_OF_REACH), END, []),
    ],
)
def test_who_has_the_run_in_hand_comes_first(state, signal, answer):
    assert actions(state, signal) == answer


@pytest.mark.parametrize("signal", [TRIP, ELSEWHERE, END])
def test_of_a_run_that_was_told_whole_people_only_hear(signal):
    assert actions(replace(PAUSE, control=Control.ALREADY_ENDED), signal) == [Action.WARN]


@pytest.mark.parametrize("signal", [TRIP, END, SUSPICION])
def test_a_run_that_finishes_is_let_through(signal):
    state = replace(PAUSE, is_finishing=True, has_judge=True)

    assert decide(state, assessed(signal, suspicion=SUSPICION)) == ()


def test_a_ceiling_that_people_know_of_is_not_said_again():
    state = RunState(mode=Mode.WARN, knows_budget=True)

    assert actions(state, BUDGET) == []
    assert actions(state, TRIP) == [Action.WARN]
    assert actions(replace(state, mode=Mode.PAUSE), BUDGET) == [Action.HOLD]


def test_what_people_allowed_begins_again_and_asks_nobody():
    state = replace(PAUSE, has_judge=True)

    assert actions(state, END, allows=lambda _: True) == [Action.ALLOW]
    assert actions(state, NUDGE, allows=lambda _: True) == []
    assert decide(state, assessed(suspicion=SUSPICION), allows=lambda _: True) == ()


def test_nobody_asks_what_is_allowed_of_what_nothing_would_be_done_about():
    def refuse(signal):
        raise AssertionError(signal)

    assert actions(ASKED, TRIP, NUDGE, allows=refuse) == []


@pytest.mark.parametrize(
    ("signal", "answer"),
    [
        (NUDGE, [Action.NUDGE]),
        (replace(NUDGE, score=0.9), [Action.NUDGE]),
        (SHADOW, [Action.RECORD]),
        (replace(SHADOW, score=0.9), []),
        (replace(NUDGE, first=False), []),
        (replace(SHADOW, first=False), []),
    ],
)
def test_a_quiet_severity_is_said_once_in_its_streak(signal, answer):
    assert actions(PAUSE, signal) == answer
    assert actions(TOLD, signal) == []


def test_what_is_said_quietly_comes_before_the_answer():
    effects = decide(PAUSE, assessed(SHADOW, NUDGE, TRIP))

    assert effects == (
        Effect(Action.RECORD, SHADOW),
        Effect(Action.NUDGE, NUDGE),
        Effect(Action.HOLD, TRIP),
    )


def test_the_highest_severity_of_a_turn_is_answered():
    assert actions(PAUSE, ELSEWHERE, END, TRIP) == [Action.STOP]


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        (replace(PAUSE, has_judge=True), [Action.QUESTION]),
        (PAUSE, []),
        (replace(TOLD, has_judge=True), []),
        (replace(PAUSE, has_judge=True, control=Control.PAUSED), []),
    ],
)
def test_a_suspicion_is_a_question_where_a_model_judges_and_the_run_is_free(state, answer):
    effects = decide(state, assessed(suspicion=SUSPICION))

    assert [effect.action for effect in effects] == answer


def test_a_trip_asks_no_question_besides():
    state = replace(PAUSE, has_judge=True)

    (effect,) = decide(state, assessed(TRIP, suspicion=SUSPICION))

    assert effect == Effect(Action.HOLD, TRIP)
