from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.describe import action_class, headline
from guard.reading.classify import classify
from guard.reading.normalize import call_text, canonical_json, command_in
from guard.reading.step import read_action
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=12,
)


def test_a_call_is_its_tool_and_its_sorted_arguments():
    call = a_call("Grep", pattern="x y", path="src", deep={"b": 1, "a": [2]})

    assert call_text(call) == 'Grep {"deep":{"a":[2],"b":1},"path":"src","pattern":"x y"}'


def test_a_call_without_arguments_is_its_tool():
    assert call_text(Turn(role=Role.ASSISTANT, tool="whoami")) == "whoami"


def test_a_message_is_one_line():
    assert call_text(a_message("  Hello\n\n there ")) == "message: Hello there"


def test_what_a_model_remarks_on_its_call_is_no_part_of_it():
    one = a_call("Bash", command="ls", description="List files")
    other = a_call("Bash", command="ls", description="Show what is here")

    assert call_text(one) == call_text(other) == 'Bash {"command":"ls"}'


def test_a_call_of_remarks_alone_keeps_them():
    assert call_text(a_call("think", thought="hm")) == 'think {"thought":"hm"}'


def test_long_calls_are_cut_and_stay_distinct():
    one, other = (a_call("Write", path="a", text="x" * 9000 + end) for end in "ab")

    assert len(call_text(one)) < 2100
    assert call_text(one) != call_text(other)
    assert call_text(one) == call_text(one)


def test_a_request_leaves_out_values_made_for_one_use():
    one = a_call("get", url="/x", request_id="1", log="/tmp/ab12/log")  # noqa: S108 - a text
    other = a_call("get", url="/x", request_id="2", log="/tmp/zz99/log")  # noqa: S108 - a text

    assert read_action(one).request == read_action(other).request
    assert call_text(one) != call_text(other)


def test_a_request_keeps_plain_numbers_and_ids_of_things():
    assert read_action(a_call("get", page=2)).request != read_action(a_call("get", page=3)).request
    assert (
        read_action(a_call("get", id="u1")).request != read_action(a_call("get", id="u2")).request
    )


@given(st.dictionaries(st.text(), JSON))
def test_argument_order_never_matters(args):
    backwards = dict(reversed(args.items()))

    assert canonical_json(args) == canonical_json(backwards)


@given(JSON)
def test_canonical_json_is_json(value):
    assert json.loads(canonical_json(value)) == value


def test_it_writes_what_json_cannot_hold():
    deep: dict = {}
    for _ in range(10_000):
        deep = {"x": deep}

    assert canonical_json({1: "a", "b": {3}, ("t",): object}).startswith("{")
    assert "…" in canonical_json(deep)


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("Bash", {"command": "pytest -q tests"}, "test_run"),
        ("Bash", {"command": "cd app && npm run test"}, "test_run"),
        ("Bash", {"command": "python -m unittest"}, "test_run"),
        ("Bash", {"command": "grep -rn foo src | head"}, "search"),
        ("Bash", {"command": "sudo find / -name x"}, "search"),
        ("Bash", {"command": "cat a.py"}, "read"),
        ("Bash", {"command": "git status"}, "read"),
        ("Bash", {"command": "git commit -m x"}, "shell_exec"),
        ("Bash", {"command": "sed -i s/a/b/ x.py"}, "file_edit"),
        ("Bash", {"command": "echo hi > x.txt"}, "file_edit"),
        ("Bash", {"command": "ls 2>/dev/null"}, "read"),
        ("Bash", {"command": "make build 2>&1"}, "shell_exec"),
        ("Bash", {"command": "python run.py"}, "shell_exec"),
        ("exec_command", {"cmd": "rg foo"}, "search"),
        ("shell", {"command": ["bash", "-lc", "pytest"]}, "test_run"),
        ("Read", {"file_path": "a"}, "read"),
        ("read_file", {"path": "a"}, "read"),
        ("Edit", {"file_path": "a"}, "file_edit"),
        ("write_file", {"path": "a"}, "file_edit"),
        ("MultiEdit", {"file_path": "a"}, "file_edit"),
        ("apply_patch", {"input": "*** Begin"}, "file_edit"),
        ("create_file", {"path": "a"}, "file_edit"),
        ("str_replace_editor", {"command": "view", "path": "a"}, "read"),
        ("str_replace_editor", {"command": "create", "path": "a"}, "file_edit"),
        ("Grep", {"pattern": "a"}, "search"),
        ("web_search", {"query": "a"}, "search"),
        ("run_tests", {}, "test_run"),
        ("update_order", {"id": 1}, "other"),
        ("create_ticket", {"title": "a"}, "other"),
        ("send_email", {"to": "a"}, "other"),
    ],
)
def test_an_action_class_is_derived_from_tool_and_command(tool, args, expected):
    assert action_class(a_call(tool, args=args)) == expected


def test_the_callers_action_class_wins():
    assert action_class(a_call("Bash", command="ls", action_class="api_retry")) == "api_retry"


def test_a_turn_without_a_tool_is_a_message():
    assert action_class(a_message("hi")) == "message"


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (a_call("Bash", command="pytest -q\n  tests"), "Bash pytest -q tests"),
        (a_call("Read", file_path="app/auth.py"), "Read app/auth.py"),
        (a_call("get_order", order=7), 'get_order {"order":7}'),
        (a_call("whoami", args=None), "whoami"),
        (a_message("Hello\nthere"), '"Hello there"'),
    ],
)
def test_a_headline_shows_what_matters(turn, expected):
    assert headline(turn) == expected


@given(st.text(max_size=500), st.text(max_size=500))
def test_a_headline_fits_its_place(tool, text):
    assert len(headline(a_call(tool or "t", command=text))) <= 120
    assert len(headline(a_message(text))) <= 120


def test_a_headline_of_many_arguments_begins_with_the_first_by_name():
    many = {f"n{n:03}": n for n in range(999, -1, -1)}

    assert headline(a_call("put", **many)).startswith('put {"n000":0,"n001":1,"n002":2')


def test_no_command_is_the_empty_one():
    assert command_in(a_message("hi").args) == ""
    assert command_in(a_call("run", command=["ls", "-l"]).args) == "ls -l"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("", "shell_exec"),
        ("cd app", "read"),
        ("FOO=1 BAR=2", "read"),
        ("git", "shell_exec"),
        ("git log | head -5 && git diff", "read"),
        ("cd /x; sudo FOO=1 grep y z", "search"),
        ("kubectl get pods", "read"),
        ("kubectl delete pod x", "shell_exec"),
        ("`ls`", "read"),
        ("a | b", "shell_exec"),
    ],
)
def test_a_command_line_is_what_its_parts_do(command, expected):
    assert classify("Bash", command or " ", {}) == expected


def test_a_tool_named_after_a_shell_runs_something():
    assert classify("bash", "", {}) == "shell_exec"
