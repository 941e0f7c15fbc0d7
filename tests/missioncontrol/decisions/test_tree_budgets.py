"""A run's budget counts what its whole tree uses, holds all of it, and lets all go."""

from decimal import Decimal

import pytest

from guard.turn import Usage
from missioncontrol.costs import trees
from missioncontrol.costs.spending import SharedCounters
from missioncontrol.costs.trees import spent_by_tree
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Amount
from missioncontrol.decisions.models import Decision
from missioncontrol.detection import judging, pipeline
from missioncontrol.runs.models import Run
from tests.build import NOON, a_proposal, a_run, after, judged, put, report
from tests.missioncontrol.taps import a_paid_call, open_card_of, payloads_of, tap

pytestmark = pytest.mark.django_db


def a_tree(project, *, children=2, **parents):
    parent = a_run(project, name="lead", **parents)
    return parent, *(a_run(project, name=f"worker {n}", parent=parent.id) for n in range(children))


def spent(run):
    run = Run.objects.get(pk=run.pk)
    return spent_by_tree(run, SharedCounters([run], at=NOON), at=NOON)


def test_what_children_use_adds_up_in_every_run_above(project):
    parent, child, other = a_tree(project)
    grandchild = a_run(project, parent=child.id)
    report(parent, a_paid_call(1))
    report(child, a_paid_call(2))
    report(grandchild, a_paid_call(4))
    report(other, a_paid_call(8))

    assert [spent(run).usd for run in (parent, child, grandchild, other)] == [15, 6, 4, 8]
    assert (spent(parent).calls, spent(parent).turns) == (4, 4)


def test_it_counts_a_tree_that_is_judged_in_one_go(project):
    parent, child, other = a_tree(project)
    for run in (parent, child, other):
        put(run, a_paid_call(1))

    pipeline.detect([parent.id, child.id, other.id], at=NOON)
    pipeline.detect([parent.id, child.id, other.id], at=NOON)

    assert spent(parent).usd == 3


def test_the_judge_of_a_child_counts_in_the_tree(project):
    parent, child, _ = a_tree(project)

    judged(child, "2", usage=Usage(input=10))

    assert (spent(parent).usd, spent(parent).tokens) == (2, 10)


def test_a_child_is_held_at_the_ceiling_of_the_run_above(project):
    parent, child, other = a_tree(project, budget={"usd": 10})
    report(other, a_paid_call(9))
    child = report(child, a_proposal(cost_usd=Decimal(1)))

    evidence = open_card_of(child).evidence
    assert child.status == "holding"
    assert (evidence["scope"], evidence["whose"], evidence["spent"]) == (
        "tree",
        str(parent.id),
        "10.00",
    )
    assert evidence["summary"] == "The tree of lead has spent $10.00 of $10.00."


def test_a_ceiling_above_holds_though_another_was_taken_away(project):
    _, child, _ = a_tree(project, budget={"usd": "1", "tokens": None})

    assert report(child, a_paid_call(2)).status == "holding"


def test_every_run_of_the_tree_is_held_before_its_next_call(project):
    runs = a_tree(project, budget={"usd": 10})
    report(runs[1], a_paid_call(10))

    held = [report(run, a_proposal()) for run in runs]

    assert [run.status for run in held] == ["holding"] * 3
    assert [open_card_of(run).evidence["scope"] for run in held] == ["run", "tree", "tree"]


def test_eighty_percent_of_a_tree_is_warned_of_once_in_each_run(project):
    _, child, other = a_tree(project, budget={"usd": 10})
    report(other, a_paid_call(8))
    child = report(child, a_paid_call("0.1"), a_paid_call("0.1", "pwd"))

    assert [(one["level"], one["scope"]) for one in payloads_of(child)] == [("warning", "tree")]
    assert child.status == "running"


def test_a_run_with_no_ceiling_above_is_left_alone(project):
    _, child, _ = a_tree(project)

    assert report(child, a_paid_call(1000)).status == "running"


def test_one_tap_on_a_childs_card_raises_the_ceiling_and_lets_all_go(project):
    runs = a_tree(project, budget={"usd": 10})
    report(runs[1], a_paid_call(10))
    held = [report(run, a_proposal()) for run in runs]

    tap(held[2], "allow_budget", amount=Amount(usd=Decimal(5)))

    after_it = [Run.objects.get(pk=run.pk) for run in runs]
    assert [run.status for run in after_it] == ["running"] * 3
    assert after_it[0].budget == {"usd": "15"}
    assert not Decision.objects.filter(status__in=["open", "judging"]).exists()


def test_one_tap_on_the_parents_card_lets_its_children_go(project):
    runs = a_tree(project, budget={"usd": 10})
    report(runs[1], a_paid_call(10))
    held = [report(run, a_proposal()) for run in runs]

    tap(held[0], "allow_budget", amount=Amount(usd=Decimal(5)))

    assert {Run.objects.get(pk=run.pk).status for run in runs} == {"running"}


def test_what_another_ceiling_holds_stays_held(project):
    runs = a_tree(project, budget={"usd": 10})
    own = a_run(project, parent=runs[0].id, budget={"usd": 1})
    own = report(own, a_paid_call(1))
    report(runs[1], a_paid_call(10))
    held = report(runs[1], a_proposal())

    tap(held, "allow_budget", amount=Amount(usd=Decimal(50)))

    assert Run.objects.get(pk=own.pk).status == "holding"


def test_after_more_was_allowed_the_next_crossing_is_told_anew(project):
    _, child, _ = a_tree(project, budget={"usd": 10})
    child = report(child, a_paid_call(10))
    tap(child, "allow_budget", amount=Amount(usd=Decimal(5)))

    child = report(child, a_paid_call(5, "pwd"))

    assert (child.status, open_card_of(child).evidence["ceiling"]) == ("holding", "15.00")


def test_what_was_spent_before_the_link_counts_from_then_on(project):
    parent, lone = a_run(project, budget={"usd": 10}), a_run(project)
    below = a_run(project, parent=lone.id)
    report(lone, a_paid_call(4))
    report(below, a_paid_call(3))

    trees.link_run(lone.id, parent.id, projects=[project.id], by="agent", at=NOON)
    trees.link_run(lone.id, parent.id, projects=[project.id], by="agent", at=NOON)

    assert (spent(parent).usd, spent(lone).usd) == (7, 7)
    assert report(below, a_paid_call(3, "pwd")).status == "holding"


def test_a_restart_of_the_root_begins_a_tree_of_its_own(project):
    parent, child, _ = a_tree(project, budget={"usd": 10})
    report(child, a_paid_call(10))
    made = tap(parent, "restart", message="Once more, smaller.")

    new = Run.objects.get(pk=made.new_run)
    assert (new.parent_id, new.root, spent(new).usd) == (parent.id, None, 0)


def test_a_restart_of_a_child_stays_in_the_tree(project):
    parent, child, _ = a_tree(project, budget={"usd": 10})
    report(child, a_paid_call(4))
    made = tap(child, "restart", message="Look in lib first.")

    new = Run.objects.get(pk=made.new_run)
    report(new, a_paid_call(5))
    assert (new.root, new.lineage) == (parent.id, [str(parent.id)])
    assert spent(parent).usd == 9


# --- an end ---------------------------------------------------------------------


def test_ending_a_run_ends_what_its_agent_started(project):
    parent, child, other = a_tree(project)
    grandchild = a_run(project, parent=child.id)

    tap(parent, "terminate")

    runs = [Run.objects.get(pk=run.pk) for run in (child, other, grandchild)]
    assert {run.status for run in runs} == {"stopping"}
    assert runs[0].reason == 'Ended with "lead", which started it: Terminated by ana.'


def test_ending_a_run_closes_the_cards_of_what_it_started(project):
    parent, child, _ = a_tree(project)
    child = report(child, *[a_paid_call(0, error="no module")] * 1)
    child = report(child, a_paid_call(0, error="no module"), a_proposal("ls"))
    assert child.open_decision

    tap(parent, "terminate")

    child.refresh_from_db()
    assert (child.status, child.open_decision) == ("stopping", None)


def test_ending_a_child_leaves_parent_and_siblings_alone(project):
    parent, child, other = a_tree(project)

    tap(child, "terminate")

    assert {Run.objects.get(pk=run.pk).status for run in (parent, other)} == {"running"}


def test_what_a_person_resumed_or_forked_goes_on(project):
    parent, _, _ = a_tree(project)
    forked = a_run(project, parent=parent.id, relation="forked")
    below = a_run(project, parent=forked.id)

    tap(parent, "terminate")

    assert {Run.objects.get(pk=run.pk).status for run in (forked, below)} == {"running"}


def test_a_run_that_ended_by_itself_stays_as_it_ended(project):
    parent, child, _ = a_tree(project)
    interventions.report_end(child.id, "completed", projects=[project.id], by="agent", at=NOON)

    tap(parent, "terminate")

    assert Run.objects.get(pk=child.pk).status == "completed"


def test_a_child_that_is_started_after_the_end_is_stopped_at_its_first_turn(project):
    parent, _, _ = a_tree(project)
    tap(parent, "terminate")

    late = report(a_run(project, parent=parent.id), a_proposal(), at=after(5))

    assert late.status == "stopping"
    assert late.reason == 'The run that started it, "lead", was stopped.'


def test_a_late_child_is_told_once_that_it_is_stopped(project):
    parent, _, _ = a_tree(project)
    tap(parent, "terminate")
    late = report(a_run(project, parent=parent.id), a_proposal(), at=after(5))
    tap(late, "terminate", at=after(6))

    late = report(late, a_paid_call(0), at=after(7))

    assert (late.status, late.reason) == ("stopping", "Terminated by ana.")


def test_a_late_child_that_is_over_stays_as_it_ended(project):
    parent, _, _ = a_tree(project)
    tap(parent, "terminate")
    late = a_run(project, parent=parent.id)
    put(late, a_proposal(), at=after(5))
    interventions.report_end(late.id, "completed", projects=[project.id], by="agent", at=after(5))

    pipeline.detect([late.id], at=after(6))

    late.refresh_from_db()
    assert (late.status, late.reason) == ("completed", "")


CANNOT_END = {"terminate": False}


def test_ending_a_run_leaves_alone_what_cannot_be_ended(project):
    parent, _, _ = a_tree(project)
    fixed = a_run(project, parent=parent.id, capabilities=CANNOT_END)
    below = a_run(project, parent=fixed.id)

    tap(parent, "terminate")

    fixed, below = (Run.objects.get(pk=run.pk) for run in (fixed, below))
    assert (fixed.status, below.status) == ("running", "stopping")


def test_a_late_child_that_cannot_be_ended_is_not_said_to_be(project):
    parent, _, _ = a_tree(project)
    tap(parent, "terminate")

    late = a_run(project, parent=parent.id, capabilities=CANNOT_END)

    assert report(late, a_proposal(), at=after(5)).status == "running"


def test_judging_a_closed_card_does_no_harm(project):
    parent, child, _ = a_tree(project)
    child = report(child, a_paid_call(0, error="no module"))
    child = report(child, a_paid_call(0, error="no module"), a_proposal("ls"))
    asked = child.open_decision
    tap(parent, "terminate")

    judging.judge_card(asked, at=after(1))

    assert Run.objects.get(pk=child.pk).status == "stopping"
