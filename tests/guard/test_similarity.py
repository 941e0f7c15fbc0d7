from __future__ import annotations

import math
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from guard.reading.similarity import cosine, overlap, vectorise, words_of


@given(st.text(max_size=400), st.text(max_size=400))
def test_likeness_is_bounded_and_mutual(one, other):
    likeness = cosine(vectorise(one), vectorise(other))

    assert 0.0 <= likeness <= 1.0
    assert math.isclose(likeness, cosine(vectorise(other), vectorise(one)))


@given(st.text(min_size=1, max_size=400))
def test_a_text_is_like_itself(text):
    vector = vectorise(text)

    assert not vector or math.isclose(cosine(vector, vector), 1.0)


def test_a_reworded_sentence_is_more_alike_than_another():
    said = vectorise("Let me check the config file for the database setting.")
    reworded = vectorise("Let me check the config file again for the database setting.")
    other = vectorise("The tests pass now, so I will open a pull request.")

    assert cosine(said, reworded) >= 0.86
    assert cosine(said, other) < 0.4


def test_the_order_of_words_counts():
    likeness = cosine(vectorise("dog bites man"), vectorise("man bites dog"))

    assert 0.5 < likeness < 1.0


def test_a_long_text_counts_by_head_and_tail():
    assert len(words_of("word " * 100_000)) < 400
    assert words_of("start " + "x " * 9000 + "end")[-1] == "end"


def test_it_is_the_same_in_every_process():
    code = (
        "from guard.reading.similarity import vectorise; print(sorted(vectorise('a b c').items()))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(runs) == 1


def test_overlap_of_nothing_is_nought():
    assert overlap(frozenset(), frozenset()) == 0.0
