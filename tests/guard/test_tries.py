"""Tries of one command that fail alike, whatever is read between: weighed by themselves."""

from dataclasses import replace

import pytest

from guard.engine import Engine
from guard.policy import Policy
from guard.turn import Phase
from tests.guard.build import a_call, a_message, a_user, first_trip

MISSING = "ModuleNotFoundError: no module named 'harbour.tides'"


def a_page(number):
    words = " ".join(f"word{number}{letter}" for letter in "abcdefghijklmnopqrst")
    return a_call("read_page", words, name=f"chapter {number}")


def a_try(flags="", error=MISSING, **more):
    return a_call("Bash", error=error, command=f"pytest -q tests/test_tides.py {flags}", **more)


def between(*turns):
    """Put something never read before between turns."""
    return [part for at, turn in enumerate(turns) for part in (turn, a_page(at))][:-1]


TRIES = between(a_try(), a_try(), a_try("--lf"))


def test_the_third_try_in_vain_is_stuck_whatever_was_read_between():
    assert first_trip(TRIES) == len(TRIES) - 1


def test_what_it_says_rests_on_the_tries_alone():
    engine = Engine()
    trip = [engine.observe(turn).trip for turn in TRIES][-1]

    assert trip.turns == (0, 2, 4)
    assert trip.evidence.summary == "It tried 3 times and failed the same way each time."


def test_the_score_says_how_near_a_card_is():
    engine = Engine()
    stuck = [engine.observe(turn).stuck for turn in TRIES]

    assert stuck[-1] >= 0.8 > stuck[-2]


@pytest.mark.parametrize(
    "cure",
    [
        a_call("Edit", "The file was updated.", file_path="tides.py", new_string="import sea"),
        a_call("Edit", "Updated.", file_path="a.py", new_string="import sea", agent="coder"),
        a_call("Bash", "1 passed in 0.1s", command="pytest -q tests/test_sea.py"),
        a_user("The module is called sea now."),
    ],
    ids=["an edit", "another agent's edit", "it works for another", "a person"],
)
def test_what_may_have_been_the_cure_lets_it_begin_anew(cure):
    turns = between(a_try(), a_try(), cure, a_try("--lf"))

    assert first_trip(turns) is None


def test_a_busy_service_may_be_asked_again():
    busy = "503 Service Unavailable"
    turns = between(*[a_call("fetch", error=busy, url="https://ex.test/tides") for _ in range(4)])

    assert first_trip(turns) is None


def test_other_failures_of_one_command_get_on():
    errors = ("no module named 'a_b'", "undefined name 'c_d'", "expected an indented block")

    assert first_trip(between(*[a_try(error=error) for error in errors])) is None


def test_three_things_that_are_not_there_are_three_things():
    looks = [
        a_call("read_file", error=f"{name}: no such file", path=name)
        for name in ("tides.toml", "sea.json", "moon.ini")
    ]

    assert first_trip(between(*looks)) is None


def test_pages_are_no_tries():
    pages = [a_call("search", "nothing on this page", query="tide", page=n) for n in range(4)]

    assert first_trip(between(*pages)) is None


@pytest.mark.parametrize(
    "raised", [{"repeat": {"calls": 4}}, {"errors": {"same": 6}}, {"errors": {"near": 5}}]
)
def test_a_limit_that_somebody_raised_is_waited_for(raised):
    assert first_trip(TRIES, policy=Policy.from_mapping(raised)) is None


def test_a_tool_may_have_its_own_limit():
    policy = Policy.from_mapping({"tool": {"Bash": {"errors": {"same": 9}}}})

    assert first_trip(TRIES, policy=policy) is None


def test_two_workers_who_fail_alike_are_two():
    tries = [a_try(agent="one"), a_try(agent="two"), a_try("--lf", agent="one")]

    assert first_trip(between(*tries)) is None


COMPLAINT = "This is still broken: pytest fails, the import of harbour.tides is not corrected."


def test_whoever_acts_on_a_complaint_about_anothers_try_goes_on_with_it():
    alone = [part for _ in range(3) for part in (a_try(), a_user(COMPLAINT))]
    in_turn = [replace(turn, agent=str(at)) for at, turn in enumerate(alone)]

    assert first_trip(in_turn) == first_trip(alone) == len(alone) - 1


@pytest.mark.parametrize("word", ["Please review the change.", "Go on."])
def test_those_who_are_asked_the_same_in_turn_are_each_themselves(word):
    alone = [part for _ in range(6) for part in (a_user(word), a_message("I approve of it all."))]
    panel = [replace(turn, agent=str(at)) for at, turn in enumerate(alone)]

    assert first_trip(alone) is not None
    assert first_trip(panel) is None


def test_workers_side_by_side_who_all_hear_one_complaint_are_not_one():
    alone = [a_user(COMPLAINT), *between(a_try(), a_try(), a_try()), a_user(COMPLAINT)]
    side_by_side = [replace(turn, agent=str(at)) for at, turn in enumerate(alone)]

    assert first_trip(alone) is not None
    assert first_trip(side_by_side) is None


def test_a_try_that_is_told_before_it_runs_goes_on_with_anothers_as_well():
    done = [replace(a_try(), key=str(at), agent=str(at)) for at in range(3)]
    turns = [
        part
        for turn in done
        for part in (
            replace(turn, phase=Phase.PROPOSED, error=None),
            turn,
            a_user(COMPLAINT),
        )
    ]

    assert first_trip(turns) == len(turns) - 1
