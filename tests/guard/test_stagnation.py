from __future__ import annotations

import pytest

from tests.guard.build import a_call, first_trip

REFUSED = """Your change leaves out places that have to be changed as well.
They are the lines 123 to 127, 136 and 143 to 150 of the first file and 19 of the second.
Fill in this form, a line for each of them, and send the whole of it again."""
SAVED = """The change was saved; here is how the repository stands now, for your information.
Lines 123 to 127, 136 and 143 to 150 of the first file and 19 of the second differ.
Nothing else was touched."""
WORDS = ("int a = one();", "long b = two(a);", "return three();", "var d = four;", "stop(five);")


def attempts(answer, paths=("Node.java",) * 5):
    return [
        a_call("submit", answer, path=path, text=f"    {word}\n    // as said in {place}")
        for place, (word, path) in enumerate(zip(WORDS, paths, strict=True))
    ]


def test_the_same_long_answer_to_every_variant_of_a_deed_is_a_refusal():
    assert first_trip(attempts(REFUSED)) == 4


def test_it_counts_whatever_is_read_between():
    pages = [a_call("read", f"{word} is\nwhat it says", path=word) for word in "abcde"]
    turns = [turn for pair in zip(attempts(REFUSED), pages, strict=True) for turn in pair]

    assert first_trip(turns) == 8


@pytest.mark.parametrize("answer", [SAVED, "noted"])
def test_equal_acknowledgements_are_a_batch(answer):
    assert first_trip(attempts(answer)) is None


def test_other_targets_are_a_batch():
    paths = ("Node.java", "Tree.java", "Leaf.java", "Edge.java", "Root.java")

    assert first_trip(attempts(REFUSED, paths)) is None
