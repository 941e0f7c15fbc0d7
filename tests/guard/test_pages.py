"""Logs that a page quotes: read as the files that they would be."""

from __future__ import annotations

import pytest

from guard.formats import read_recording
from tests.guard.pages import AFTER_REAL, AIDER, INVENTED

PAGES = INVENTED | AFTER_REAL


@pytest.fixture
def read(tmp_path):
    def read(text):
        file = tmp_path / "page.md"
        file.write_text(text, encoding="utf-8")
        return [turn for turn in read_recording(file).turns if turn is not None]

    return read


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
