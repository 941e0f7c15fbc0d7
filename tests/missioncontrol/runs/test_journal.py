"""The chain holds, and shows where it does not."""

import json
import threading

import pytest
from django.db import close_old_connections, connection

from missioncontrol import broadcast, proof
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.decisions import holding
from missioncontrol.runs import rows
from missioncontrol.runs.journal import lock_runs
from missioncontrol.runs.lifecycle import Move
from missioncontrol.runs.models import JournalRow, Run, RunMeters
from tests.build import NOON, a_call, a_run, after, put

pytestmark = pytest.mark.django_db


@pytest.fixture
def told_run(project) -> Run:
    run = a_run(project)
    put(run, a_call("ls"), a_call("pwd"), a_call("id"))
    run.refresh_from_db()
    return run


def check(project):
    return verify(projects=[project.id])


def move(run, step, *, at=NOON) -> Run:
    with lock_runs([run.id], at=at) as tx:
        tx.move(tx.run(run.id), step, by="agent")
    return Run.objects.get(pk=run.id)


def test_a_run_has_ended_from_its_end_until_it_is_heard_of_again(told_run):
    ended = move(told_run, Move.COMPLETE, at=after(5))
    failed = move(told_run, Move.FAIL, at=after(9))
    back = move(told_run, Move.SPEAK, at=after(20))

    assert (told_run.ended_at, ended.ended_at, failed.ended_at) == (None, after(5), after(9))
    assert (back.ended_at, back.meters.final_ceilings) == (None, None)


@pytest.mark.parametrize("before", [[], [[0]]], ids=str)
def test_a_list_that_grows_in_place_is_written(told_run, before):
    RunMeters.objects.update(corrected=before)

    with lock_runs([told_run.id], at=NOON) as tx:
        tx.run(told_run.id).meters.corrected.append([1])

    assert RunMeters.objects.get(pk=told_run.pk).corrected == [*before, [1]]


def test_a_ceiling_changed_after_the_end_does_not_apply_to_the_run(project, told_run):
    type(project).objects.update(budget={"usd": "5.00"})
    move(told_run, Move.COMPLETE)
    type(project).objects.update(budget={"usd": "9.00"})

    assert move(told_run, Move.FAIL).meters.final_ceilings == {"usd": "5.00"}


def test_a_new_version_wakes_only_requests_that_wait_for_that_run(
    project, told_run, monkeypatch, django_capture_on_commit_callbacks
):
    woken, other = [], a_run(project)
    monkeypatch.setattr(broadcast, "_wakers", [woken.append])

    with (
        django_capture_on_commit_callbacks(execute=True),
        lock_runs([told_run.id, other.id], at=NOON) as tx,
    ):
        tx.move(tx.run(told_run.id), Move.COMPLETE, by="agent")
        tx.move(tx.run(other.id), Move.HOLD, by="ana")

    assert woken == [[told_run.id]]


@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        ("version", True),
        ("doing", True),
        ("an event", True),
        ("a request", False),
        ("", False),
    ],
)
def test_only_changes_that_screens_show_are_published(
    told_run, django_capture_on_commit_callbacks, change, is_told
):
    with lock_runs([told_run.id], at=NOON) as tx:
        holding.hold(tx, tx.run(told_run.id), by="ana", reason="Paused.", from_seq=3)

    with (
        django_capture_on_commit_callbacks() as published,
        lock_runs([told_run.id], at=NOON) as tx,
    ):
        run = tx.run(told_run.id)
        if change == "version":
            tx.raise_version(run)
        elif change == "an event":
            tx.record_state(run, by="ana", reason="it was told")
        elif change == "a request":
            run.hold.waiting_at = NOON
        elif change:
            setattr(run.meters, change, "ls -l")

    assert bool(published) is is_told


@pytest.mark.parametrize(
    ("reason", "expected"), [("the agent expected so", "the agent expected so"), ("", "end")]
)
def test_a_move_without_a_reason_gives_its_own_name(told_run, reason, expected):
    with lock_runs([told_run.id], at=NOON) as tx:
        tx.move(tx.run(told_run.id), Move.END, by="agent", reason=reason)

    newest = JournalRow.objects.filter(run=told_run).latest("seq")
    assert json.loads(newest.payload)["reason"] == expected


def test_seq_is_dense_from_zero(told_run):
    rows = JournalRow.objects.filter(run=told_run).order_by("seq")

    assert [row.seq for row in rows] == list(range(told_run.meters.event_seq + 1))


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


def test_a_payload_that_nobody_was_allowed_to_erase_is_found(project, told_run):
    JournalRow.objects.filter(run=told_run, seq=2).update(payload=None, salt=None)

    assert [fault.kind for fault in check(project).faults] == ["blanked"]


def test_a_missing_run_is_found_by_the_anchor_in_its_projects_chain(project, told_run):
    anchor_heads(at=NOON)
    assert check(project).ok

    told_run.delete()

    assert not check(project).ok


def test_an_anchor_rewritten_without_the_key_is_found(project, told_run):
    anchor_heads(at=NOON)
    anchor = JournalRow.objects.get(type="chain.anchored")
    payload = json.loads(anchor.payload)
    payload["heads"] = {}
    anchor.payload = proof.canonical(payload)
    anchor.digest = proof.payload_digest(anchor.payload, anchor.salt)
    anchor.hash = proof.row_hash(
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


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_waited_for_a_run_reads_its_current_meters(project):
    run = a_run(project)

    def count():
        close_old_connections()
        for _ in range(10):
            with lock_runs([run.id], at=NOON) as tx:
                tx.run(run.id).meters.tool_calls += 1
        connection.close()

    counting = [threading.Thread(target=count) for _ in range(2)]
    for one in counting:
        one.start()
    for one in counting:
        one.join()

    assert RunMeters.objects.get(pk=run.pk).tool_calls == 20
