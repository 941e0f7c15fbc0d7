"""A card's sentence is read beside its turns: it claims nothing that they do not show."""

import pytest

from tests.guard.build import a_call, last_trip

REPORT = "report.txt, as of 2026-11-21 21:08:0{}\nfour orders are open, none of them paid"


def summary_of(answers):
    return last_trip(
        [a_call("Read", answer, path="report.txt") for answer in answers]
    ).evidence.summary


def test_answers_that_are_equal_to_the_letter_are_the_same():
    assert "got the same answer" in summary_of([REPORT.format(1)] * 3)


@pytest.mark.parametrize("count", [3, 4])
def test_answers_that_differ_in_what_is_not_compared_are_not_the_same(count):
    summary = summary_of([REPORT.format(number) for number in range(count)])

    assert "got nearly the same answer" in summary
