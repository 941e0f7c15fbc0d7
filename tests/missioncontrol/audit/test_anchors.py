"""Checkpoints: what they sign, those of before there were keys, and the file of heads."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest
from django.core.management import call_command
from django.core.signing import Signer

from missioncontrol.audit import anchors, checking, signing, tasks
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.projects import rules
from missioncontrol.proof import ProjectChain, canonical
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow, Run, RunMeters
from missioncontrol.wire.events import ChainAnchored
from tests.build import NOON, a_call, a_project, a_proposal, a_run, after, put
from tests.missioncontrol.audit.attacker import edit_payload, rehash

pytestmark = pytest.mark.django_db


def anchor_as_before(project, run, *, at):
    """Write a checkpoint as it was written before there were keys."""
    run.refresh_from_db()
    tied = {str(run.id): (run.meters.event_seq, run.meters.head)}
    statement = canonical([str(project.id), {name: list(head) for name, head in tied.items()}])
    journal.record_for_project(
        project.id,
        ChainAnchored,
        by="policy",
        at=at,
        heads=tied,
        signature=Signer(salt="audit.anchor").signature(statement),
    )
    row = JournalRow.objects.filter(type="chain.anchored").latest("seq")
    payload = json.loads(row.payload)
    kept = {name: payload[name] for name in ("heads", "signature")}
    row.payload = canonical(kept)
    row.save()
    edit_payload(row)
    rehash(project)
    RunMeters.objects.filter(pk=run.pk).update(anchored_seq=run.meters.event_seq)


@pytest.fixture
def older(project):
    """A run of a database from before there were keys."""
    run = a_run(project)
    put(run, a_call("ls"))
    rules.change_project(project.id, {"mode": "auto"}, by="ana", at=NOON)
    anchor_as_before(project, run, at=after(60))
    put(run, a_call("pwd"), at=after(61))
    anchor_as_before(project, run, at=after(120))
    run.refresh_from_db()
    return run


def kinds(project):
    return [fault.kind for fault in verify(projects=[project.id]).faults]


def said_by_anchors(project):
    rows = JournalRow.objects.filter(project=project, type="chain.anchored").order_by("seq")
    return [json.loads(row.payload) for row in rows]


def test_older_checkpoints_verify_by_the_old_rule(project, older):
    assert kinds(project) == []


def test_the_next_checkpoint_marks_where_the_old_rule_ends(project, older):
    anchor_heads(at=after(180))

    assert kinds(project) == []
    *_, mark = said_by_anchors(project)
    assert (mark["number"], mark["heads"]) == (3, {})


def test_no_checkpoint_by_the_old_rule_is_taken_after_the_mark(project, older):
    anchor_heads(at=after(180))
    anchor_as_before(project, older, at=after(240))

    assert "unsigned" in kinds(project)


def test_a_changed_checkpoint_of_before_is_named(project, older):
    edit_payload(JournalRow.objects.filter(type="chain.anchored").latest("seq"), heads={})
    rehash(project)

    assert kinds(project) == ["unsigned"]


def test_what_was_before_the_mark_cannot_be_rewritten_after_it(project, older):
    anchor_heads(at=after(180))
    edit_payload(JournalRow.objects.get(type="policy.changed"), after="pause")
    rehash(project)

    assert "rewritten" in kinds(project)


def test_only_runs_that_something_happened_to_lately_are_looked_at(project):
    old, lately = a_run(project), a_run(project)
    put(lately, a_call("ls"), at=after(600))

    anchor_heads(at=after(660), since=after(600))
    assert said_by_anchors(project)[-1]["heads"].keys() == {str(lately.id)}

    anchor_heads(at=after(720))
    assert said_by_anchors(project)[-1]["heads"].keys() == {str(old.id)}


def test_each_checkpoint_names_the_one_before(project):
    run = a_run(project)
    for minute in range(1, 4):
        put(run, a_call("ls"), at=after(60 * minute))
        anchor_heads(at=after(60 * minute))

    rows = list(JournalRow.objects.filter(type="chain.anchored").order_by("seq"))
    assert [one["number"] for one in said_by_anchors(project)] == [1, 2, 3]
    assert [one["predecessor"] for one in said_by_anchors(project)] == [
        "",
        rows[0].hash,
        rows[1].hash,
    ]


def test_a_rule_that_changed_is_anchored_though_no_run_moved(project):
    rules.change_project(project.id, {"mode": "auto"}, by="ana", at=NOON)

    anchor_heads(at=after(60))
    anchor_heads(at=after(120))

    assert [one["head_seq"] for one in said_by_anchors(project)] == [0]


def test_many_runs_are_anchored_in_slices(project, monkeypatch):
    monkeypatch.setattr(anchors, "RUN_BATCH", 2)
    runs = [a_run(project) for _ in range(5)]

    anchor_heads(at=after(60))

    slices = [len(one["heads"]) for one in said_by_anchors(project)]
    assert slices == [2, 2, 1]
    assert kinds(project) == []
    assert {
        run.meters.anchored_seq for run in Run.objects.filter(pk__in=[run.pk for run in runs])
    } == {0}


def test_long_chains_and_many_runs_are_read_in_pages(project, monkeypatch):
    monkeypatch.setattr(checking, "ROW_BATCH", 3)
    for _ in range(7):
        put(a_run(project), *[a_call("ls") for _ in range(6)])
    anchor_heads(at=after(60))
    assert verify(projects=[project.id]).rows == 7 * 7 + 1

    JournalRow.objects.filter(type="turn.recorded", seq=4).update(by="olu")

    assert kinds(project) == ["changed"] * 7


def lines(project):
    return [json.loads(line) for line in anchors.read_heads(project.id)]


def test_every_checkpoint_is_filed_once(project):
    run = a_run(project)
    anchor_heads(at=after(60))
    put(run, a_call("ls"), at=after(61))
    anchor_heads(at=after(120))
    anchors.append_heads(project.id)

    filed = [(line["number"], line["seq"], line["hash"]) for line in lines(project)]
    rows = JournalRow.objects.filter(type="chain.anchored").order_by("seq")
    assert filed == [(number, row.seq, row.hash) for number, row in enumerate(rows, start=1)]
    assert oct(anchors.heads_path(project.id).stat().st_mode & 0o777) == "0o600"


def test_what_a_crash_left_out_of_the_file_follows(project):
    run = a_run(project)
    anchor_heads(at=after(60))
    path = anchors.heads_path(project.id)
    kept = path.read_bytes()
    put(run, a_call("ls"), at=after(61))
    anchor_heads(at=after(120))
    path.write_bytes(kept + b'{"half a li')

    put(run, a_call("ls"), at=after(121))
    anchor_heads(at=after(180))

    assert [line["number"] for line in lines(project)] == [1, 2, 3]
    assert kinds(project) == []


def test_an_older_copy_is_told_in_the_log_each_minute(project, caplog):
    a_run(project)
    anchor_heads(at=after(60))
    JournalRow.objects.filter(type="chain.anchored").update(hash="0" * 64)

    anchors.append_heads(project.id)

    assert "was an older copy put back?" in caplog.text


def test_heads_are_sent_out_once_and_again_only_if_nobody_took_them(project, server, settings):
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    settings.AUDIT_SEND_TO = f"{server.url}/heads"
    run = a_run(project)
    anchor_heads(at=after(60))
    server.status = 503
    anchors.send_heads(project.id)
    server.status = 200
    anchors.send_heads(project.id)
    anchors.send_heads(project.id)
    put(run, a_call("ls"), at=after(61))
    anchor_heads(at=after(120))
    anchors.send_heads(project.id)

    sent = [body.splitlines() for _, _, body in server.received]
    assert [[json.loads(line)["number"] for line in lines] for lines in sent] == [[1], [1], [2]]


def test_a_key_of_before_is_trusted_where_the_settings_name_it(project, settings):
    a_run(project)
    anchor_heads(at=after(60))
    former = signing.public_key()
    settings.SECRET_KEY = "another one"
    assert kinds(project) == ["unsigned"]

    settings.AUDIT_KEYS = [former]

    assert kinds(project) == []


def test_the_command_says_that_it_holds(project, capsys):
    a_run(project)
    anchor_heads(at=after(60))

    call_command("verify_audit", project=project.name)

    assert "2 rows, holds; last checkpoint 2026-11-21" in capsys.readouterr().out


def test_the_command_names_what_does_not_hold_and_fails(project, capsys):
    run = a_run(project)
    Run.objects.filter(pk=run.pk).update(status="completed")

    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit")

    assert ended.value.code == 1
    assert "status is completed; its events tell running" in capsys.readouterr().out


def test_the_command_names_a_project_that_is_gone(project, settings, tmp_path, capsys):
    settings.AUDIT_HEADS = tmp_path
    other = a_project("elsewhere")
    a_run(other)
    a_run(project)
    anchor_heads(at=after(60))
    other.delete()

    with pytest.raises(SystemExit):
        call_command("verify_audit")

    sentence = (
        f"project {anchors.filed_projects()[-1]}: the file of heads knows it, the database does not"
    )
    assert sentence in capsys.readouterr().out


def test_the_command_prints_the_key_to_trust(capsys):
    call_command("verify_audit", public_key=True)

    assert capsys.readouterr().out.strip() == signing.public_key()


def test_the_screen_is_told_what_does_not_hold(project, as_person, owner):
    run = a_run(project)
    Run.objects.filter(pk=run.pk).update(status="completed")

    body = as_person(owner).get("/api/v1/audit/verify/").json()

    (fault,) = body["faults"]
    assert (body["ok"], fault["kind"], fault["run"], fault["what"]) == (
        False,
        "run_row",
        str(run.id),
        "status",
    )
    assert body["broken_at"] == fault["row"]


def test_the_files_of_heads_name_their_projects(project, settings, tmp_path):
    settings.AUDIT_HEADS = tmp_path
    a_run(project)
    anchor_heads(at=after(60))
    for left in (f"{project.id}.until-20261121T120000Z.jsonl", "old.jsonl"):
        (tmp_path / left).touch()

    assert anchors.filed_projects() == [project.id]


def test_a_run_that_moves_while_it_is_read_is_read_again(project):
    run = a_run(project)
    put(run, a_proposal("ls", key="k"))
    read_before = Run.objects.select_related("meters").get(pk=run.pk)
    put(run, a_call("ls", key="k", result="ok"))

    walk, chain = checking.Verifier(), ProjectChain(trusted=())

    assert checking._run_faults(read_before, chain)[1] != []
    assert walk._settled_faults(read_before, chain) == []
    assert walk.rows == 3


def test_a_run_that_never_rests_is_locked_for_it(project, monkeypatch):
    run = a_run(project)
    put(run, a_proposal("ls", key="k"))
    read_before = Run.objects.select_related("meters").get(pk=run.pk)
    put(run, a_call("ls", key="k", result="ok"))
    monkeypatch.setattr(checking, "MAX_TRIES", 0)

    assert checking.Verifier()._settled_faults(read_before, ProjectChain(trusted=())) == []


@pytest.mark.parametrize("number", [1e22, -0.0, 5.0, 1e-7, 2**60, -(2**70), 1.5e300, 0.1])
def test_numbers_that_a_database_writes_in_its_own_way_are_no_fault(project, number):
    run = a_run(project)
    call = a_call("ls")
    put(run, replace(call, args={"n": number, "in": [{"n": number}]}))

    assert kinds(project) == []


def test_the_worker_sends_heads_out_where_it_is_told_to(project, server, settings, monkeypatch):
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    settings.AUDIT_SEND_TO = f"{server.url}/heads"
    for moment in ("_looked_at", "_looked_at_all"):
        monkeypatch.setattr(tasks, moment, NOON)
    monkeypatch.setattr(tasks, "now", lambda: after(60))
    a_run(project)

    with ThreadPoolExecutor(1) as threads:
        monkeypatch.setattr(tasks, "_senders", threads)
        tasks.anchor()

    ours = [json.loads(body) for _, _, body in server.received if str(project.id).encode() in body]
    assert [line["number"] for line in ours] == [1]


def test_heads_that_still_wait_for_a_slow_receiver_stand_in_line_once(
    project, server, settings, monkeypatch
):
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    settings.AUDIT_SEND_TO = f"{server.url}/heads"
    server.status, is_free = 503, Event()
    a_run(project)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(is_free.wait)
        monkeypatch.setattr(tasks, "_senders", threads)
        tasks.anchor()
        tasks.anchor()
        is_free.set()

    ours = [body for _, _, body in server.received if str(project.id).encode() in body]
    assert len(ours) == 1


def test_a_clock_set_back_leaves_no_run_to_a_later_checkpoint(project, monkeypatch):
    monkeypatch.setattr(tasks, "_looked_at", after(7200))
    monkeypatch.setattr(tasks, "_looked_at_all", after(7200))
    run = a_run(project)

    monkeypatch.setattr(tasks, "now", lambda: after(60))
    tasks.anchor()

    run.meters.refresh_from_db()
    assert run.meters.anchored_seq == run.meters.event_seq


def test_nobody_at_the_other_end_is_told_in_the_log(project, settings, caplog):
    settings.AUDIT_SEND_TO = "https://nobody.invalid/heads"
    a_run(project)
    anchor_heads(at=after(60))

    anchors.send_heads(project.id)

    assert "were not sent" in caplog.text
    assert not anchors.heads_path(project.id).with_suffix(".sent").exists()
