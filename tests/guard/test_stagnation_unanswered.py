"""Logs without results: only what was asked is known."""

from __future__ import annotations

import pytest

from tests.guard.build import a_call, a_user, first_trip, last_trip

FILES = ("src/cart/total.py", "src/cart/shop.py", "src/cart/till.py")


def asked(tool, **args):
    return a_call(tool, None, **args)


def known():
    reads = [asked("Read", path=path) for path in FILES]
    return [*reads, asked("Bash", command="pytest -q tests/cart/test_total.py")]


def test_calls_that_ask_for_nothing_new_trip_in_any_order():
    turns = known()
    order = (1, 3, 0, 2, 0, 3)

    trip = last_trip([*turns, *(turns[place] for place in order)])

    assert trip is not None
    assert trip.detector == "stagnation"
    assert trip.evidence.repeats == 6


def test_a_person_begins_it_afresh():
    turns = known()
    again = [turns[place] for place in (1, 3, 0, 2)]

    assert first_trip([*turns, *again, a_user("And now the till."), *again]) is None


@pytest.mark.parametrize(
    "between",
    [
        asked("Edit", path=FILES[0], new_string="return sum(total for cart in shop)"),
        asked("Read", path="src/stock/shelf.py", limit=40),
    ],
    ids=["another edit", "another file"],
)
def test_something_new_between_is_progress(between):
    turns = known()
    order = (1, 3, 0, 2, 0)

    assert first_trip([*turns, *(turns[place] for place in order), between, turns[2]]) is None


@pytest.mark.parametrize(
    "turns",
    [
        [asked("Read", path=FILES[0], offset=place * 40, limit=40) for place in range(14)],
        [asked("sql", query=f"TABLE carts LIMIT 20 OFFSET {n}0") for n in range(14)],
        [asked("Bash", command=f"ping -c1 10.0.0.{host}") for host in range(14)],
        [asked("press", key="Down", window="list of carts") for _ in range(14)],
        [asked("get_job", job_id="carts-of-may") for _ in range(14)],
        [asked("gdb", command="continue") for _ in range(14)],
        [asked("go", to=to) for to in ("west", "east", "north", "west", "east", "south") * 2],
    ],
    ids=["pages", "rows", "hosts", "keys", "a job", "a debugger", "a game"],
)
def test_what_may_well_move_is_given_time(turns):
    assert first_trip(turns) is None


def test_a_new_action_may_be_what_a_repeat_looks_at():
    modules = ("numpy", "pandas", "scipy", "sympy", "jinja2", "attrs", "rich", "click", "tqdm")
    run = asked("Bash", command="./start.sh")
    turns = [turn for m in modules for turn in (run, asked("Bash", command=f"pip install {m}"))]

    assert first_trip(turns) is None
