"""The fingerprint's rule, pinned: one action under any wording; 3 escalate, 5 halt."""

from __future__ import annotations

import pytest

from guard.contrib.fingerprint import fingerprint, normalise_error
from guard.engine import Engine
from guard.formats import Recording
from guard.policy import PRESETS, Policy
from guard.replay import replay
from guard.signals import Severity
from guard.turn import Turn
from tests.guard.build import a_call, a_message, watch

FINGERPRINT = PRESETS["fingerprint"]

# What a stuck agent says and writes, and what it meets, five times.
WALKTHROUGH = [
    (
        "Set the timeout to 60.",
        "timeout = 60",
        'File "/home/me/app/config.py", line 12, in load\nTimeoutError: no answer at 0x7f3c1a20',
    ),
    (
        "Raise the time limit to one minute instead.",
        "timeout = 60  # seconds",
        'File "/home/me/app/config.py", line 14, in load\nTimeoutError: no answer at 0x55d0be18',
    ),
    (
        "The default was 30; make it 60 seconds.",
        "TIMEOUT_S = 60",
        'File "/srv/build/app/config.py", line 9, in load\nTimeoutError: no answer at 0x7ffe0042',
    ),
    (
        "Wrap the call in try/except and wait longer.",
        "try: load(timeout=60)",
        'File "/tmp/x1/app/config.py", line 31, in load\nTimeoutError: no answer at 0x560aa118',
    ),
    (
        "Pass the timeout at the call site.",
        "load(timeout_s=60.0)",
        'File "config.py", line 7, in load\nTimeoutError: no answer at 0x7fab3310',
    ),
]


def an_attempt(thought: str, written: str, error: str, **fields) -> Turn:
    facts = {"files": ("app/config.py",), "state": "9f31c2", "action_class": "fix", **fields}
    return a_call("Edit", content=thought, error=error, new_string=written, **facts)


def stuck(count: int = 5, **fields) -> list[Turn]:
    return [an_attempt(*WALKTHROUGH[i % 5], **fields) for i in range(count)]


def severities(turns: list[Turn], policy: Policy = FINGERPRINT) -> list[Severity | None]:
    trips = [assessment.trip for assessment in watch(turns, policy)]
    return [trip.severity if trip else None for trip in trips]


def test_five_wordings_have_one_fingerprint():
    prints = {
        fingerprint(action="fix", files=("app/config.py",), state="9f31c2", error=error)
        for _, _, error in WALKTHROUGH
    }

    assert len(prints) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"action": "test_run"},
        {"files": ("app/config.py", "app/load.py")},
        {"state": "77aa01"},
        {"error": "KeyError: 'timeout'"},
    ],
)
def test_each_dimension_is_part_of_it(changed):
    fields = {
        "action": "fix",
        "files": ("app/config.py",),
        "state": "9f31c2",
        "error": "TimeoutError",
    }

    assert fingerprint(**fields) != fingerprint(**{**fields, **changed})


def test_the_order_of_files_is_not():
    one = fingerprint(action="fix", files=("b", "a"), state="", error="")

    assert one == fingerprint(action="fix", files=("a", "b"), state="", error="")


def test_an_error_loses_what_moves_and_keeps_what_it_says():
    text = "2026-11-21T21:08:00Z /home/me/app/auth.py:42: KeyError 'user_id' at 0x7f00ab12"

    normal = normalise_error(text)

    assert "auth.py" in normal
    assert "'user_id'" in normal
    assert not any(gone in normal for gone in ("2026", "42", "0x7f", "/home"))


def test_the_third_action_escalates_and_the_fifth_halts():
    assert severities(stuck(5)) == [None, None, Severity.ESCALATE, Severity.ESCALATE, Severity.STOP]


def test_the_replay_shows_both():
    replayed = replay(Recording(run="r", turns=tuple(stuck(7))), FINGERPRINT)

    assert (replayed.first_alarm, replayed.first_stop) == (2, 4)
    assert replayed.detector == "fingerprint"


@pytest.mark.parametrize(
    "change",
    [
        {"state": "0be77a"},
        {"files": ("app/config.py", "app/load.py")},
        {"error": "KeyError: 'timeout'"},
        {"action_class": "refactor"},
    ],
)
def test_a_genuine_change_starts_the_streak_again(change):
    before, after = stuck(2, action_class="edit"), stuck(2, action_class="edit")
    fields = {"action_class": "edit", "error": before[0].error, **change}
    changed = an_attempt("Another way.", "x", fields.pop("error"), **fields)

    assert severities([*before, changed, *after]) == [None] * 5


def test_a_reset_starts_the_streak_again():
    engine = Engine(FINGERPRINT)
    for turn in stuck(4):
        engine.observe(turn)

    engine.reset()

    assert [engine.observe(turn).trip for turn in stuck(2)] == [None, None]


def test_known_retries_are_counted_apart():
    retry = a_call("http", error="429 too many requests", action_class="api_retry", url="/x")

    turns = [*stuck(2), retry, retry, retry, retry, *stuck(1)]

    assert severities(turns) == [None] * 6 + [Severity.ESCALATE]


@pytest.mark.parametrize("action", ["search", "explore", "api_retry"])
def test_searches_and_known_retries_may_repeat_longer(action):
    turns = [a_call("find", f"{n} hits", query=f"try {n}", action_class=action) for n in range(8)]

    assert severities(turns) == [None] * 6 + [Severity.ESCALATE, Severity.STOP]


def test_their_thresholds_are_settings():
    policy = Policy.from_mapping(
        {
            "preset": "fingerprint",
            "contrib": {"fingerprint": {"exploring_escalate": 8, "exploring_halt": 9}},
        }
    )
    turns = [a_call("Grep", "no hits", pattern=f"word{n}") for n in range(9)]

    assert severities(turns, policy) == [None] * 7 + [Severity.ESCALATE, Severity.STOP]


def a_cycle(n: int, failure: str) -> list[Turn]:
    return [
        a_call("Edit", "ok", file_path="app/auth.py", new_string=f"attempt {n}"),
        a_call("Write", "ok", file_path=f"tests/test_{n}.py", content=f"def test_{n}(): ..."),
        a_call("Bash", error=failure, command="pytest -q"),
    ]


def test_fixes_are_tracked_across_write_test_run_fix_cycles():
    same = "FAILED tests/test_auth.py::test_login - KeyError: 'user'"
    fix = a_call("Edit", "ok", file_path="app/auth.py", new_string="y")
    cycles = [
        turn
        for n in range(4)
        for turn in (
            a_call("Write", "ok", action_class="write_test", file_path=f"tests/test_{n}.py"),
            a_call("Bash", error=same, command=f"pytest -q tests/test_{n}.py"),
            fix,
        )
    ]

    found = severities(cycles)

    # The third fix that answers the same failure; no two like actions stand together.
    assert found.index(Severity.ESCALATE) == 8
    assert watch(cycles, FINGERPRINT)[8].trip.turns == (2, 5, 8)


def test_fixes_that_answer_another_failure_each_time_are_progress():
    turns = [turn for n in range(6) for turn in a_cycle(n, f"NameError: name 'x{chr(97 + n)}'")]

    assert not any(severities(turns))


def test_edits_that_answer_no_failure_are_no_fixes():
    turns = [
        turn
        for n in range(6)
        for turn in (
            a_call("Edit", "ok", file_path="app/auth.py", new_string=f"step {n}"),
            a_call("Bash", f"{n + 3} passed", command="pytest -q"),
        )
    ]

    assert not any(severities(turns))


def test_talk_is_no_action():
    assert not any(severities([a_message(f"Thinking about it, {n}.") for n in range(8)]))


def test_talk_that_names_what_it_did_is_one():
    turns = [
        a_message(text, action_class="fix", files=("app/config.py",), error=error)
        for text, _, error in WALKTHROUGH
    ]

    assert severities(turns)[2:] == [Severity.ESCALATE, Severity.ESCALATE, Severity.STOP]


def test_what_a_call_touches_is_told_and_gives_no_orders():
    turns = stuck(3, files=("app.py. Now obey",), action_class="fix it. Now obey")

    summary = watch(turns, FINGERPRINT)[-1].trip.evidence.summary

    assert summary.startswith('It did the same ("fix it. Now obey" on "app.py. Now obey") 3 times')
