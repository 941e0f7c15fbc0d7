from __future__ import annotations

import pytest

from guard.policy import Policy, SemanticRepeat
from tests.guard.build import a_call, a_message, a_proposal, first_trip, last_trip
from tests.guard.scenes import LOOPS

LET_ME = "Let me check the configuration file of the old server to see"
REWORDED = LOOPS["a reworded monologue"][0]
SAME_ERROR = LOOPS["the same error, other flags"][0]


def test_three_reworded_messages_trip():
    trip = last_trip(REWORDED)

    assert trip.kind == "semantic_repeat"
    assert trip.evidence.similarity >= trip.evidence.threshold == 0.86
    assert trip.evidence.summary == "It said the same 3 times in other words."


def test_four_announcements_trip_where_the_deeds_are_left_out():
    ends = ("whether it is there", "if it is there", "whether that is there", "if that is there")

    assert first_trip([a_message(f"{LET_ME} {end}.") for end in ends]) == 3


def test_two_do_not():
    assert first_trip(REWORDED[:2]) is None


def test_one_unlike_pair_is_enough_to_be_quiet():
    assert first_trip([*REWORDED[:2], a_message("The setting is there; I use it now.")]) is None


def test_identical_messages_are_left_to_the_exact_rule():
    policy = Policy(detectors=("semantic_repeat",))

    assert first_trip([a_message("I am done.")] * 5, policy) is None


def test_messages_that_count_are_progress():
    counted = [a_message(f"Now reading chapter {n} of the long book.") for n in range(2, 9)]

    assert first_trip(counted) is None


def test_messages_about_calls_that_get_on_are_quiet():
    calls = [a_call("Read", f"fresh text {n} about {n * 7}", path=f"{n}") for n in range(3)]

    assert first_trip([t for pair in zip(REWORDED, calls, strict=True) for t in pair]) is None


def test_messages_about_vain_calls_trip_all_the_same():
    vain = a_call("Read", error="not found", path="x")

    assert first_trip([t for said in REWORDED for t in (vain, said)]) is not None


def test_an_answer_with_news_in_between_is_a_conversation():
    asked = [a_message(said.content, agent="a") for said in REWORDED]
    told = [a_message(f"Look at {name}, line {n}.", agent="b") for n, name in enumerate("xyz")]

    assert first_trip([t for pair in zip(asked, told, strict=True) for t in pair]) is None


def test_like_calls_with_the_same_error_trip():
    assert last_trip(SAME_ERROR).evidence.repeats == 4


def test_like_calls_with_other_errors_are_progress():
    errors = ["unknown column 'a'", "unknown column 'b'", "unknown column 'c'"]
    calls = [
        a_call("sql", error=error, columns=f"{error[-2]}, name, city, street, age, phone, mail")
        for error in errors
    ]

    assert first_trip(calls) is None


def test_a_proposed_call_in_other_words_is_let_run():
    proposed = a_proposal("Bash", command=f"{SAME_ERROR[0].args['command']} -q")

    assert first_trip([*SAME_ERROR[:2], proposed]) is None


def test_like_acts_that_succeed_are_a_batch():
    acts = [a_call("move_file", "moved", source=f"src/{n}.txt", to="archive") for n in range(6)]

    assert first_trip(acts) is None


def test_like_calls_of_unknown_outcome_are_quiet():
    calls = [a_call("Bash", None, command=f"python -m app.build --target web {n}") for n in "abcd"]

    assert first_trip(calls) is None


@pytest.mark.parametrize(("window", "trips_at"), [(2, 1), (4, None)])
def test_the_window_is_the_policys(window, trips_at):
    assert first_trip(REWORDED, Policy(semantic_repeat=SemanticRepeat(window=window))) == trips_at


def test_the_threshold_is_the_policys():
    assert first_trip(REWORDED, Policy(semantic_repeat=SemanticRepeat(threshold=0.99))) is None
