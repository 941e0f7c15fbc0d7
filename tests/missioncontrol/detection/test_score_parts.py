"""Why the stuck score moved at a turn: parts of the same engine that add up."""

from typing import get_args

import pytest

from guard.detectors.score import GAINS, KEEPS
from guard.turn import Role, Turn
from missioncontrol.detection.scores import explain_move
from missioncontrol.errors import NotFound
from missioncontrol.wire.runs import PartKind
from tests.build import a_call, a_run, a_stuck_run, report
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db

# The rule about exact repeats would ask before the score does.
BY_SCORE = {"detectors": ["stall"]}


@pytest.fixture
def read(owner, as_person):
    client = as_person(owner)
    return lambda run, seq: client.get(f"/api/v1/runs/{run.id}/turns/{seq}/score/")


def failing(command="pytest -q"):
    return a_call(command, error="ModuleNotFoundError: no module 'app.tokens'")


@pytest.fixture
def looping(project):
    """A run that looked at two files and then runs the same failing test."""
    run = a_run(project, policy=BY_SCORE)
    report(run, a_call("cat a.py", result="def a(): return 1"))
    for _ in range(2):
        report(run, failing())
    return run


def test_it_has_a_word_for_whatever_the_engine_weighs():
    assert set(get_args(PartKind)) == {*GAINS, *KEEPS, "rule", "reset", "other"}


def test_a_stranger_finds_nothing(project, stranger, as_person):
    run = report(a_run(project), a_call())

    assert as_person(stranger).get(f"/api/v1/runs/{run.id}/turns/0/score/").status_code == 404


def test_a_turn_that_is_not_there_is_not_found(looping):
    with pytest.raises(NotFound):
        explain_move(looping, 99)


def test_a_repeat_names_the_turns_it_repeats(looping, read):
    body = read(looping, 2).json()

    (part,) = body["parts"]
    assert (part["kind"], part["turns"]) == ("same", [1])
    assert part["amount"] > 0
    assert body["changed_seq"] == 1  # the first failure told something


def test_the_parts_add_up_and_the_engine_says_what_it_said(looping, read):
    for seq in range(3):
        body = read(looping, seq).json()

        assert body["is_as_recorded"]
        moved = sum(part["amount"] for part in body["parts"])
        assert body["before"] + moved == pytest.approx(body["score"], abs=0.002)


def test_a_budget_that_lifts_the_line_is_named(project, read):
    run = a_run(project, budget={"turns": 1})
    report(run, a_call("ls", result="a.py"))

    body = read(run, 0).json()

    (part,) = body["parts"]
    assert part["rule"] == "budget"
    assert body["before"] + part["amount"] == pytest.approx(body["score"], abs=0.002)


def test_something_new_takes_from_the_score(looping):
    text = "\n".join(f"line {number} tells of item_{number}" for number in range(60))
    report(looping, a_call("cat b.py", result=text))

    parts = explain_move(looping, 3).parts

    assert [part.kind for part in parts] == ["news"]
    assert parts[0].amount < 0


def test_a_rule_that_asks_first_is_named_with_its_count(project):
    run = a_stuck_run(project)  # its third call waits: nothing came back that could add to it

    rule = explain_move(run, 2).parts[-1]

    assert (rule.kind, rule.rule) == ("rule", "exact_repeat")
    assert rule.repeats == rule.limit == 3
    assert rule.turns == (0, 1)


def test_after_an_answer_it_begins_afresh(project):
    run = a_run(project)
    for _ in range(3):
        report(run, failing())
    tap(run, "continue")
    report(run, failing("make"))

    move = explain_move(run, 3)

    assert [part.kind for part in move.parts] == ["reset"]
    assert (move.score, move.parts[0].amount) == (0.0, -move.before)


def test_a_persons_word_resets_it(looping):
    report(looping, Turn(role=Role.USER, content="Look into app/token.py."))

    assert [part.kind for part in explain_move(looping, 3).parts] == ["reset"]


def test_a_policy_that_changed_since_is_said_to_differ(looping):
    looping.policy = {**BY_SCORE, "sensitivity": 0.99}
    looping.save(update_fields=["policy"])

    assert not explain_move(looping, 2).is_as_recorded


def test_the_series_tells_from_where_the_policy_asks(looping, owner, as_person):
    series = as_person(owner).get(f"/api/v1/runs/{looping.id}/series/").json()

    assert series["asks_from"] == 0.8


def test_a_rise_by_tries_with_something_new_between_is_named_and_adds_up(project, read):
    run = a_run(project, policy=BY_SCORE)
    for number in range(3):
        text = "\n".join(f"chapter{number} tells of item{number}x{line}" for line in range(40))
        report(run, failing())
        report(run, a_call(f"cat page{number}.txt", result=text))

    body = read(run, 4).json()

    assert (body["parts"][-1]["kind"], body["parts"][-1]["turns"]) == ("rule", [0, 2])
    moved = sum(part["amount"] for part in body["parts"])
    assert body["before"] + moved == pytest.approx(body["score"], abs=0.002)
