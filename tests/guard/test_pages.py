"""Logs that a page quotes: read as the files that they would be."""

from __future__ import annotations

import pytest

from guard.formats.pages import quotes_in
from tests.guard.pages import AFTER_REAL, AIDER, INVENTED

PAGES = INVENTED | AFTER_REAL


@pytest.mark.parametrize("page", PAGES)
def test_a_log_among_prose_is_read_as_the_file_that_it_would_be(page, read):
    text, told = PAGES[page]

    calls = [turn for turn in read(text) if turn.tool]

    assert [call.tool for call in calls] == [tool for tool, _ in told]
    for call, (_, came) in zip(calls, told, strict=True):
        assert came is None or came in (call.result or call.error or "")


def test_prose_around_a_log_is_no_turn(read):
    text, _ = INVENTED["a chain with colours"]

    said = " ".join(turn.content or "" for turn in read(text))

    assert "tide of pier 1" in said
    assert "opened this issue" not in said
    assert "stops" not in said


def test_a_chat_among_prose_has_its_speakers(read):
    text, _ = INVENTED["a chat of an editor in a longer fence"]

    assert [turn.role for turn in read(text)] == [turn.role for turn in read(AIDER)]


def test_what_a_call_is_given_may_be_a_list(read):
    log = "".join(f"TOOL CALLED: add({n}, 2)\nRESULT: {n + 2}\n\n" for n in range(3))

    turns = read(f"It adds:\n\n```\n{log}```\n\nand adds.\n")

    assert [(turn.tool, turn.result) for turn in turns] == [("add", str(n + 2)) for n in range(3)]


def test_a_character_that_is_numbered_too_high_stays_as_it_is(read):
    log = "".join(
        f"Action: look\nAction Input: {n}\nObservation: &#{'9' * 5000};\n" for n in range(3)
    )

    assert "&#999" in (read(f"It looks:\n\n<pre>\n{log}</pre>\n\nand looks.\n")[0].result or "")


def test_a_page_of_many_languages_has_a_few_quotes():
    """Each is read in many ways: a page of 2 MB may name tens of thousands."""
    page = "".join(f"```a{n}\nx\n```\n\n```a{n}\ny\n```\n\n" for n in range(99))

    assert len(quotes_in(page)) == 24
