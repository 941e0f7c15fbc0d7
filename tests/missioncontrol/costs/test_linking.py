"""Runs that belong together: linked at their opening or later, in any order."""

import json

import pytest
from django.db import connection

from missioncontrol.costs import trees
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.ids import new_id
from missioncontrol.runs.lifecycle import Source
from missioncontrol.runs.lineage import MAX_LINEAGE
from missioncontrol.runs.models import JournalRow, Run
from missioncontrol.runs.rows import run_row
from tests.build import NOON, a_project, a_run, after

pytestmark = pytest.mark.django_db


def link(child, parent, **fields):
    trees.link_run(child.id, parent.id, projects=[child.project_id], by="agent", at=NOON, **fields)
    return fresh(child)


def fresh(run):
    return Run.objects.get(pk=run.pk)


def line_of(run):
    return list(fresh(run).lineage)


def test_a_run_that_nobody_linked_is_in_no_tree(project):
    assert (a_run(project).root, run_row(a_run(project), at=NOON).root) == (None, None)


def test_a_child_makes_its_parent_the_root_of_a_tree(project):
    parent = a_run(project)
    child = a_run(project, parent=parent.id)
    grandchild = a_run(project, parent=child.id)

    assert {fresh(run).root for run in (parent, child, grandchild)} == {parent.id}
    assert grandchild.lineage == [str(parent.id), str(child.id)]
    assert run_row(grandchild, at=NOON).root == parent.id


def test_the_journal_of_a_child_names_parent_relation_and_tree(project):
    parent = a_run(project)
    child = a_run(project, parent=parent.id, relation="forked")

    payload = json.loads(JournalRow.objects.get(run=child, type="run.linked").payload)
    assert payload == {"parent": str(parent.id), "relation": "forked", "root": str(parent.id)}


def test_a_run_is_linked_later_with_all_that_is_below_it(project):
    parent, child = a_run(project), a_run(project)
    grandchild = a_run(project, parent=child.id)

    linked = link(child, parent)

    assert (linked.parent_id, linked.relation, linked.root) == (parent.id, "child", parent.id)
    assert line_of(grandchild) == [str(parent.id), str(child.id)]
    assert fresh(grandchild).root == parent.id
    assert fresh(grandchild).parent_id == child.id


def test_the_same_link_again_changes_nothing(project):
    parent, child = a_run(project), a_run(project)
    link(child, parent)

    link(child, parent)

    assert JournalRow.objects.filter(run=child, type="run.linked").count() == 1


def test_links_cannot_form_a_cycle(project):
    parent = a_run(project)
    child = a_run(project, parent=parent.id)
    grandchild = a_run(project, parent=child.id)

    for one in (parent, child, grandchild):
        with pytest.raises(InvalidRequest):
            link(parent, one)


def test_a_run_keeps_the_parent_it_has(project):
    child = a_run(project, parent=a_run(project).id)

    with pytest.raises(InvalidRequest):
        link(child, a_run(project))


def test_a_run_of_another_project_is_no_parent(project):
    child = a_run(project)

    with pytest.raises(NotFound):
        link(child, a_run(a_project("elsewhere")))
    with pytest.raises(NotFound):
        trees.link_run(child.id, child.id, projects=[new_id()], by="agent", at=NOON)


def test_a_parent_named_before_it_is_known_is_linked_once_it_is(project):
    child = a_run(project, parent_key="claude-code:one", relation="resumed")
    trees.link_waiting_runs(at=NOON)
    assert fresh(child).parent_id is None
    parent = a_run(project, key="claude-code:one")

    trees.link_waiting_runs(at=after(2))

    assert (fresh(child).parent_id, fresh(child).relation) == (parent.id, "resumed")


def test_a_parent_may_be_named_by_its_id_as_text(project):
    parent = a_run(project)

    assert a_run(project, parent_key=str(parent.id)).parent_id == parent.id


def test_the_search_for_a_missing_parent_ends(project):
    child = a_run(project, parent_key="claude-code:one")
    a_run(project, key="claude-code:one")

    trees.link_waiting_runs(at=after(2 * 24 * 3600))

    assert fresh(child).parent_id is None


def test_a_parent_key_names_no_run_of_another_project(project):
    elsewhere = a_run(a_project("elsewhere"), key="claude-code:one")

    child = a_run(project, parent_key="claude-code:one")
    by_id = a_run(project, parent_key=str(elsewhere.id))
    trees.link_waiting_runs(at=after(2))

    assert {fresh(child).parent_id, fresh(by_id).parent_id} == {None}


def test_reopening_a_run_may_name_its_parent(project):
    parent, child = a_run(project), a_run(project, key="worker")

    a_run(project, key="worker", parent=parent.id)
    trees.link_waiting_runs(at=after(2))

    assert fresh(child).parent_id == parent.id


def test_a_run_that_names_itself_stays_alone(project):
    child = a_run(project, key="worker", parent_key="worker")

    trees.link_waiting_runs(at=after(2))
    trees.link_waiting_runs(at=after(4))

    assert (fresh(child).parent_id, fresh(child).parent_key) == (None, "")


def gone_meanwhile(run):
    """Somebody deletes a run as soon as the sweep has found whom it waits for."""
    gone = []

    def execute(run_it, sql, params, many, context):
        found = run_it(sql, params, many, context)
        if not gone and '"relation"' in sql and sql.startswith("SELECT"):
            gone.append(run.pk)
            Run.objects.filter(pk=run.pk).delete()
        return found

    return connection.execute_wrapper(execute)


@pytest.mark.parametrize("who", ["the child", "its parent"])
def test_a_run_deleted_meanwhile_leaves_the_others_to_be_linked(project, who):
    first = a_run(project, parent_key="claude-code:one")
    second = a_run(project, parent_key="claude-code:two")
    parents = [a_run(project, key=f"claude-code:{name}") for name in ("one", "two")]

    with gone_meanwhile(first if who == "the child" else parents[0]):
        trees.link_waiting_runs(at=after(2))

    assert fresh(second).parent_id == parents[1].id


def test_the_deepest_run_still_counts_with_its_outermost_ancestors(project):
    first = run = a_run(project)
    for _ in range(MAX_LINEAGE + 4):
        run = a_run(project, parent=run.id)

    assert len(run.lineage) == MAX_LINEAGE
    assert (run.root, run.lineage[0]) == (first.id, str(first.id))


@pytest.mark.parametrize("which", ["child", "parent"])
def test_an_imported_run_is_linked_to_nothing(project, which):
    runs = {"child": a_run(project), "parent": a_run(project)}
    Run.objects.filter(pk=runs[which].pk).update(source=Source.RECORDING)

    with pytest.raises(NotFound):
        link(runs["child"], runs["parent"])

    assert fresh(runs["child"]).parent_id is None
