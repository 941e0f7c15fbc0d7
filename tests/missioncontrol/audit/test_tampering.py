"""Each way to change the past by SQL, re-hashed where that is possible, is named."""

import json
from dataclasses import dataclass
from decimal import Decimal

import pytest
from django.db import connection, transaction

from guard.turn import Usage
from missioncontrol.accounts.models import Project
from missioncontrol.audit import anchors, signing
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.ids import new_id
from missioncontrol.projects import rules
from missioncontrol.runs.models import JournalRow, Run, RunMeters, Turn
from tests.build import a_call, a_run, a_stuck_run, after, put, report
from tests.missioncontrol.audit.attacker import (
    append,
    edit_payload,
    forge_anchor,
    forge_erasure,
    rehash,
)

pytestmark = pytest.mark.django_db

HOUR = 3600


@dataclass
class Past:
    """A project with a stopped run, another one, a changed rule and two checkpoints."""

    project: Project
    stopped: Run
    other: Run

    def rows(self, **which):
        return JournalRow.objects.filter(project=self.project, **which).order_by("seq")

    @property
    def tap(self):
        return self.rows(type="intervention.made").get()

    @property
    def anchors(self):
        return self.rows(type="chain.anchored")

    @property
    def rule(self):
        return self.rows(type="policy.changed").first()

    def of_turn(self, seq):
        last = self.rows(run=self.stopped, type__in=["turn.recorded", "turn.completed"])
        return [row for row in last if json.loads(row.payload)["turn_seq"] == seq][-1]


@pytest.fixture
def past(project) -> Past:
    stopped = a_stuck_run(project, name="stuck", key="codex:one", agent="coder")
    other = report(
        a_run(project, name="other"),
        a_call("ls", usage=Usage(input=9000), cost_usd=Decimal("0.25")),
    )
    rules.change_project(project.id, {"mode": "auto"}, by="ana", at=after(1))
    anchor_heads(at=after(60))
    tap = Tap(key="k", action="terminate", decision=stopped.open_decision, version=stopped.version)
    interventions.intervene(stopped.id, tap, projects=[project.id], by="ana", at=after(100))
    put(other, a_call("pwd"), at=after(100))
    rules.change_project(project.id, {"mode": "flag"}, by="ana", at=after(101))
    anchor_heads(at=after(120))
    stopped.refresh_from_db()
    other.refresh_from_db()
    project.refresh_from_db()
    return Past(project, stopped, other)


def named(past):
    return [fault.kind for fault in verify(projects=[past.project.id]).faults]


def blank(rows):
    rows.update(payload=None, salt=None)


# --- each takes the past and changes it --------------------------------------------


def blanks_a_tap(past):
    blank(past.rows(pk=past.tap.pk))


def takes_the_salt_of_a_tap(past):
    past.rows(pk=past.tap.pk).update(salt=None)


def blanks_every_checkpoint(past):
    blank(past.anchors)


def blanks_a_rule(past):
    blank(past.rows(pk=past.rule.pk))


def edits_a_turn(past):
    Turn.objects.filter(run=past.stopped, seq=0).update(error="all went well")


def edits_a_turn_and_its_digest(past):
    Turn.objects.filter(run=past.stopped, seq=0).update(error="all went well", digest="0" * 64)


def edits_a_turn_and_its_event(past):
    Turn.objects.filter(run=past.stopped, seq=0).update(error="all went well", digest="0" * 64)
    edit_payload(past.of_turn(0), digest="0" * 64)
    rehash(past.stopped)


def removes_a_turn(past):
    Turn.objects.filter(run=past.stopped, seq=0).delete()


def adds_a_turn(past):
    turn = Turn.objects.get(run=past.stopped, seq=0)
    turn.id, turn.seq, turn.key = new_id(), past.stopped.meters.last_seq + 1, "another"
    turn.save(force_insert=True)
    RunMeters.objects.filter(pk=past.stopped.pk).update(last_seq=turn.seq)


def edits_whose_session_it_was(past):
    Run.objects.filter(pk=past.stopped.pk).update(key="codex:another")


def edits_which_agent_it_was(past):
    Run.objects.filter(pk=past.stopped.pk).update(agent="critic")


def edits_when_it_began(past):
    Run.objects.filter(pk=past.stopped.pk).update(started_at=after(-HOUR))


def edits_a_status(past):
    Run.objects.filter(pk=past.stopped.pk).update(status="completed")


def edits_a_cost(past):
    RunMeters.objects.filter(pk=past.other.pk).update(cost_usd=Decimal("0.01"))


def edits_tokens(past):
    RunMeters.objects.filter(pk=past.other.pk).update(input_tokens=1)


def edits_a_name(past):
    Run.objects.filter(pk=past.other.pk).update(name="something else")


def edits_a_status_and_its_events(past):
    Run.objects.filter(pk=past.stopped.pk).update(status="completed")
    past.rows(run=past.stopped, status="stopping").update(status="completed")
    rehash(past.stopped)


def edits_a_cost_and_its_event(past):
    RunMeters.objects.filter(pk=past.other.pk).update(cost_usd=Decimal("0.01"))
    edit_payload(past.rows(run=past.other, type="cost.attributed").get(), cost_usd="0.01")
    rehash(past.other)


def says_that_somebody_else_tapped(past):
    past.rows(pk=past.tap.pk).update(by="olu")
    rehash(past.stopped)


def removes_a_row(past):
    past.rows(run=past.stopped, seq=2).delete()


def removes_a_row_and_hashes_anew(past):
    past.rows(pk=past.tap.pk).delete()
    rehash(past.stopped)


def cuts_the_end_of_a_run(past):
    past.rows(run=past.stopped, seq__gte=past.tap.seq).delete()


def removes_a_run(past):
    past.other.delete()


def removes_the_meters_of_a_run(past):
    RunMeters.objects.filter(run=past.stopped).delete()


def rewrites_a_rule(past):
    edit_payload(past.rule, after="pause")
    rehash(past.project)


def removes_a_rule(past):
    past.rows(pk=past.rule.pk).delete()
    rehash(past.project)


def drops_the_first_checkpoint(past):
    past.rows(pk=past.anchors.first().pk).delete()
    rehash(past.project)


def drops_the_last_checkpoint(past):
    past.rows(pk=past.anchors.last().pk).delete()
    RunMeters.objects.filter(run__project=past.project).update(anchored_seq=-1)
    rehash(past.project)


def drops_every_checkpoint(past):
    past.anchors.delete()
    RunMeters.objects.filter(run__project=past.project).update(anchored_seq=-1)
    rehash(past.project)


def drops_every_checkpoint_and_waits_for_the_next(past):
    drops_every_checkpoint(past)
    anchor_heads(at=after(180))


def edits_the_heads_of_a_checkpoint(past):
    edit_payload(past.anchors.last(), heads={})
    rehash(past.project)


def moves_a_checkpoint_in_time(past):
    past.rows(pk=past.anchors.last().pk).update(at=after(HOUR))
    rehash(past.project)


def signs_a_checkpoint_with_a_key_of_their_own(past):
    last = past.anchors.last()
    forge_anchor(past.project, at=after(180), number=3, predecessor=last.hash)


def erases_a_run_with_a_key_of_their_own(past):
    forge_erasure(past.stopped, at=after(180), key=signing.public_key())


def puts_in_a_row_of_an_hour_ago(past):
    anchor_heads(at=after(HOUR))
    put(past.other, a_call("id"), at=after(HOUR))
    anchor_heads(at=after(2 * HOUR))
    payload = {"reason": "x", "mode": past.other.mode, "ended_at": None}
    append(past.other, "run.moved", payload, at=after(110))


def edits_the_file_of_heads(past):
    path = anchors.heads_path(past.project.id)
    path.write_text(
        path.read_text().replace('"number":2', '"number":7').replace('"hash":"', '"hash":"0')
    )


TABLE = [
    (blanks_a_tap, "blanked"),
    (takes_the_salt_of_a_tap, "blanked"),
    (blanks_every_checkpoint, "blanked"),
    (blanks_a_rule, "blanked"),
    (edits_a_turn, "turn_changed"),
    (edits_a_turn_and_its_digest, "turn_changed"),
    (edits_a_turn_and_its_event, "rewritten"),
    (removes_a_turn, "turn_missing"),
    (adds_a_turn, "turn_added"),
    (edits_a_status, "run_row"),
    (edits_a_cost, "run_row"),
    (edits_tokens, "run_row"),
    (edits_a_name, "run_row"),
    (edits_whose_session_it_was, "run_row"),
    (edits_which_agent_it_was, "run_row"),
    (edits_when_it_began, "run_row"),
    (edits_a_status_and_its_events, "rewritten"),
    (edits_a_cost_and_its_event, "rewritten"),
    (says_that_somebody_else_tapped, "rewritten"),
    (removes_a_row, "missing"),
    (removes_a_row_and_hashes_anew, "cut"),
    (cuts_the_end_of_a_run, "cut"),
    (removes_a_run, "run_missing"),
    (removes_the_meters_of_a_run, "run_row"),
    (rewrites_a_rule, "rewritten"),
    (removes_a_rule, "rewritten"),
    (drops_the_first_checkpoint, "dropped"),
    (drops_the_last_checkpoint, "older_copy"),
    (drops_every_checkpoint, "older_copy"),
    (drops_every_checkpoint_and_waits_for_the_next, "other_history"),
    (edits_the_heads_of_a_checkpoint, "unsigned"),
    (moves_a_checkpoint_in_time, "unsigned"),
    (signs_a_checkpoint_with_a_key_of_their_own, "unsigned"),
    (erases_a_run_with_a_key_of_their_own, "erasure"),
    (puts_in_a_row_of_an_hour_ago, "unanchored"),
    (edits_the_file_of_heads, "heads_file"),
]


def test_of_a_past_that_nobody_touched_nothing_is_named(past):
    assert named(past) == []


@pytest.mark.parametrize(("tamper", "kind"), TABLE, ids=lambda one: getattr(one, "__name__", one))
def test_tampering_is_named(past, tamper, kind):
    tamper(past)

    found = verify(projects=[past.project.id])
    assert not found.ok
    assert found.broken_at
    assert kind in {fault.kind for fault in found.faults}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL takes no such value")
@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE runs_run SET opened_by = 'nonsense' WHERE id = %s", "row"),
        ("UPDATE runs_runmeters SET cost_usd = 'nonsense' WHERE run_id = %s", "row"),
        ("UPDATE runs_turn SET id = 'nonsense' WHERE run_id = %s AND seq = 0", "turn or event"),
    ],
)
def test_a_run_of_which_something_cannot_be_read_is_named(past, change, what):
    with connection.cursor() as cursor:
        cursor.execute(change, [past.other.id.hex])

    (fault,) = verify(projects=[past.project.id]).faults
    assert (fault.kind, fault.run, fault.what) == ("run_row", past.other.id, what)
    assert fault.found.startswith("unreadable")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL takes no such value")
def test_a_run_whose_id_is_none_is_named_by_it(past):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runs_run SET id = 'nonsense' WHERE id = %s", [past.other.id.hex])
        faults = verify(projects=[past.project.id]).faults
        # What points at it is looked for at the end of each test.
        cursor.execute("UPDATE runs_run SET id = %s WHERE id = 'nonsense'", [past.other.id.hex])

    assert [(one.kind, one.run, one.found) for one in faults] == [
        ("run_row", None, "nonsense"),
        ("run_missing", past.other.id, ""),
    ]


def test_a_key_that_is_given_to_a_run_without_one_is_named(past):
    assert past.other.key is None
    Run.objects.filter(pk=past.other.pk).update(key="codex:another")

    (fault,) = verify(projects=[past.project.id]).faults
    assert (fault.run, fault.what, fault.found) == (past.other.id, "key", "codex:another")


def test_an_older_copy_put_back_is_named(past):
    copy = transaction.savepoint()
    put(past.other, a_call("id"), at=after(200))
    anchor_heads(at=after(240))
    transaction.savepoint_rollback(copy)

    assert named(past) == ["older_copy"]


def test_an_older_copy_that_went_on_is_named(past):
    copy = transaction.savepoint()
    put(past.other, a_call("id"), at=after(200))
    anchor_heads(at=after(240))
    transaction.savepoint_rollback(copy)

    put(past.other, a_call("whoami"), at=after(300))
    anchor_heads(at=after(360))

    assert named(past) == ["other_history"]


def test_it_names_what_the_row_says_and_what_its_events_tell(past):
    edits_a_cost(past)

    (fault,) = verify(projects=[past.project.id]).faults
    assert (fault.run, fault.what, fault.found, fault.expected) == (
        past.other.id,
        "cost_usd",
        "0.010000",
        "0.250000",
    )
    assert "cost_usd is 0.010000; its events tell 0.250000" in fault.words


def test_without_a_file_of_heads_it_says_that_there_is_nothing_to_compare_with(past):
    assert verify(projects=[past.project.id]).compared_since == after(60)

    anchors.heads_path(past.project.id).unlink()

    found = verify(projects=[past.project.id])
    assert (found.ok, found.compared_since) == (True, None)
