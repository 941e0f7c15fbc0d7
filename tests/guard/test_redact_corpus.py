"""Ordinary text is not masked: counted on recorded runs, where they are at hand."""

import pytest

from tests.bench.bench_masking import corpus, hidden

MOST_PLACES = 5
"""Read one by one: tokens of web pages' own, which are secrets in form."""


@pytest.mark.slow
def test_ordinary_text_is_not_masked():
    if not corpus().is_dir():
        pytest.skip(f"no recorded runs at {corpus()}: false positives are NOT counted")

    found = hidden(corpus())

    assert found["characters"] > 10_000_000
    assert len(found["places"]) <= MOST_PLACES, found["places"]
