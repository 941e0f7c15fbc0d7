"""A correction is enforced: what it was given for is held at its first reappearance."""

import itertools

import pytest

from missioncontrol.decisions import terminal_choices
from missioncontrol.decisions.models import Decision
from missioncontrol.decisions.terminal_choices import LateChoice
from missioncontrol.detection import engine_cache, judging, pipeline
from missioncontrol.runs.models import Run
from tests.build import NOON, a_call, a_proposal, a_run, a_stuck_run, report
from tests.missioncontrol.taps import directive_of, open_card_of, tap

pytestmark = pytest.mark.django_db

ERROR = "ModuleNotFoundError: no module 'app.tokens'"


def corrected_by_a_person(project):
    run = a_stuck_run(project)
    tap(run, "inject", message="The module is token.py.")
    return run


def corrected_by_a_fix(project):
    workspace = ["app/token.py", "tests/test_auth.py"]
    return a_stuck_run(project, mode="auto", workspace=workspace)


def corrected_at_its_terminal(project):
    run = a_stuck_run(project)
    held = run.turn_rows.get(seq=run.meters.last_seq).key
    choice = LateChoice(key="c", action="inject", message="Look in token.py.", turn=held)
    terminal_choices.record_choice(run.id, choice, project=project.id, at=NOON)
    return Run.objects.get(pk=run.pk)


EVERY_WAY = [corrected_by_a_person, corrected_by_a_fix, corrected_at_its_terminal]


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("correct", EVERY_WAY)
def test_the_same_request_is_held_at_its_first_reappearance(project, correct, restarted):
    run = correct(project)
    assert (run.status, run.turn_rows.get(seq=2).skipped) == ("running", True)
    if restarted:
        engine_cache.ENGINES.clear()

    run = report(run, a_proposal())

    assert (run.status, directive_of(run).action) == ("holding", "hold")
    assert open_card_of(run).signal["turns"] == [0, 1, 2, 3]


def test_a_corrected_call_that_returns_is_judged_a_loop(project):
    run = report(corrected_by_a_person(project), a_proposal())

    judging.judge_card(run.open_decision, at=NOON)

    run.refresh_from_db()
    assert (run.status, open_card_of(run).verdict["loop"]) == ("holding", True)


def test_a_corrected_call_that_returns_gets_no_second_fix(project):
    run = report(corrected_by_a_fix(project), a_proposal())

    judging.judge_card(run.open_decision, at=NOON)

    run.refresh_from_db()
    assert (run.status, open_card_of(run).status) == ("holding", "open")


def test_a_worker_started_later_still_knows_the_correction(project):
    run = corrected_by_a_person(project)
    for number in range(140):
        report(run, a_call(f"cat {number}.txt", result=f"the words of file {number}"))
    engine_cache.ENGINES.clear()

    assert report(run, a_proposal()).status == "holding"


def test_a_change_lifts_a_correction_for_every_worker(project):
    run = corrected_by_a_person(project)
    report(run, a_call("touch app/tokens.py", result=""))
    engine_cache.ENGINES.clear()

    run = report(run, a_proposal())

    assert (run.status, run.meters.corrected) == ("running", [])


def test_the_next_correction_is_enforced_as_the_first(project):
    run = report(corrected_by_a_person(project), a_proposal())
    tap(run, "inject", message="Not that one.")

    assert report(run, a_proposal()).status == "holding"


def test_a_continue_lifts_a_correction(project):
    run = report(corrected_by_a_person(project), a_proposal())
    tap(run, "continue")

    assert report(run, a_proposal()).status == "running"


def test_a_call_beside_the_corrected_one_may_be_made_again(project):
    run = a_stuck_run(project)
    report(run, a_proposal("ls"))
    tap(run, "inject", message="The module is token.py.")

    assert report(run, a_proposal("ls")).status == "running"


def test_of_two_calls_by_turns_the_one_that_was_held_is_corrected(project):
    run, calls = a_run(project), itertools.cycle(["cat a.py", "cat b.py"])
    while not run.open_decision:
        held = next(calls)
        run = report(run, a_call(held, error=f"{held}: no such file"))
    tap(run, "inject", message="Both are gone.")
    engine_cache.ENGINES.clear()

    assert report(run, a_proposal(next(calls))).status == "running"
    assert report(run, a_proposal(held)).status == "holding"


def test_what_a_pause_held_is_corrected_without_a_card(project):
    run = a_run(project)
    tap(run, "pause")
    report(run, a_proposal("rm -r build"))
    tap(run, "inject", message="Leave the build alone.")

    run = report(run, a_proposal("rm -r build"))

    assert (run.status, Decision.objects.get().detector) == ("holding", "repeat")


def test_an_agent_that_was_only_flagged_is_advised_and_not_held(project):
    run = a_stuck_run(project, mode="flag")
    tap(run, "inject", message="The module is token.py.")

    assert report(run, a_proposal()).open_decision is None


def test_an_agent_that_reports_only_results_is_held_at_its_next_turn(project):
    run = a_run(project)
    for _ in range(3):
        report(run, a_call(error=ERROR))
    tap(run, "inject", message="The module is token.py.")

    run = report(run, a_call(error=ERROR))

    assert (run.status, open_card_of(run).evidence["summary"]) == (
        "holding",
        "It was corrected and did the same again.",
    )
    assert pipeline.detect([run.id], at=NOON).opened == []
