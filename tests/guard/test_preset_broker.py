"""The broker's rule, pinned: overlap of words, 3 similar turns warn, 5 end the run."""

from __future__ import annotations

import pytest

from guard.contrib.broker import MAX_HISTORY, jaccard, words_in
from guard.engine import Engine
from guard.formats import Recording
from guard.policy import PRESETS, Policy
from guard.replay import replay
from guard.signals import Severity
from guard.turn import Turn
from tests.guard.build import a_call, a_message, a_proposal, a_user, watch

BROKER = PRESETS["broker"]
STUCK = "I need to check the current price before I can make a trading decision"
OTHERS = ["Bought ten shares.", "The report is written and filed.", "Now the second account."]


def severities(turns: list[Turn], policy: Policy = BROKER) -> list[Severity | None]:
    trips = [assessment.trip for assessment in watch(turns, policy)]
    return [trip.severity if trip else None for trip in trips]


def say(*texts: str) -> list[Turn]:
    return [a_message(text) for text in texts]


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("check the price", "check the volume", 0.50),
        ("I need to check the price", "need to CHECK the price", 0.833),
        ("let me check the data again", "check the data again let", 0.833),
        ("the same words", "words the same", 1.0),
        ("price", "price.", 0.0),
        ("", "check the price", 0.0),
        ("", "", 0.0),
    ],
)
def test_the_overlap_of_two_texts_is_shared_words_over_all_words(one, other, overlap):
    assert round(jaccard(words_in(one), words_in(other)), 3) == overlap


def test_an_overlap_of_five_sixths_is_not_similar():
    texts = ["I need to check the price", "need to check the price"] * 4

    # Every turn but the first two has its like two turns before.
    assert severities(say(*texts[:3])) == [None, None, None]
    assert severities(say("I need to check the price", "need to check the price")) == [None, None]


def test_the_fourth_similar_turn_warns_and_the_sixth_ends_the_run():
    assert severities(say(*[STUCK] * 6)) == [
        None,
        None,
        None,
        Severity.ESCALATE,
        Severity.ESCALATE,
        Severity.STOP,
    ]


def test_the_replay_shows_both():
    replayed = replay(Recording(run="r", turns=tuple(say(*[STUCK] * 8))), BROKER)

    assert (replayed.first_alarm, replayed.first_stop) == (3, 5)
    assert (replayed.detector, replayed.kind) == ("broker", "semantic_repeat")


def test_the_first_turn_always_passes():
    assert watch(say(STUCK), BROKER)[0].signals == ()


def test_a_dissimilar_turn_starts_the_count_again():
    turns = say(STUCK, STUCK, STUCK, "Sold everything, the day is over.", *[STUCK] * 3)

    # Looking back over five turns, the three after the break are similar again.
    assert severities(turns) == [None] * 6 + [Severity.ESCALATE]
    assert severities(turns[:6]) == [None] * 6


def test_a_turn_is_compared_with_the_last_five_and_no_earlier_one():
    filler = ["alpha beta", "gamma delta", "epsilon zeta", "eta theta", "iota kappa"]

    similar = watch(say(STUCK, *filler[:4], STUCK), BROKER)[-1]
    forgotten = watch(say(STUCK, *filler, STUCK), BROKER)[-1]

    assert similar.signals
    assert not forgotten.signals


def test_two_states_in_turn_are_similar_to_the_last_but_one():
    assert (
        severities(say(*["I need more information", "Let me check the data"] * 4))[-1]
        is Severity.STOP
    )


def test_tool_calls_count_with_what_came_back():
    failing = a_call("get_price", error="503 service unavailable", symbol="ACME")

    assert severities([failing] * 6)[3:] == [Severity.ESCALATE, Severity.ESCALATE, Severity.STOP]


def test_a_proposed_call_is_no_turn_yet():
    turns = [
        turn
        for i in range(3)
        for turn in (
            a_proposal("get_price", key=f"k{i}", symbol="ACME"),
            a_call("get_price", "12.50", key=f"k{i}", symbol="ACME"),
        )
    ]

    assert not any(severities(turns))


def test_the_state_ends_with_the_session():
    engine = Engine(BROKER)
    for turn in say(*[STUCK] * 5):
        engine.observe(turn)

    engine.reset()

    assert [engine.observe(turn).trip for turn in say(STUCK, STUCK, STUCK)] == [None] * 3


def test_a_person_starts_the_count_again():
    assert severities([*say(*[STUCK] * 3), a_user("Go on."), *say(*[STUCK] * 3)]) == [None] * 7


def test_no_more_than_fifty_turns_are_remembered():
    long = [*say(*[f"{n} {OTHERS[n % 3]} {n * 7}" for n in range(300)]), *say(*[STUCK] * 4)]

    whole, tail = watch(long, BROKER), watch(long[-MAX_HISTORY:], BROKER)

    assert [a.signals[0].score for a in whole[-3:]] == [a.signals[0].score for a in tail[-3:]]


def test_its_thresholds_are_settings():
    policy = Policy.from_mapping(
        {"preset": "broker", "contrib": {"broker": {"warn": 1, "terminate": 2}}}
    )

    assert severities(say(STUCK, STUCK, STUCK), policy) == [None, Severity.ESCALATE, Severity.STOP]
