"""Ralph's rule, pinned: a 0.9 edit ratio with any of the last 5 outputs, and four limits."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from rapidfuzz import fuzz

from guard.budget import Budget, Spent
from guard.contrib.ralph import limit_reached
from guard.engine import Engine
from guard.formats import Recording
from guard.policy import PRESETS, Policy
from guard.replay import replay
from guard.signals import Kind, Severity
from guard.turn import Turn
from tests.guard.build import a_call, a_message, a_proposal, watch

RALPH = PRESETS["ralph"]
LIMITS = RALPH.budget
DONE = "- [x] TASK_COMPLETE"

# Its documentation calls the first and the last of these similar; its rule does not.
ITS_OWN_EXAMPLE = [
    "Let me check the database for user information...",
    "I'll query the database to find the user data...",
    "Checking the database for user information...",
]


def say(*texts: str) -> list[Turn]:
    return [a_message(text) for text in texts]


def stops_at(turns: list[Turn], policy: Policy = RALPH) -> int | None:
    return replay(Recording(run="r", turns=tuple(turns)), policy).first_stop


def test_its_own_example_scores_below_the_threshold_and_does_not_trip():
    assert round(fuzz.ratio(ITS_OWN_EXAMPLE[0], ITS_OWN_EXAMPLE[2]) / 100, 3) == 0.872
    assert stops_at(say(*ITS_OWN_EXAMPLE)) is None


def test_the_second_similar_output_ends_the_run():
    assert stops_at(say("Processing file 14 of 100", "Processing file 15 of 100")) == 1


def test_any_of_the_last_five_counts_and_no_earlier_one():
    filler = ["alpha beta gamma", "one two three four", "the quick brown fox", "lorem ipsum dolor"]
    again = "Nothing left to do here, waiting for instructions."

    assert stops_at(say(again, *filler, again)) == 5
    assert stops_at(say(again, *filler, "sit amet consectetur", again)) is None


def test_a_failed_iteration_is_neither_compared_nor_remembered():
    failed = a_call("iterate", error="boom", content="Working on the parser now.")
    worked = a_call("iterate", "ok", content="Working on the parser now.")

    assert stops_at([worked, failed]) is None
    assert stops_at([failed, worked]) is None
    assert stops_at([worked, failed, worked]) == 2


def test_what_came_back_is_the_output_of_a_call_without_words():
    assert stops_at([a_call("run", "Processing 14/100"), a_call("run", "Processing 15/100")]) == 1


def test_an_empty_output_is_not_compared():
    assert stops_at([a_call("run", ""), a_call("run", ""), *say("", "")]) is None


@pytest.mark.parametrize("box", [DONE, "[x] TASK_COMPLETE", f"All done.\n  {DONE}\nBye."])
def test_what_came_before_a_ticked_box_is_forgotten(box):
    again = "The parser handles every case of the grammar."

    assert stops_at(say(again, box, again)) is None


def test_a_box_ticked_in_the_prompt_file_counts():
    tick = a_call("Write", "ok", file_path="PROMPT.md", content=f"# Task\n{DONE}\n")

    assert (
        stops_at([*say("The parser is finished."), tick, *say("The parser is finished.")]) is None
    )


def test_the_turn_that_ticks_it_never_trips():
    again = "Everything that was asked for is implemented and tested now."

    assert stops_at(say(again, f"{again}\n{DONE}")) is None


@pytest.mark.parametrize(
    "box", ["- [ ] TASK_COMPLETE", "Tick - [x] TASK_COMPLETE last", "TASK_COMPLETE"]
)
def test_any_other_box_changes_nothing(box):
    again = "The parser handles every case of the grammar."

    assert stops_at(say(again, box, again)) == 2


def test_a_reset_clears_the_outputs():
    engine = Engine(RALPH)
    engine.observe(a_message("Checked everything again."))

    engine.reset()

    assert engine.observe(a_message("Checked everything again.")).trip is None


@pytest.mark.parametrize(
    ("spent", "unit"),
    [
        (Spent(turns=100, seconds=20_000, usd=Decimal(11), failures=6), "turns"),
        (Spent(turns=60, seconds=14_400, usd=Decimal(11), failures=6), "seconds"),
        (Spent(turns=60, seconds=600, usd=Decimal(10), failures=6), "usd"),
        (Spent(turns=60, seconds=600, usd=Decimal("9.99"), failures=5), "failures"),
        (Spent(turns=40, seconds=14_399, usd=Decimal("9.99"), failures=4), None),
        (Spent(turns=76, seconds=76 * 301, failures=0), "seconds"),
        (Spent(turns=75, seconds=75 * 180, failures=0), None),
    ],
)
def test_the_limits_are_asked_in_their_order(spent, unit):
    reached = limit_reached(LIMITS, spent)

    assert (reached[0] if reached else None) == unit


def test_iterations_that_take_too_long_on_average_end_the_run():
    unlimited = Budget()

    assert limit_reached(unlimited, Spent(turns=76, seconds=76 * 301)) is not None
    assert limit_reached(unlimited, Spent(turns=75, seconds=75 * 301)) is None
    assert limit_reached(unlimited, Spent(turns=76, seconds=76 * 299)) is None


def test_its_ceilings_are_a_hundred_iterations_four_hours_ten_dollars_five_failures():
    assert (LIMITS.turns, LIMITS.seconds, LIMITS.usd, LIMITS.failures) == (100, 14_400, 10, 5)


def distinct(count: int, **fields) -> list[Turn]:
    words = ["river", "stone", "cloud", "ember", "frost", "maple", "delta", "quartz", "sable"]
    return [
        a_message(f"{words[n % 9] * 3} {n * n} {words[n // 9 % 9] * 4}", **fields)
        for n in range(count)
    ]


def test_the_hundredth_iteration_is_the_last():
    trip = watch(distinct(100), RALPH)[-1].trip

    assert stops_at(distinct(120)) == 99
    assert (trip.kind, trip.severity, trip.evidence.unit) == (Kind.BUDGET, Severity.STOP, "turns")


def test_ten_dollars_are_the_last():
    assert stops_at(distinct(20, cost_usd=Decimal("2.50"))) == 3


def test_four_hours_are_the_last():
    began = datetime(2026, 11, 21, 8, tzinfo=UTC)
    turns = [
        a_message(f"hour {n} {'abcdefgh'[n] * 20}", ts=began + timedelta(hours=n)) for n in range(6)
    ]

    assert stops_at(turns) == 4


def test_what_it_spent_is_shown_without_fractions_of_a_second():
    began = datetime(2026, 11, 21, 8, tzinfo=UTC)
    late = timedelta(hours=4, microseconds=371_286)
    turns = [a_message("river", ts=began), a_message("ember" * 9, ts=began + late)]

    evidence = watch(turns, RALPH)[-1].trip.evidence

    assert (evidence.spent, evidence.ceiling) == ("14400", "14400")


def test_five_failures_in_a_row_are_the_last():
    failing = [a_call("run", error=f"E{n}: {'abcdefgh'[n] * 9}") for n in range(8)]

    assert stops_at(failing) == 4
    assert stops_at([*failing[:4], a_call("run", "worked"), *failing[4:]]) is None


def test_a_limit_is_asked_before_the_next_iteration_runs():
    turns = distinct(99)
    proposed = [*turns, a_call("run", "x1"), a_proposal("run", key="k")]

    assert watch(proposed, RALPH)[-1].trip.evidence.unit == "turns"


def test_the_loop_of_an_iteration_comes_before_the_limit_of_the_next():
    policy = Policy.from_mapping({"preset": "ralph", "budget": {"turns": 2}})

    trip = watch(say("Working on it still.", "Working on it still."), policy)[-1].trip

    assert trip.kind is Kind.SEMANTIC_REPEAT


def test_the_limits_come_before_the_ticked_box():
    policy = Policy.from_mapping({"preset": "ralph", "budget": {"turns": 2}})

    assert stops_at(say("Working on it.", DONE), policy) == 1


def test_it_writes_its_two_lines(caplog):
    with caplog.at_level(logging.WARNING, logger="guard.contrib.ralph"):
        watch(say("Checking the tests of the parser", "Checking the tests of a parser"), RALPH)

    assert [record.getMessage() for record in caplog.records] == [
        "Loop detected: 93.5% similarity to previous output",
        "Breaking loop due to repetitive agent outputs",
    ]


def test_it_is_quiet_without_rapidfuzz(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)

    with caplog.at_level(logging.DEBUG, logger="guard.contrib.ralph"):
        assert stops_at(say("Again.", "Again.", "Again.")) is None

    assert [record.levelname for record in caplog.records] == ["DEBUG"]


def test_without_rapidfuzz_the_limits_hold(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)

    assert stops_at(say(*["Again."] * 101)) == 99
