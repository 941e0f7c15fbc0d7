"""When the judge is asked, with one that knows the labels in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guard.bench.fit import trace
from guard.bench.labels import Labelled, Stretch
from guard.bench.oracle import (
    Choice,
    Reach,
    Read,
    ask_about,
    choose,
    find_attempts,
    find_spans,
    foresee,
)
from guard.bench.oracle import Foreseen as Told
from guard.cli import main
from guard.detectors.stall import SUSPICION_SHARE
from guard.formats import Recording
from guard.policy import DEFAULT_POLICY
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message
from tests.guard.small_talk import small_talk
from tests.guard.test_bench import MISSING, a_label, a_read, write_run

FAILING = a_call("Bash", error="E1: missing brace", command="make")


def pages(count: int, start: int = 0) -> list[Turn]:
    return [
        a_call("Read", "\n".join(f"{name}{n} = {n * 7}" for name in "abcdef"), path=f"f{n}.py")
        for n in range(start, start + count)
    ]


def a_run(*turns: Turn, stretches=(), source="one") -> tuple[Labelled, Recording]:
    labelled = Labelled(
        run="r",
        source=source,
        path=Path("r.jsonl"),
        kind="loop",
        rationale="",
        loop_start=stretches[0].start if stretches else None,
        stretches=tuple(stretches),
    )
    return labelled, Recording(run="r", turns=turns)


STUCK = a_run(*pages(6), *[FAILING] * 6, stretches=[Stretch(start=6, evident=8, end=None)])
HEALTHY = a_run(*pages(6), FAILING, FAILING, *pages(6, start=6))


def test_a_question_inside_a_stretch_finds_it():
    asked = ask_about(*STUCK, DEFAULT_POLICY)

    assert (asked.in_vain, asked.reached, asked.stretches) == (0, 1, 1)
    assert asked.trial.alarms == (7,)


def test_a_question_outside_is_in_vain_and_no_alarm():
    asked = ask_about(*HEALTHY, DEFAULT_POLICY)

    assert (asked.in_vain, asked.trial.alarms) == (1, ())


def test_a_question_too_soon_is_lost_on_a_careful_judge():
    assert ask_about(*STUCK, DEFAULT_POLICY, careful=True).trial.alarms == (8,)


def test_a_stretch_is_to_be_asked_about_before_the_third_attempt_after_it_is_evident():
    turns = [*pages(2), *[FAILING, a_message("Again.")] * 6]
    labelled, recording = a_run(*turns, stretches=[Stretch(start=2, evident=6, end=None)])

    assert find_attempts(recording) == [0, 1, 2, 4, 6, 8, 10, 12]
    assert find_spans(labelled, recording) == [(2, 11)]


def test_where_nobody_calls_a_tool_messages_are_attempts():
    order = Turn(role=Role.USER, content="Settle it.")

    assert find_attempts(Recording(run="r", turns=(order, *small_talk(3)))) == [1, 2, 3]


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("run", [STUCK, HEALTHY], ids=["stuck", "healthy"])
def test_what_is_foreseen_is_what_a_replay_asks(run, careful):
    read = Read(trace(*run, DEFAULT_POLICY), find_spans(*run))
    shipped = Choice(SUSPICION_SHARE, DEFAULT_POLICY.judge.drought)

    cases = (
        foresee(read, shipped, DEFAULT_POLICY, careful=careful),
        ask_about(*run, DEFAULT_POLICY, careful=careful),
    )

    foreseen, asked = [(one.in_vain, one.trial.alarms, one.reached) for one in cases]
    assert foreseen == asked


def test_of_choices_the_one_that_reaches_most_is_taken():
    stuck = ask_about(*STUCK, DEFAULT_POLICY)
    missed = foresee(Read(trace(*STUCK, DEFAULT_POLICY), [(0, 1)]), Choice(0.6, 12), DEFAULT_POLICY)
    eager, slow = Choice(0.3, 5), Choice(0.6, 12)
    reach = {"one": Reach((stuck,))}
    little = {"one": Reach((missed,))}

    assert choose({slow: Told(little, little), eager: Told(reach, reach)}, ["one"]) == eager


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two sources: a stuck run of one, a healthy run of the other."""
    headers = [
        write_run(tmp_path / "runs", run, a_label(start), turns, source=source)
        for run, start, turns, source in (
            ("stuck", 4, [*(a_read(n) for n in range(4)), *[MISSING] * 5], "one"),
            ("fine", None, [a_read(n) for n in range(30)], "two"),
        )
    ]
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(row) + "\n" for row in headers))
    return tmp_path


def test_the_bench_tells_how_often_the_judge_is_asked(corpus, capsys):
    assert main(["bench", str(corpus), "--oracle", "--json"]) == 0

    report = json.loads(capsys.readouterr().out)
    assert (report["questions_per_1000"], report["reached_share"], report["found"]) == (0.0, 1.0, 1)
    assert report["by_source"]["two"]["stretches"] == 0
    assert report["leave_one_source_out"]["chosen_on_all"].keys() == {"share", "drought"}


def test_as_text_it_tells_what_the_figures_are(corpus, capsys):
    assert main(["bench", str(corpus), "--oracle"]) == 0

    assert "questions per 1,000 healthy turns" in capsys.readouterr().out
