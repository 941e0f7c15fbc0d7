"""A run that was asked to finish really ends, whatever its agent does afterwards."""

from decimal import Decimal

import pytest

from guard.turn import Role, Turn
from missioncontrol.decisions import deadlines
from missioncontrol.runs.models import RunMeters
from tests.build import a_call, a_proposal, a_run, after, report
from tests.missioncontrol.taps import directive_of, tap

pytestmark = pytest.mark.django_db


@pytest.fixture
def finishing():
    """A run at its budget that was asked to finish."""
    run = report(a_run(budget={"usd": 1}), a_proposal(cost_usd=Decimal(1)))
    tap(run, "finish")
    return run


def rest(run):
    RunMeters.objects.filter(pk=run.pk).update(presence="idle")


def sweep(run, *, seconds):
    deadlines.end_finished_runs(at=after(seconds))
    run.refresh_from_db()
    return run.status


SUMMARY = Turn(role=Role.ASSISTANT, content="Half is done.", agent="coder")


def test_it_has_completed_once_it_rests_after_its_last_words(finishing):
    report(finishing, SUMMARY)
    rest(finishing)

    assert sweep(finishing, seconds=4) == "running"
    assert sweep(finishing, seconds=6) == "completed"


def test_one_of_whose_rests_nothing_is_known_has_after_five_minutes(finishing):
    report(finishing, SUMMARY)

    assert sweep(finishing, seconds=299) == "running"
    assert sweep(finishing, seconds=301) == "completed"


def test_it_is_not_let_on_when_it_comes_back(finishing):
    report(finishing, SUMMARY)
    sweep(finishing, seconds=301)

    run = report(finishing, a_proposal("make"), at=after(400))

    assert (run.status, directive_of(run).action) == ("stopping", "stop")


def test_two_turns_are_let_through_and_the_third_is_the_end(finishing):
    turns = [a_call(f"step {n}", key=f"s{n}", result=f"{n} is done") for n in range(3)]

    assert [report(finishing, turn).status for turn in turns] == ["running", "running", "stopping"]


def test_a_call_that_it_makes_to_finish_is_waited_for(finishing):
    report(finishing, a_proposal("git commit -am done", key="last"))

    assert sweep(finishing, seconds=301) == "running"
    report(finishing, a_call("git commit -am done", key="last", result="ok"), at=after(302))
    assert sweep(finishing, seconds=603) == "completed"


def test_one_that_has_not_been_heard_of_since_is_not_said_to_have_finished(finishing):
    assert sweep(finishing, seconds=1700) == "running"

    deadlines.lose_silent_runs(at=after(1900), listening_since=after(0))
    assert sweep(finishing, seconds=1900) == "lost"


def test_one_that_nobody_asked_to_finish_goes_on():
    run = report(a_run(), SUMMARY)
    rest(run)

    assert sweep(run, seconds=1000) == "running"


def test_a_person_who_ends_it_meanwhile_is_who_ended_it_whatever_it_still_does(finishing):
    tap(finishing, "terminate")
    version = finishing.version

    run = report(finishing, *(a_call(f"step {n}", key=f"s{n}", result="done") for n in range(4)))

    assert (run.status, run.reason) == ("stopping", "Terminated by ana.")
    assert run.version == version
