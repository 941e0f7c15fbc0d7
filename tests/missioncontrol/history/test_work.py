"""What turns are said to have done."""

from dataclasses import replace

import pytest

from guard.turn import Role, Turn
from missioncontrol.history.summary import MAX_FILES, details_of

PATCH = "*** Begin Patch\n*** Update File: e.py\n@@\n*** Add File: f.py"


def did(kind, seq=0, result="ok", error=None, **args):
    return Turn(
        role=Role.ASSISTANT,
        tool="tool",
        action_class=kind,
        args=args,
        result=result,
        error=error,
        seq=seq,
    )


def edited(path, seq=0, **more):
    return did("file_edit", seq, file_path=path, **more)


def checked(result, seq=0, **more):
    return did("test_run", seq, result, command="pytest -q", **more)


def ran(command, seq=0, result="", **more):
    return did("shell_exec", seq, result, command=command, **more)


def test_of_no_turn_nothing_is_told():
    work = details_of([])

    assert (work.files, work.tests, work.commits) == ((), None, ())


@pytest.mark.parametrize(
    ("turns", "files"),
    [
        ([edited("a.py", 1)], [("a.py", 1, 1)]),
        (
            [edited("a.py", 1), edited("b.py", 2), edited("a.py", 3)],
            [("a.py", 2, 3), ("b.py", 1, 2)],
        ),
        ([edited("a.py", 1, error="No such file")], []),
        ([edited("a.py", 1, result=None)], [("a.py", 1, 1)]),
        ([replace(edited("x", 1), files=("c.py", "d.py"))], [("d.py", 1, 1), ("c.py", 1, 1)]),
        ([did("read", 1, file_path="a.py")], []),
        (
            [did("file_edit", 4, input=PATCH)],
            [("f.py", 1, 4), ("e.py", 1, 4)],
        ),
        ([did("file_edit", 1, command="sed -i s/a/b/ g.py")], []),
    ],
)
def test_files_are_those_that_calls_changed(turns, files):
    work = details_of(turns)

    assert [(file.path, file.times, file.last_seq) for file in work.files] == files
    assert work.file_count == len(files)


def test_of_many_files_the_latest_are_named_and_all_are_counted():
    work = details_of([edited(f"{n}.py", n) for n in range(40)])

    assert (work.files[0].path, len(work.files), work.file_count) == ("39.py", MAX_FILES, 40)


@pytest.mark.parametrize(
    ("results", "runs", "failed", "last_failed", "failures", "last_passed"),
    [
        (["3 passed in 0.1s"], 1, 0, False, 0, 0),
        (["2 failed, 1 passed in 0.1s"], 1, 1, True, 2, None),
        (["3 passed in 0.1s", "1 failed, 2 passed"], 2, 1, True, 1, 0),
        (["1 failed, 2 passed", "3 passed in 0.2s"], 2, 1, False, 0, 1),
        (["FATAL: no such option"], 1, 1, True, None, None),
        (["ok  \tapp\t0.1s"], 1, 0, False, None, 0),
    ],
)
def test_tests_are_counted_by_how_they_ended(
    results, runs, failed, last_failed, failures, last_passed
):
    tests = details_of([checked(text, seq) for seq, text in enumerate(results)]).tests

    assert tests is not None
    assert (tests.runs, tests.failed, tests.last_seq) == (runs, failed, len(results) - 1)
    assert (tests.last_failed, tests.failures) == (last_failed, failures)
    assert tests.last_passed_seq == last_passed


def test_tests_that_end_with_an_error_failed():
    tests = details_of([checked(None, error="exit code 1")]).tests

    assert tests is not None
    assert tests.last_failed


@pytest.mark.parametrize(
    ("command", "result", "commit"),
    [
        (
            "git commit -m 'Fix login'",
            "[main 1f2e3d4] Fix login\n 1 file",
            ("Fix login", "1f2e3d4"),
        ),
        ('git add -A && git commit -qm "Fix login"', "", ("Fix login", "")),
        ("git -C app commit -am 'Two'", "", ("Two", "")),
        ("git commit --amend --no-edit", "[detached HEAD 1f2e3d4f5] Old", ("Old", "1f2e3d4")),
        ("git commit -F message", "", ("", "")),
        ("git commit -m x", "nothing to commit, working tree clean", None),
        ("git log --grep commit", "", None),
        ("git commit-tree 1f2e", "", None),
        ("echo git commit", "", None),
    ],
)
def test_commits_are_those_git_made(command, result, commit):
    work = details_of([ran(command, 7, result)])

    assert [(one.text, one.hash) for one in work.commits] == ([commit] if commit else [])
    assert work.commit_count == len(work.commits)
    assert {one.seq for one in work.commits} <= {7}
