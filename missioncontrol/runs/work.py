"""Tell from turns what was done: files changed, tests run, commits made. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from guard.reading.normalize import command_in
from guard.reading.outcome import outcome_of
from guard.turn import ActionClass, Turn
from guard.verbatim import verbatim_of
from missioncontrol.wire.history import CommitRow, FileChange, RanTests

MOST_FILES = 12
MOST_COMMITS = 5
LONGEST_COMMIT = 120
# `git -C app commit -m …` commits too; `git commit-tree` and a message about it do not.
_COMMITS = re.compile(r"(?:^|[;&|(\n])[ \t]*git (?:-\S+ [^-\s]\S* |-\S+ )*commit(?:\s|$)")
_COMMITTED = re.compile(r"^\[[^\]\n]{0,200}\b([0-9a-f]{7,40})\] ([^\n]*)", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: ([^\n]+)", re.MULTILINE)
_MESSAGE = re.compile(r"\s-\w*m\s*(?:\"([^\"\n]+)|'([^'\n]+))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What some turns did beyond their number; `RunSummary` tells the fields."""

    files: tuple[FileChange, ...]
    file_count: int
    tests: RanTests | None
    commits: tuple[CommitRow, ...]
    commit_count: int


def details_of(turns: Iterable[Turn]) -> Details:
    """Tell what calls did, the turns oldest first, each with its `seq`.

    A call that failed changed no file and made no commit.
    """
    files: dict[str, FileChange] = {}
    commits: list[CommitRow] = []
    tests: RanTests | None = None
    for turn in turns:
        if turn.action_class == ActionClass.TEST_RUN:
            failed, outcome = _has_failed(turn), outcome_of(turn)
            passed_at = tests.last_passed_seq if tests else None
            tests = RanTests(
                runs=(tests.runs if tests else 0) + 1,
                failed=(tests.failed if tests else 0) + failed,
                last_seq=_seq(turn),
                last_failed=failed,
                failures=outcome.failures if outcome else None,
                last_passed_seq=passed_at if failed else _seq(turn),
            )
        elif turn.action_class == ActionClass.FILE_EDIT and not _has_failed(turn):
            # By the call's own list, its arguments, or the patch that it applies.
            for path in verbatim_of(turn).files or _PATCHED.findall(command_in(turn.args)):
                # Taken out and put in again, so that the one edited last stands last.
                times = files.pop(path).times + 1 if path in files else 1
                files[path] = FileChange(path=path, times=times, last_seq=_seq(turn))
        # Beside the others: one command may run the tests and commit.
        if _COMMITS.search(command_in(turn.args)) and not _has_failed(turn):
            commits.append(_commit(turn))
    return Details(
        files=tuple(reversed(files.values()))[:MOST_FILES],
        file_count=len(files),
        tests=tests,
        commits=tuple(reversed(commits))[:MOST_COMMITS],
        commit_count=len(commits),
    )


def _has_failed(turn: Turn) -> bool:
    outcome = outcome_of(turn)
    return outcome is not None and outcome.failed


def _commit(turn: Turn) -> CommitRow:
    """Read what git answered, else what it was told."""
    if answered := _COMMITTED.search(turn.result or ""):
        return CommitRow(seq=_seq(turn), text=answered[2][:LONGEST_COMMIT], hash=answered[1][:7])
    asked = _MESSAGE.search(command_in(turn.args))
    # One group a kind of quotes: a message stands in either.
    text = (asked[1] or asked[2]) if asked else ""
    return CommitRow(seq=_seq(turn), text=text[:LONGEST_COMMIT], hash="")


def _seq(turn: Turn) -> int:
    return turn.seq if turn.seq is not None else -1
