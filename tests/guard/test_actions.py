"""What a call does, told by what it is given where its name says nothing."""

from __future__ import annotations

import pytest

from guard.reading.classify import classify, is_move, is_question, is_waiting


@pytest.mark.parametrize(
    ("command", "args", "expected"),
    [
        ("", {"path": "a.py", "old_string": "x", "new_string": "y"}, "file_edit"),
        ("", {"file_path": "a.py", "content": "x = 1"}, "file_edit"),
        ("", {"path": "a.py", "diff": "<<<<<<< SEARCH"}, "file_edit"),
        ("*** Begin Patch\n*** Update File: a.py", {}, "file_edit"),
        ("git status -s", {}, "read"),
        ("grep -rn total src", {}, "search"),
        ("python -m pytest -q", {}, "test_run"),
        ("", {"path": "a.py"}, "other"),
        ("", {"content": "Dear Ms Mertens"}, "other"),
        ("open the cellar door", {}, "other"),
    ],
)
def test_a_name_that_says_nothing_leaves_the_arguments(command, args, expected):
    assert classify("fn_3a7c", command, args).value == expected


def test_a_name_that_says_something_wins():
    assert classify("think", "ls -l", {"command": "ls -l"}).value == "other"
    assert classify("search_notes", "", {"path": "a", "content": "x"}).value == "search"


@pytest.mark.parametrize(
    "tool", ["discover_entities", "retrieve_docs", "recall_memory", "explore_repo", "visit_page"]
)
def test_a_tool_named_for_finding_out_asks(tool):
    assert is_question(classify(tool, "", {"q": "office"}), tool, "")


@pytest.mark.parametrize("tool", ["change_file", "rewrite_file", "overwrite_file"])
def test_a_tool_named_for_changing_files_edits(tool):
    assert classify(tool, "", {"path": "a.py"}).value == "file_edit"


def test_a_command_that_only_reads_asks_whoever_runs_it():
    assert is_question("read", "fn_3a7c", "git log | head")


@pytest.mark.parametrize("tool", ["get_job", "describe_build", "show_deployment", "check_pipeline"])
def test_asking_how_a_thing_stands_that_takes_time_is_waiting(tool):
    assert is_waiting(tool, "", "")


@pytest.mark.parametrize("tool", ["start_job", "build", "list_files", "get_order"])
def test_other_calls_are_not(tool):
    assert not is_waiting(tool, "", "")


def test_a_debugger_moves_by_its_steps():
    assert is_move("gdb", {"command": "continue"})
    assert not is_move("gdb", {"command": "print node"})


def test_an_action_moves_whatever_the_tool_is_called():
    assert is_move("fn_3a7c", {"action": "scroll"})
    assert not is_move("fn_3a7c", {"action": "screenshot"})


def test_a_worlds_step_is_what_it_is_told_in_words():
    assert not is_move("step", {"action": "examine the red door"})
    assert not is_move("env_step", {"action": "go to shelf 3"})
    assert is_move("step", {"action": "walk east"})
    assert is_move("step", {"action": "left"})
    assert is_move("step", {})
