"""No hint of `words.toml` keeps a phrase from being found where it stands."""

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guard.reading import pattern_of, read_words

HINTS = read_words("hints")
# What calls are told by is several expressions, and more than these.
PHRASES = sorted(HINTS.keys() - {"named_call"})


@pytest.mark.parametrize("name", PHRASES)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_a_hint_stands_in_whatever_the_phrase_finds(name, data):
    # In ASCII: its words are, and what may stand between them is of no matter.
    phrase = re.compile(pattern_of(name), re.ASCII)
    text = data.draw(st.from_regex(phrase, alphabet=st.characters(max_codepoint=126)))
    assume(phrase.search(text))

    assert any(hint in text for hint in HINTS[name])
