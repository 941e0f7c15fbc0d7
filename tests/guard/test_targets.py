from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.detectors.base import have_own_targets
from guard.reading.outcome import outcome_of
from guard.reading.step import Step
from tests.guard.build import a_call


def steps_of(*calls):
    return [Step(call, seq=seq, outcome=outcome_of(call)) for seq, call in enumerate(calls)]


@pytest.mark.parametrize(
    "calls",
    [
        [a_call("ls", path=name) for name in ("alpha", "beta", "gamma")],
        [a_call("get", id=number) for number in (7, 8, 9)],
        [a_call("get", id=7, page=1), a_call("get", id=8, page=1)],
        [a_call("Bash", command=f"curl /orders/{number}") for number in (7, 8)],
        [a_call("Bash", command=f"mkdir -p src/{name}") for name in ("db", "ui")],
        [a_call("find_rooms", **{"from": f"2026-07-{day}"}) for day in ("05", "08", "11")],
        [a_call("grep", pattern=word) for word in ("one", "two", "two", "six")],
    ],
)
def test_each_names_another(calls):
    assert have_own_targets(steps_of(*calls))


@pytest.mark.parametrize(
    "calls",
    [
        [a_call("read", path="alpha", offset=offset) for offset in (1, 9)],
        [a_call("Bash", command=f"sed -n {pages}p a.py") for pages in ("900,950", "950,999")],
        [a_call("Bash", command=command) for command in ("make", "make -v", "make -k")],
        [a_call("find", words=["some", "event"]), a_call("find", words=["event"])],
        [a_call("ls", path="same")] * 2,
        [],
    ],
)
def test_they_ask_for_one_thing(calls):
    assert not have_own_targets(steps_of(*calls))


def test_what_stands_in_a_file_is_not_what_an_edit_aims_at():
    edits = [
        a_call("edit_file", path="Main.kt", old_string=text)
        for text in ("onCreate(b)", "setContent()", "fun App()")
    ]

    assert not have_own_targets(steps_of(*edits))
    assert have_own_targets(steps_of(*edits), in_words=True)


@given(st.lists(st.text(), min_size=2, max_size=4))
def test_any_texts_can_be_compared(texts):
    steps = steps_of(*(a_call("find", query=text) for text in texts))

    assert have_own_targets(steps) in {True, False}
