"""The chain holds, and shows where it does not."""

import json

import pytest

from missioncontrol.oversight.anchors import anchor_heads, verify
from missioncontrol.runs.models import JournalRow, Run
from tests.build import NOON, a_call, a_run, put

pytestmark = pytest.mark.django_db


@pytest.fixture
def told_run(project) -> Run:
    run = a_run(project)
    put(run, a_call("ls"), a_call("pwd"), a_call("id"))
    run.refresh_from_db()
    return run


def check(project):
    return verify(projects=[project.id])


def test_seq_is_dense_from_zero(told_run):
    rows = JournalRow.objects.filter(run=told_run).order_by("seq")

    assert [row.seq for row in rows] == list(range(told_run.event_seq + 1))


def test_an_untouched_chain_verifies(project, told_run):
    found = check(project)

    assert (found.ok, found.broken_at, found.rows) == (True, None, 4)


def test_a_changed_payload_is_found(project, told_run):
    row = JournalRow.objects.get(run=told_run, seq=2)
    JournalRow.objects.filter(pk=row.pk).update(payload=row.payload.replace("2", "3"))

    assert check(project).broken_at == str(row.pk)


def test_a_changed_header_is_found(project, told_run):
    row = JournalRow.objects.get(run=told_run, seq=2)
    JournalRow.objects.filter(pk=row.pk).update(by="mallory")

    assert check(project).broken_at == str(row.pk)


def test_a_removed_row_is_found(project, told_run):
    JournalRow.objects.filter(run=told_run, seq=1).delete()

    assert not check(project).ok


def test_a_cut_tail_is_found(project, told_run):
    JournalRow.objects.filter(run=told_run, seq=3).delete()

    assert not check(project).ok


def test_an_erased_payload_leaves_a_row_that_verifies(project, told_run):
    JournalRow.objects.filter(run=told_run, seq=2).update(payload=None, salt=None)

    assert check(project).ok


def test_a_missing_run_is_found_by_the_anchor_in_its_projects_chain(project, told_run):
    anchor_heads(at=NOON)
    assert check(project).ok

    told_run.delete()

    assert not check(project).ok


def test_an_anchor_rewritten_without_the_key_is_found(project, told_run):
    anchor_heads(at=NOON)
    anchor = JournalRow.objects.get(type="chain.anchored")
    said = json.loads(anchor.payload)
    said["heads"] = {}
    from missioncontrol.runs import journal, rows

    anchor.payload = journal.canonical(said)
    anchor.digest = journal.payload_digest(anchor.payload, anchor.salt)
    anchor.hash = journal.row_hash(
        rows.header(anchor), previous=anchor.previous, digest=anchor.digest
    )
    anchor.save()
    project.refresh_from_db()
    project.head = anchor.hash
    project.save()

    assert check(project).broken_at == str(anchor.pk)


def test_heads_that_did_not_move_are_not_anchored_again(project, told_run):
    anchor_heads(at=NOON)
    anchor_heads(at=NOON)

    assert JournalRow.objects.filter(type="chain.anchored").count() == 1
