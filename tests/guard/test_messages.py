"""What a message tells, and whether work is shown in it."""

from __future__ import annotations

import pytest

from guard.reading.messages import SHOWN_WORK, stems_of


@pytest.mark.parametrize(
    "text", ["tide mill", "tide \u203a mill \u2611", "tide\u2014mill\u00a0\U0001f600"]
)
def test_signs_beyond_ascii_tell_nothing(text):
    assert stems_of(text) == {"tide", "mill"}


def test_letters_beyond_ascii_tell_what_they_spell():
    assert stems_of("Gr\u00fc\u00dfe \u2014 m\u00fchle") == {"gr\u00fc\u00dfe", "m\u00fchle"}


@pytest.mark.parametrize(
    "text",
    ["$ ls", "So:\n    > quoted", "```\nls", "see.Action Input 2: go", "![a](https://a.example/b)"],
)
def test_a_message_shows_work(text):
    assert SHOWN_WORK.occurs_in(text)


@pytest.mark.parametrize(
    "text",
    ["it costs $ 5", "a -> b", "x\n     > deep", "`a`", "Reaction: none", "https://a.example"],
)
def test_a_message_shows_none(text):
    assert not SHOWN_WORK.occurs_in(text)
