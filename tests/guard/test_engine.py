from __future__ import annotations

from decimal import Decimal

import pytest

from guard.budget import Budget, Spent
from guard.engine import Engine
from guard.policy import Policy
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message, a_proposal, a_user, first_trip, watch
from tests.guard.scenes import HEALTHY, LOOPS


@pytest.mark.parametrize("scene", sorted(LOOPS))
def test_a_loop_trips_its_detector_on_its_last_turn(scene):
    turns, detector = LOOPS[scene]

    assessments = watch(turns)

    assert [a.trip for a in assessments[:-1]] == [None] * (len(turns) - 1)
    assert assessments[-1].trip.detector == detector


@pytest.mark.parametrize("scene", sorted(HEALTHY))
def test_healthy_work_goes_unflagged(scene):
    assert first_trip(HEALTHY[scene]) is None


def test_it_numbers_turns_from_nought_when_nobody_else_does():
    assert [a.seq for a in watch([a_user(), a_call(), a_message("x")])] == [0, 1, 2]


def test_a_completion_is_no_second_turn():
    turns = [a_proposal(key="a"), a_call(key="a"), a_proposal(key="b"), a_call(key="b")]

    assert [a.seq for a in watch(turns)] == [0, 0, 1, 1]


def test_a_completion_finds_its_proposal_by_number_too():
    turns = [a_proposal(seq=5), a_call(seq=5), a_proposal(seq=6)]

    assert [a.seq for a in watch(turns)] == [5, 5, 6]


def test_a_completion_whose_proposal_is_forgotten_is_a_new_turn():
    assert [a.seq for a in watch([a_call(key="a"), a_call(key="b")])] == [0, 1]


def test_a_proposal_and_its_completion_count_as_one_repeat():
    turns: list[Turn] = []
    for key in "abc":
        turns.append(a_proposal("Read", key=key, path="x"))
        turns.append(a_call("Read", error="not found", key=key, path="x"))

    trips = [a.trip is not None for a in watch(turns)]

    assert trips == [False, False, False, False, True, True]


def test_parallel_completions_in_any_order_are_each_put_in_place():
    proposals = [a_proposal("Read", key=key, path=key) for key in "abc"]
    completions = [a_call("Read", f"text of {key}", key=key, path=key) for key in "cab"]

    assert [a.seq for a in watch([*proposals, *completions])] == [0, 1, 2, 2, 0, 1]


def test_parallel_identical_calls_trip_when_three_are_known():
    proposals = [a_proposal("Read", key=key, path="x") for key in "abc"]
    completions = [a_call("Read", error="not found", key=key, path="x") for key in "cab"]

    trips = [a.trip is not None for a in watch([*proposals, *completions])]

    assert trips[:4] == [False] * 4
    assert trips[-1]


def test_the_tape_rises_with_each_repeat_until_a_card_opens():
    read = a_call("Read", "text", path="a.py")

    first, again, third = watch([read, read, read])

    assert (first.score, first.changed) == (0.0, True)
    assert first.score < again.score < third.score == 1.0
    assert not again.changed
    assert third.trip


def test_the_tape_stays_low_over_other_work_and_shows_it_as_changed():
    turns = [a_call("Read", "alpha beta", path="a.py"), a_call("Bash", "1 passed", command="make")]

    other = watch(turns)[-1]

    assert (other.score, other.stuck, other.changed) == (0.0, 0.0, True)


def test_what_is_sure_but_asks_nobody_stays_below_the_height_that_opens_a_card():
    quiet = Policy.from_text('[ladder.every]\ntrip = "observe"')
    read = a_call("Read", "text", path="a.py")
    engine = Engine(quiet)

    scores = [engine.observe(read).score for _ in range(6)]

    assert scores == sorted(scores)
    assert scores[-1] < 1.0


def test_a_policy_that_asks_later_lets_the_same_attempts_go_on_longer():
    fails = "error: unknown option in line 4 of the file config"
    asks = [a_call("Bash", error=fails, command=f"make {chr(97 + n)}") for n in range(40)]

    def asked_at(sensitivity):
        engine = Engine(Policy(detectors=("stall",), sensitivity=sensitivity))
        trips = [engine.observe(turn).trip is not None for turn in asks]
        return trips.index(True) if any(trips) else len(asks)

    assert asked_at(0.6) < asked_at(0.8) < asked_at(0.95)


def test_the_tape_shows_an_old_answer_as_unchanged_after_a_reset_too():
    engine, read = Engine(), a_call("Read", "text", path="a.py")
    engine.observe(read)

    engine.reset()

    assert not engine.observe(read).changed


def test_what_the_caller_spent_is_taken_before_the_engines_own_count():
    engine = Engine(Policy(budget=Budget(usd=Decimal(1))))

    assessment = engine.observe(a_call(), spent=Spent(usd=Decimal(2)))

    assert assessment.trip.evidence.spent == "2.00"


def test_switched_off_detectors_say_nothing():
    turns, _ = LOOPS["the same missing file"]

    assert first_trip(turns, Policy(detectors=("talk",))) is None


def test_system_turns_are_neither_work_nor_a_reset():
    read = a_call("Read", error="not found", path="x")
    note = Turn(role=Role.SYSTEM, content="Remember the rules.")

    assert first_trip([note, note, note, note]) is None
    assert first_trip([read, note, read, note, read]) == 4


def test_its_memory_stays_bounded_in_a_long_run():
    engine = Engine()
    for i in range(2000):
        engine.observe(a_call("Bash", f"line {i}\nanother {i * 31}", command=f"do {i}"))

    assert len(engine.history.steps) <= Engine.WINDOW
    seen = engine._terms._seen
    assert len(seen.recent) + len(seen.older) < Engine.WINDOW * 8


def test_another_session_in_the_same_log_starts_afresh():
    def fails(session):
        return a_call("Bash", error="boom", command="make", session=session)

    assert first_trip([fails("a"), fails("a"), fails("b"), fails("b")]) is None
    assert first_trip([fails("a"), fails("b"), fails(None), fails("b")]) == 3
