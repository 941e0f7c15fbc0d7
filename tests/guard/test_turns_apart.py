"""Calls told in text, results told in turns of their own, and what they must not spoil."""

from __future__ import annotations

from decimal import Decimal

import pytest

from guard.engine import Engine
from guard.formats.fields import read_turn
from guard.judge.answers import UnusableAnswer, read_verdict
from guard.reading.text_calls import as_call, is_report
from guard.redact import redact
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message, a_user, first_trip, watch

DENIED = "error: permission denied by sandbox"


def a_result(text, **fields):
    return Turn(role=Role.TOOL, content=text, **fields)


def asked(tool="Read", **args):
    return a_call(tool, None, **args)


def denied_readings(count):
    for number in range(count):
        yield asked(path=f"conf/{number}.yaml", line=number)
        yield a_result(DENIED)


def test_a_result_told_apart_belongs_to_its_call():
    turns = [turn for _ in range(3) for turn in (asked(path="x"), a_result("not found"))]

    assert first_trip(turns) == 5


def test_results_of_parallel_calls_go_to_them_in_order():
    both = [asked(path="x"), asked(path="y"), a_result("no x"), a_result("no y")]

    again = [asked(path="y"), a_result("no y")]

    assert first_trip([*both, *again, *again]) == 7


def test_a_call_that_is_never_answered_spoils_no_other():
    stray = asked("Bash", command="sleep 1000")

    assert first_trip([stray, *denied_readings(8)]) is not None


def test_a_result_that_speaks_of_observations_is_a_result():
    opening = [asked(path="notes"), a_result("# Notes\nObservation: the tide is low")]

    assert first_trip([*opening, *denied_readings(8)]) is not None


def test_a_text_agent_whose_results_come_in_the_users_name_is_seen():
    action = a_message("Thought: look there.\nAction: search[tide mill]")
    report = a_user("Observation: No page found.")

    assert is_report(report)
    assert first_trip([action, report] * 3) == 5


def test_a_person_who_writes_of_an_observation_is_a_person():
    message = a_user("I made an Observation: it is too slow.")

    assert as_call(message) == message


@pytest.mark.parametrize(
    "text",
    [
        "Action:" + " " * 2000 + "x" * 5000 + " Observation: y",
        "Action: x " * 20_000 + " Observation: y",
        "Action Input: " * 20_000 + "Observation: y",
        "[" * 100_000 + "Observation: y",
    ],
    ids=range(4),
)
def test_no_text_keeps_the_reader_busy(text):
    assert Engine().observe(a_message(text)).seq == 0


def test_no_token_like_text_keeps_the_redactor_busy():
    assert redact("-eyJ" * 65_000).startswith("-eyJ")


def test_a_continue_of_long_ago_is_no_automatic_one():
    turns = [a_user("continue"), *[a_message(f"Item {n} of many.") for n in range(150)]]
    engine = Engine()
    for turn in turns:
        engine.observe(turn)

    engine.observe(a_user("continue"))

    assert engine.observe(a_message("The same.")).signals == ()


def test_a_run_of_long_messages_is_held_by_their_heads_and_tails():
    engine = Engine()
    for number in range(50):
        engine.observe(a_message(f"{number} " + "word " * 200_000))

    assert all(len(step.text) < 5000 for step in engine.history.steps)


def test_money_beyond_reason_is_no_price():
    assert (
        read_turn({"role": "assistant", "tool": "x", "cost_usd": "1e999999999"}, seq=0).cost_usd
        is None
    )
    assert read_turn(
        {"role": "assistant", "tool": "x", "cost_usd": "2.5"}, seq=0
    ).cost_usd == Decimal("2.5")


def test_arguments_nested_in_a_command_are_read():
    nested: list = []
    inner = nested
    for _ in range(5000):
        inner.append([])
        inner = inner[0]

    assert watch([a_call("Bash", None, error="fail 12", command=["run", nested], offset=10**5000)])


@pytest.mark.parametrize("confidence", [10**400, -1, 1.5, float("nan")])
def test_a_judges_odd_number_is_an_unusable_answer(confidence):
    text = (
        f'{{"loop": true, "confidence": {confidence!r}, "reasoning": "r", "suggested_fix": null}}'
    )

    with pytest.raises(UnusableAnswer):
        read_verdict(text, judge="m")


def test_a_call_without_output_does_not_end_the_habit_of_answers_in_the_users_name():
    silent = a_call("Bash", "", command="mkdir out")
    fails = "make: *** [all] Error 2"
    tries = [turn for _ in range(3) for turn in (asked("Bash", command="make"), a_user(fails))]

    assert first_trip([silent, *tries]) is not None
