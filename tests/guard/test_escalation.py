"""Which severity a signal stands on, and when a streak is told of."""

from __future__ import annotations

import pytest

from guard.engine import Engine
from guard.errors import PolicyInvalid
from guard.policy import EscalationRule, Policy
from guard.signals import Kind, Severity
from tests.guard.build import a_call, a_user, watch

MISSING = a_call("Read", error="File does not exist.", path="tokens.py")


def policy_of(**ladder) -> Policy:
    return Policy.from_mapping({"detectors": ["repeat"], "ladder": ladder})


def severities(policy, count=6) -> list[Severity | None]:
    trips = [assessment.trip for assessment in watch([MISSING] * count, policy)]
    return [trip.severity if trip else None for trip in trips]


def signals(policy, turns):
    return [a.signals[0] if a.signals else None for a in watch(turns, policy)]


def test_left_alone_a_trip_asks_a_person():
    assert severities(policy_of())[2:] == [Severity.ASK] * 4


def test_counts_climb_the_ladder():
    policy = policy_of(repeat={"trip": "escalate", "ask_at": 4, "stop_at": 6})

    assert severities(policy) == [
        None,
        None,
        Severity.ESCALATE,
        Severity.ASK,
        Severity.ASK,
        Severity.STOP,
    ]


def test_a_count_below_the_limit_does_not_make_it_impatient():
    assert severities(policy_of(every={"stop_at": 2}))[:3] == [None, None, Severity.STOP]


def test_a_detectors_own_table_wins_over_that_of_every():
    policy = policy_of(every={"trip": "stop", "ask_at": 5}, repeat={"trip": "escalate"})

    assert severities(policy)[2:] == [
        Severity.ESCALATE,
        Severity.ESCALATE,
        Severity.ASK,
        Severity.ASK,
    ]


def test_a_shadowed_detector_never_trips_and_is_told_of_once():
    found = signals(policy_of(repeat={"trip": "observe"}), [MISSING] * 5)

    assert not any(signal.trips for signal in found if signal)
    assert [s.first for s in found[2:]] == [True, False, False]
    assert {s.severity for s in found[2:]} == {Severity.OBSERVE}


def test_a_shadow_hides_no_other_detector():
    policy = Policy.from_mapping({"ladder": {"repeat": {"trip": "observe"}}})
    to_and_fro = [a_call("Read", "same", path=name) for name in ("a.py", "b.py") * 4]

    assert any(assessment.trip for assessment in watch(to_and_fro, policy))


def test_nearly_sure_is_a_note_unless_the_agent_is_to_be_told():
    quiet, loud = policy_of(), policy_of(every={"nudge": "tell"})

    assert signals(quiet, [MISSING] * 2)[1].severity is Severity.OBSERVE
    assert signals(loud, [MISSING] * 2)[1].severity is Severity.NUDGE


def test_left_alone_three_of_five_is_nearly_sure():
    policy = Policy.from_mapping(
        {
            "detectors": ["repeat"],
            "repeat": {"calls": 5},
            "ladder": {"every": {"nudge": "tell"}},
        }
    )

    found = signals(policy, [MISSING] * 4)

    assert [signal.severity is Severity.NUDGE for signal in found if signal] == [False, True, True]


def test_a_streak_is_nudged_once_and_again_after_a_person_spoke():
    policy = policy_of(every={"nudge": "tell"}, repeat={"nudge_at": 0.1})
    polls = [a_call("get_status", "state: PENDING", id=1)] * 4

    found = signals(policy, [*polls, a_user(), *polls])

    nudges = [place for place, signal in enumerate(found) if signal and signal.first]
    assert nudges == [1, 6]


def test_a_budget_that_nears_its_end_is_told_of_once():
    policy = Policy.from_mapping({"budget": {"calls": 10}, "ladder": {"every": {"nudge": "tell"}}})
    calls = [a_call("Read", f"the text of page {n}: {n * 7919}", path=f"{n}.md") for n in range(9)]

    nudges = [
        signal
        for assessment in watch(calls, policy)
        for signal in assessment.signals
        if signal.kind is Kind.BUDGET and signal.severity is Severity.NUDGE
    ]

    assert [signal.first for signal in nudges] == [True, False]


def test_a_trip_that_only_nudges_opens_nothing():
    found = signals(policy_of(repeat={"trip": "nudge"}), [MISSING] * 3)

    assert found[2].score == 1.0
    assert found[2].severity is Severity.NUDGE
    assert not found[2].trips


def test_an_engine_rebuilt_within_the_streak_does_not_nudge_again():
    policy = policy_of(every={"nudge": "tell"}, repeat={"nudge_at": 0.1})
    poll = a_call("get_status", "state: PENDING", id=1)
    engine = Engine(policy)
    for _ in range(4):
        engine.observe(poll)

    (signal,) = engine.observe(poll).signals

    assert not signal.first


@pytest.mark.parametrize(
    "table", [{"ask_at": 1}, {"stop_at": 1001}, {"nudge_at": 0}, {"nudge_at": 1.5}]
)
def test_bounds_hold_in_code(table):
    with pytest.raises(PolicyInvalid):
        EscalationRule(**table)
