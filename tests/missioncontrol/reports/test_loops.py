"""What cards tell of loops: how many, what was stopped, and how long others lasted."""

from datetime import timedelta
from decimal import Decimal

import pytest

from missioncontrol.decisions import sessions
from missioncontrol.decisions.models import Decision
from missioncontrol.reports import loops
from missioncontrol.reports.savings import UnstoppedLoop
from missioncontrol.runs.models import Run, RunMeters
from tests.build import NOON, a_call, a_proposal, a_run, after, report
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db

HOUR = {"since": NOON - timedelta(hours=1), "until": NOON + timedelta(hours=1)}


def a_loop(project, *, usd=None, agent="coder", **fields):
    """A run that does something of its own, then the same three times."""
    run = a_run(project, **fields)
    cost = None if usd is None else Decimal(usd)
    report(run, a_call("ls", result="app tests", agent=agent, cost_usd=cost))
    for _ in range(2):
        report(run, a_call(error="no module 'app.tokens'", agent=agent, cost_usd=cost))
    return report(run, a_proposal(agent=agent))


def looks_at(run, *names):
    return report(run, *(a_call(f"cat {name}", result=f"what {name} says") for name in names))


def ends(run):
    sessions.end_session(run.id, at=after(60))


def the_stop(project):
    (loop,) = loops.stopped_loops(project.id, **HOUR)
    return loop.stop


def test_a_loop_is_told_under_the_agent_that_went_round(project):
    runs = a_loop(project), a_loop(project, agent="")
    Run.objects.update(agent="lead")

    assert [one.agent for one in loops.find_loops(project.id, **HOUR)] == ["coder", "lead"]
    for run in runs:
        tap(run, "terminate")
    assert [one.agent for one in loops.stopped_loops(project.id, **HOUR)] == ["coder", "lead"]


@pytest.mark.parametrize("answer", ["continue", "allowlist"])
def test_what_a_person_let_go_on_was_no_loop(project, answer):
    tap(a_loop(project), answer)

    assert loops.find_loops(project.id, **HOUR) == []


def test_a_stop_is_told_when_and_to_whom_it_came(project):
    run = a_loop(project)
    RunMeters.objects.filter(pk=run.pk).update(model="m-big")
    tap(run, "terminate", at=after(300))

    (loop,) = loops.stopped_loops(project.id, **HOUR)

    assert (loop.run, loop.agent, loop.model) == (run.id, "coder", "m-big")
    assert loop.at == after(300)


def test_a_stop_counts_from_the_first_turn_of_its_loop(project):
    tap(a_loop(project), "terminate")

    stop = the_stop(project)

    assert (stop.kind, stop.turns) == ("exact_repeat", 3)


def test_a_stop_whose_evidence_was_erased_counts_from_the_beginning(project):
    tap(a_loop(project), "terminate")
    Decision.objects.update(evidence={})

    assert the_stop(project).turns == 4


def test_a_turn_of_a_loop_costs_what_its_own_turns_cost(project):
    run = a_loop(project, usd="0.30")
    RunMeters.objects.filter(pk=run.pk).update(cost_usd=100)
    tap(run, "terminate")

    assert the_stop(project).usd_per_turn == Decimal("0.20")


@pytest.mark.parametrize("usd", [None, "0"])
def test_where_its_turns_tell_no_price_a_turn_costs_what_the_whole_run_says(project, usd):
    run = a_loop(project, usd=usd)
    RunMeters.objects.filter(pk=run.pk).update(cost_usd="0.60")
    tap(run, "terminate")

    assert the_stop(project).usd_per_turn == Decimal("0.20")


def test_where_no_turn_was_done_yet_a_turn_has_no_price(project):
    run = a_loop(project)
    RunMeters.objects.filter(pk=run.pk).update(cost_usd=6, done_turns=0)
    tap(run, "terminate")

    assert the_stop(project).usd_per_turn is None


def test_where_nothing_has_a_price_a_turn_has_none(project):
    tap(a_loop(project), "terminate")

    assert the_stop(project).usd_per_turn is None


def test_a_stop_saves_no_more_than_the_runs_ceiling_had_left(project):
    run = a_loop(project, usd="0.50", budget={"usd": "5"})
    RunMeters.objects.filter(pk=run.pk).update(judge_cost_usd=1)
    tap(run, "terminate")

    assert the_stop(project).max_usd == Decimal("2.50")


@pytest.mark.parametrize("kept", [{}, {"usd": None}, {"usd": "much"}])
def test_a_run_without_a_ceiling_that_can_be_read_bounds_nothing(project, kept):
    run = a_loop(project)
    tap(run, "terminate")
    Run.objects.filter(pk=run.pk).update(budget=kept)

    assert the_stop(project).max_usd is None


def test_a_loop_that_was_let_go_on_lasted_until_something_changed(project):
    run = a_loop(project)
    tap(run, "continue")
    report(run, a_call(error="no module 'app.tokens'"))
    looks_at(run, "a.py", "b.py")

    assert loops.unstopped_loops(project.id, at=after(60)) == [
        UnstoppedLoop(kind="exact_repeat", turns=4)
    ]


def test_a_loop_that_ended_with_its_run_lasted_until_then(project):
    run = a_loop(project)
    tap(run, "continue")
    ends(report(run, a_call(error="no module 'app.tokens'")))

    assert loops.unstopped_loops(project.id, at=after(60)) == [
        UnstoppedLoop(kind="exact_repeat", turns=4)
    ]


def test_a_loop_that_goes_on_or_was_stopped_later_says_nothing(project):
    for later in (None, "terminate"):
        run = a_loop(project)
        tap(run, "continue")
        report(run, a_call(error="no module 'app.tokens'"))
        if later:
            tap(run, later)
            ends(run)

    assert loops.unstopped_loops(project.id, at=after(60)) == []


def test_a_flagged_loop_that_nobody_answered_tells_how_long_such_loops_last(project):
    looks_at(a_loop(project, mode="flag"), "a.py")
    held = a_loop(project, mode="pause")
    report(held, a_call(error="no module 'app.tokens'"))
    looks_at(held, "a.py")

    assert loops.unstopped_loops(project.id, at=after(60)) == [
        UnstoppedLoop(kind="exact_repeat", turns=3)
    ]


def test_a_loop_of_a_season_ago_says_nothing(project):
    looks_at(a_loop(project, mode="flag"), "a.py")
    Decision.objects.update(opened_at=NOON - timedelta(days=91))

    assert loops.unstopped_loops(project.id, at=after(60)) == []
