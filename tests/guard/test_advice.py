"""What the local judge tells an agent: concrete, from the evidence, whatever tripped."""

from __future__ import annotations

import pytest

from guard.judge import Case
from guard.judge.heuristics import rule
from guard.signals import Evidence, Kind, Signal
from guard.turn import Turn
from tests.guard.build import a_call, a_message

UNKNOWN = "Error: unknown tool 'read_files'"
PYTEST = """
E   AssertionError: assert 401 == 200
FAILED tests/test_login.py::test_session - AssertionError
1 failed, 8 passed in 0.31s
"""


def fix_for(*turns: Turn, history=(), kind=Kind.STALL, **fields) -> str | None:
    """Put turns before the local judge as evidence of some trip."""
    signal = Signal(
        detector="any",
        kind=kind,
        score=1.0,
        turns=tuple(range(len(turns))),
        evidence=Evidence(summary="It repeats itself."),
    )
    verdict = rule(Case(signal=signal, turns=turns, history=history, **fields))
    assert verdict.loop
    return verdict.fix


@pytest.mark.parametrize("kind", list(Kind)[:-1])
def test_the_same_evidence_gets_the_same_fix_whatever_tripped(kind):
    failing = a_call("Bash", error="no such column: usr", command="psql")

    assert fix_for(failing, failing, failing, kind=kind).startswith("There is no column usr.")


@pytest.mark.parametrize(
    ("error", "history", "fix"),
    [
        (UNKNOWN, [a_call("read_file", "text")], "There is no tool read_files. Use read_file."),
        ("No such tool available: read_files", [a_call("ReadFile", "x")], "Use ReadFile."),
        (
            "Tool read_files not found. Available tools: file_reader, web_search",
            [],
            'The refusal names "file_reader, web_search".',
        ),
        (UNKNOWN, [a_call("zip", "x")], "These work here: zip."),
        (UNKNOWN, [], "Use one that you were given."),
    ],
)
def test_an_unknown_tool_is_pointed_at_a_known_one(error, history, fix):
    called = a_call("read_files", error=error, path="a.py")

    assert fix_for(called, called, called, history=tuple(history)).endswith(fix)


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        ('ERROR:  column "usr" does not exist', "There is no column usr. List the table's"),
        ("Unknown column 'usr' in 'field list'", "There is no column usr."),
        ("sqlite3.OperationalError: no such table: acounts", "There is no table acounts."),
        ("bash: line 1: jqq: command not found", "There is no command jqq."),
        ("error: unrecognized arguments: --fast", "There is no option --fast. Leave it out"),
        ("AttributeError: 'User' object has no attribute 'mail'", "There is no attribute mail."),
        ("KeyError: 'emial'", "There is no key emial. Print the keys"),
        ("NameError: name 'pd' is not defined. Did you mean: 'id'?", "suggests id: use that."),
    ],
)
def test_what_it_keeps_missing_is_named(error, fix):
    failing = [a_call("Bash", error=error, command=f"try {n}") for n in range(3)]

    assert fix in fix_for(*failing)


def test_paging_past_the_end_is_told_where_the_end_was():
    pages = [a_call("Read", "(no more lines)", path="a.log", offset=n) for n in (900, 1000, 1100)]

    fix = fix_for(*pages)

    assert fix.startswith("The end was reached: from offset 900 on there is nothing more.")


def test_a_job_that_does_not_move_is_told_so():
    polls = [a_call("get_job_status", "state: pending", job=7)] * 8

    assert fix_for(*polls).startswith('The job is not moving: "state: pending", 8 times.')


def test_a_text_that_is_not_in_the_file_is_to_be_read_again():
    edit = a_call("Edit", error="String to replace not found in file.", path="app/x.py", old="a")

    assert "Read app/x.py again" in fix_for(edit, edit, edit)


@pytest.mark.parametrize(
    ("output", "test"),
    [
        (PYTEST, "tests/test_login.py::test_session"),
        ("--- FAIL: TestSession (0.00s)\n    x_test.go:9: got 401\nFAIL", "TestSession"),
        ("FAIL: test_session (tests.Login)\nValueError: no\nFAILED (failures=1)", "test_session"),
        ("test auth::session ... FAILED\ntest result: FAILED. 1 failed", "auth::session"),
        ("  ● login keeps the session\n\nTests: 1 failed", '"login keeps the session"'),
    ],
)
def test_a_test_that_fails_after_each_edit_is_named(output, test):
    turns = []
    for n in range(3):
        turns.append(a_call("Edit", "File updated.", path="app/login.py", new=f"try {n}"))
        turns.append(a_call("Bash", error=output, command="run the tests"))

    fix = fix_for(*turns)

    assert fix.startswith(f"{test} still fails after 3 edits: ")


def test_why_the_test_fails_is_quoted():
    run = a_call("Bash", error=PYTEST, command="pytest")

    assert "AssertionError: assert 401 == 200" in fix_for(run, run, run)


def test_an_edit_that_is_done_and_undone_is_named():
    there, back = (
        a_call("Edit", "File updated.", path="a.py", old=o, new=n) for o, n in ("xy", "yx")
    )

    assert fix_for(there, back, there, back).startswith('"Edit a.py" was made and undone before.')


def test_other_commands_with_the_same_failure_are_told_that_the_way_is_not_the_cause():
    tried = [a_call("Bash", error="fatal: disk quota exceeded", command=c) for c in ("a", "b", "c")]

    fix = fix_for(*tried)

    assert fix.startswith('Every way you tried ends with: "fatal: disk quota exceeded".')


def test_checks_that_pass_again_and_again_are_enough():
    checks = [
        a_call("Bash", "9 passed in 0.3s", command=f"pytest -q {n}") for n in ("", "-x", "-v")
    ]

    assert fix_for(*checks).startswith('It is verified: "9 passed in 0.3s".')


def test_one_answer_to_every_question_is_quoted():
    asked = [
        a_call("Grep", "No matches found", pattern=word) for word in ("login", "signin", "auth")
    ]

    assert fix_for(*asked).startswith('However you ask, the answer is "No matches found".')


def test_a_matter_handed_round_is_decided_by_who_raised_it():
    turns = [
        a_message("Who reviews the export?", agent="planner"),
        a_message("The coder should.", agent="critic"),
        a_message("I would rather not.", agent="coder"),
        a_message("Then somebody else.", agent="planner"),
    ]

    fix = fix_for(*turns)

    assert fix.startswith("Decide it now: planner raised this and has the say.")
    assert "critic and coder act on it" in fix


def test_a_matter_between_two_is_told_to_the_other_one():
    turns = [
        a_message("Who reviews the export?", agent="planner"),
        a_message("You should.", agent="critic"),
        a_message("I would rather not.", agent="planner"),
        a_message("Nor would I.", agent="critic"),
    ]

    assert fix_for(*turns).endswith("critic acts on it and does not hand it back.")


def test_hand_overs_by_a_tool_are_hand_overs_too():
    over = [a_call("hand_over", "ok", agent=name, to="the other") for name in ("a", "b", "a", "b")]

    assert fix_for(*over).startswith("Decide it now: a raised this")


def test_two_actions_that_alternate_are_to_be_decided():
    one, other = a_call("Set", "ok", value=1), a_call("Set", "ok", value=2)

    assert "Decide for one side" in fix_for(one, other, one, other)


def test_evidence_that_says_nothing_gets_no_made_up_fix():
    assert fix_for(a_call("deploy", "ok", to="a"), a_call("deploy", "ok", to="b")) is None


@pytest.mark.parametrize("text", ["", "\ud800\x00", "FAILED " * 5000, "no such column: " * 4000])
def test_hostile_evidence_is_no_error(text):
    turn = a_call("Bash", error=text, command=text, agent=text[:50])

    fix = fix_for(turn, turn, turn)

    assert fix is None or len(fix) < 1000
