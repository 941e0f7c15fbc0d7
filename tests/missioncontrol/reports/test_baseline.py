"""What an agent usually spends: told only where enough runs are recorded."""

from datetime import timedelta
from decimal import Decimal

import pytest

from missioncontrol.costs.selectors import baseline_spending
from missioncontrol.runs.models import Run, RunMeters
from tests.build import NOON, a_project, a_run

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(days=1)


def an_ended_run(project, cost, *, minutes=60, agent="coder", days=0):
    run = a_run(project, agent=agent)
    last_at = NOON + timedelta(minutes=minutes)
    ended = NOON - timedelta(days=days)
    Run.objects.filter(pk=run.id).update(status="completed", ended_at=ended)
    RunMeters.objects.filter(pk=run.id).update(cost_usd=Decimal(cost), last_turn_at=last_at)


def baseline_of(project):
    return [
        (row.agent, row.usd_per_hour, row.runs)
        for row in baseline_spending(projects=[project.id], at=LATER)
    ]


def test_it_is_the_median_of_recorded_runs_an_hour():
    project = a_project()
    for cost in ("1", "2", "3", "4", "50"):
        an_ended_run(project, cost)

    assert baseline_of(project) == [("coder", Decimal("3.00"), 5)]


def test_fewer_than_five_runs_are_no_baseline():
    project = a_project()
    for cost in ("1", "2", "3", "4"):
        an_ended_run(project, cost)

    assert baseline_of(project) == [("coder", None, 4)]


def test_half_an_hour_counts_double():
    project = a_project()
    for _ in range(5):
        an_ended_run(project, "2", minutes=30)

    assert baseline_of(project) == [("coder", Decimal("4.00"), 5)]


def test_short_free_and_old_runs_say_nothing():
    project = a_project()
    an_ended_run(project, "1", minutes=1)
    an_ended_run(project, "0")
    an_ended_run(project, "1", days=40)

    assert baseline_of(project) == [("coder", None, 0)]


def test_agents_and_projects_stay_apart():
    project, other = a_project(), a_project()
    for _ in range(5):
        an_ended_run(project, "1", agent="coder")
        an_ended_run(project, "7", agent="crew")
        an_ended_run(other, "99", agent="coder")

    assert baseline_of(project) == [("coder", Decimal("1.00"), 5), ("crew", Decimal("7.00"), 5)]
