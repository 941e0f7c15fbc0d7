"""How stuck runs were and what people did, as a policy's page shows it."""

from datetime import timedelta

import pytest

from missioncontrol.decisions import interventions, permissions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.models import Decision
from missioncontrol.detection import policies
from missioncontrol.detection.scores import scores_of
from missioncontrol.runs.models import Run, RunMeters
from tests.build import NOON, a_call, a_project, a_proposal, a_run, a_stuck_run, report

pytestmark = pytest.mark.django_db


def tap(run, action, **fields):
    run.refresh_from_db()
    interventions.intervene(
        run.id,
        Tap(key=f"{action}-{run.version}", action=action, version=run.version, **fields),
        projects=[run.project_id],
        by="ana",
        at=NOON,
    )


def scores(project, days=30):
    return scores_of(project, days=days, at=NOON).runs


def test_a_run_shows_its_highest_score_its_turn_and_the_rule_that_asked(project):
    run = a_stuck_run(project)

    (row,) = scores(project)

    assert (row.run, row.run_name, row.rule) == (run.id, run.name, "repeat")
    assert (row.score, row.turn, row.outcome) == (run.meters.highest_score, 1, "unanswered")


@pytest.mark.parametrize(
    ("action", "fields", "outcome"),
    [
        ("terminate", {}, "corrected"),
        ("inject", {"message": "Read token.py."}, "corrected"),
        ("continue", {}, "continued"),
    ],
)
def test_the_outcome_shows_what_people_answered(project, action, fields, outcome):
    run = a_stuck_run(project)
    tap(run, action, decision=run.open_decision, **fields)

    assert [row.outcome for row in scores(project)] == [outcome]


def test_runs_stopped_without_a_card_differ_from_runs_never_asked_about(project):
    quiet, stopped = a_run(project, key="quiet"), a_run(project, key="stopped")
    report(quiet, a_call())
    report(stopped, a_call())
    tap(stopped, "terminate")

    outcomes = {row.run: row.outcome for row in scores(project)}

    assert outcomes == {quiet.id: "unasked", stopped.id: "stopped"}


def test_what_the_score_asked_is_no_rule(project):
    run = a_stuck_run(project)
    Decision.objects.update(detector="stall")

    assert scores(project)[0].rule == ("stall" if run.meters.highest_score < 0.5 else None)
    RunMeters.objects.update(highest_score=0.83)
    assert scores(project)[0].rule is None


def test_older_runs_and_those_of_other_projects_are_left_out(project):
    a_run(a_project("another"), key="theirs")
    old = a_run(project, key="old")
    Run.objects.filter(pk=old.pk).update(started_at=NOON - timedelta(days=31))
    mine = a_run(project, key="mine")

    assert [row.run for row in scores(project)] == [mine.id]
    assert len(scores(project, days=32)) == 2


def test_presets_say_from_which_score_they_ask(project):
    presets = scores_of(project, days=30, at=NOON).presets

    assert [one.asks_from for one in presets] == sorted(
        (one.asks_from for one in presets), reverse=True
    )
    assert next(one.asks_from for one in presets if one.name == "balanced") == 0.8


def test_a_check_says_from_which_score_the_draft_asks(project):
    checked = policies.check_policy({"sensitivity": 0.7}, project=project)

    assert (checked.line.sensitivity, checked.line.asks_from, checked.line.today) == (0.7, 0.7, 0.8)
    assert [change.field for change in checked.from_preset] == ["sensitivity"]


def test_a_policy_without_the_score_has_no_line(project):
    checked = policies.check_policy({"detectors": ["budget"]}, project=project)

    assert checked.line.asks_from is None


def test_a_budget_of_a_run_is_a_rule_of_the_form(project):
    checked = policies.check_policy({"budget": {"usd": "8.00"}}, project=project)

    rule = next(one for one in checked.rules if one.section == "budget")
    assert (rule.field, rule.value, rule.today) == ("usd", "8.00", None)


def test_a_permission_that_was_asked_is_no_loop(project):
    run = report(a_run(project, agent="claude-code"), a_call("ls"))
    permissions.ask_permission(run.id, a_proposal("rm -r build"), for_s=60, at=NOON)

    (row,) = scores(project)

    assert (row.rule, row.outcome) == (None, "unasked")
