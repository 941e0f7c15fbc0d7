from __future__ import annotations

import pytest

from guard.detectors.repeat import only_flickers
from tests.guard.build import a_call, first_trip
from tests.guard.test_judge import ruling

LOADS = (1.6, 1.1, 2.1, 3.0, 2.1, 1.9, 2.0, 1.6, 1.1, 1.8, 1.0, 2.2)


def looks(texts, tool="get_status"):
    return [a_call(tool, text, id="7") for text in texts]


def test_a_load_that_goes_up_and_down_is_no_progress():
    assert first_trip(looks(f"waiting for a place, load {load}" for load in LOADS)) == 9


def test_a_figure_that_stands_still_beside_it_is_no_progress_either():
    assert first_trip(looks(f"step 7 of 9, load {load}" for load in LOADS)) == 9


def test_a_figure_that_takes_two_values_by_turns_flickers():
    assert only_flickers(["load 1", "load 2"] * 5)


def look(load, **said):
    return a_call("get_status", f"waiting for a place, load {load}", **{"id": "7", **said})


def test_what_two_agents_look_at_by_turns_is_counted_for_each():
    assert first_trip(look(load, agent="ab"[n % 2]) for n, load in enumerate(LOADS)) is None


def test_looks_at_two_things_by_turns_are_no_row():
    assert first_trip(look(load, id=str(n % 2)) for n, load in enumerate(LOADS)) is None


@pytest.mark.parametrize(
    "texts",
    [
        [f"running, load {load}, {place * 7} % done" for place, load in enumerate(LOADS)],
        [f"running, {90 - place} left, load {load}" for place, load in enumerate(LOADS)],
        [f"running step {'abcdefghijkl'[place]}, load {load}" for place, load in enumerate(LOADS)],
    ],
    ids=["it grows", "it shrinks", "words move"],
)
def test_what_goes_one_way_beside_it_is_progress(texts):
    assert first_trip(looks(texts)) is None


def test_a_measurement_may_be_taken_again():
    assert first_trip(looks([f"measured {load} units" for load in LOADS], "run_benchmark")) is None


def test_equal_texts_do_not_flicker():
    assert not only_flickers(["load 1", "load 1"])
    assert not only_flickers([])


def test_the_local_judge_lets_no_flicker_pass_as_something_that_moves():
    assert ruling(looks(f"waiting for a place, load {load}" for load in LOADS[:10])).loop
