"""Erasing what a run said is allowed, and leaves a signed event that says who and why."""

import json

import pytest
from django.core.management import CommandError, call_command

from missioncontrol.audit import anchors, erasing, signing
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.decisions import interventions, permissions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.models import AllowlistEntry, LetGo, Message
from missioncontrol.detection.models import Backtest, BacktestRun
from missioncontrol.errors import InvalidRequest, NoSuchMove
from missioncontrol.history.tasks import index_slice
from missioncontrol.proof import head_statement
from missioncontrol.runs.models import JournalRow, Run, RunMeters, Turn
from tests.build import NOON, a_call, a_proposal, a_run, a_stuck_run, after, put

pytestmark = pytest.mark.django_db

SECRET = "tokens"  # what the agent's errors speak of


@pytest.fixture
def ended(project):
    run = a_stuck_run(project, name="stuck on tokens", goal="mend tokens")
    tap = Tap(key="k", action="terminate", decision=run.open_decision, version=run.version)
    interventions.intervene(run.id, tap, projects=[project.id], by="ana", at=after(1))
    interventions.report_end(run.id, "completed", projects=[project.id], by="agent", at=after(2))
    index_slice(at=after(3))
    anchor_heads(at=after(60))
    return run


@pytest.fixture
def erased(ended):
    erasing.erase_run(ended.id, by="ana", reason="the customer asked", at=after(90))
    ended.refresh_from_db()
    return ended


def kinds(project):
    return [fault.kind for fault in verify(projects=[project.id]).faults]


def everything_kept_of(run):
    found = [Run.objects.filter(pk=run.pk), Turn.objects.filter(run=run)]
    found += [JournalRow.objects.filter(run=run), run.decisions.all(), run.messages.all()]
    found += [run.interventions.all(), run.questions.all(), run.notices.all()]
    found += [LetGo.objects.filter(decision__run=run), BacktestRun.objects.filter(run=run)]
    found += [AllowlistEntry.objects.filter(run=run)]
    return "".join(str(row) for query in found for row in query.values_list())


def test_not_a_word_is_left_of_the_run(ended):
    assert SECRET in everything_kept_of(ended)

    erasing.erase_run(ended.id, by="ana", reason="asked", at=after(90))

    assert SECRET not in everything_kept_of(ended)


def test_nothing_is_left_of_what_stood_beside_the_run(project):
    run = a_stuck_run(project, agent="claude-code")
    card = run.decisions.get(pk=run.open_decision)
    permissions.ask_permission(run.id, a_proposal(f"cat {SECRET}"), for_s=60, at=NOON)
    Message.objects.create(run=run, text="", escalation={"first_error": SECRET}, queued_at=NOON)
    fields = {"project": project, "pattern": SECRET}
    LetGo.objects.create(decision=card, digest="1", by="ana", at=NOON, **fields)
    AllowlistEntry.objects.create(run=run, scope="run", created_by="ana", created_at=NOON, **fields)
    flag = {"turn": 2, "summary": SECRET}
    tried = Backtest.objects.create(
        project=project, policy={}, today={}, policy_version=1, runs=[], at=NOON, beat_at=NOON
    )
    BacktestRun.objects.create(backtest=tried, run=run, turns=3, proposed=flag, today=None)
    interventions.report_end(run.id, "completed", projects=[project.id], by="agent", at=after(2))
    assert SECRET in "".join(str(one.content) for one in run.notices.all())

    erasing.erase_run(run.id, by="ana", reason="asked", at=after(90))

    assert SECRET not in everything_kept_of(run)
    assert BacktestRun.objects.get(run=run).proposed == {"turn": 2, "summary": ""}


def test_an_allowed_erasure_verifies_before_and_after_the_next_checkpoint(project, erased):
    assert kinds(project) == []

    anchor_heads(at=after(120))

    assert kinds(project) == []


def test_it_says_who_erased_what_and_why(project, erased):
    row = JournalRow.objects.get(project=project, type="audit.amended")

    payload = json.loads(row.payload)
    assert (row.by, payload["change"], payload["reason"]) == ("ana", "erased", "the customer asked")
    assert payload["of_run"] == str(erased.id)


def test_what_it_cost_and_how_it_ended_can_still_be_checked(project, erased):
    Run.objects.filter(pk=erased.pk).update(status="completed")
    RunMeters.objects.filter(pk=erased.pk).update(cost_usd=7)

    whats = {fault.what for fault in verify(projects=[project.id]).faults}
    assert whats == {"cost_usd", "status"}


def test_an_erased_turn_cannot_be_written_anew(project, erased):
    Turn.objects.filter(run=erased, seq=0).update(result="all went well")

    assert kinds(project) == ["turn_changed"]


def test_an_erasure_reaches_no_row_after_it(project, erased):
    last = JournalRow.objects.filter(run=erased, seq=erased.meters.event_seq)
    last.update(payload=None, salt=None)

    assert kinds(project) == ["blanked"]


def test_the_event_itself_cannot_be_erased(project, erased):
    JournalRow.objects.filter(type="audit.amended").update(payload=None, salt=None)

    assert "blanked" in kinds(project)


def test_a_run_that_goes_on_is_not_erased(project):
    run = a_run(project)

    with pytest.raises(NoSuchMove):
        erasing.erase_run(run.id, by="ana", reason="asked", at=NOON)


def test_nobody_erases_without_a_name_and_a_reason(ended):
    with pytest.raises(InvalidRequest):
        erasing.erase_run(ended.id, by="ana", reason=" ", at=NOON)


def test_an_erased_run_is_still_shown(erased, as_person, owner):
    client = as_person(owner)

    shown = client.get(f"/api/v1/runs/{erased.id}/").json()
    cards = client.get(f"/api/v1/decisions/?run={erased.id}").json()["results"]

    assert (shown["name"], shown["goal"]) == ("erased", "")
    assert [card["evidence"]["summary"] for card in cards] == [""]


def test_its_words_are_found_no_more(erased, as_person, owner):
    client = as_person(owner)
    index_slice(at=after(95))

    assert client.get("/api/v1/runs/?q=tokens").json()["results"] == []


def test_a_copy_put_back_on_purpose_is_accepted_and_said(project):
    run = a_run(project)
    anchor_heads(at=after(60))
    anchors.heads_path(project.id).write_text(_of_a_later_day(project))
    assert kinds(project) == ["older_copy"]

    aside = erasing.accept_restored_copy(
        project.id, by="ana", reason="the disk broke", at=after(90)
    )
    put(run, a_call("ls"), at=after(100))
    anchor_heads(at=after(120))

    assert kinds(project) == []
    row = JournalRow.objects.get(project=project, type="audit.amended")
    payload = json.loads(row.payload)
    assert (row.by, payload["change"], payload["heads_file"]) == ("ana", "restored", aside)
    assert payload["known"].startswith("9 of")
    assert anchors.heads_path(project.id).with_name(aside).is_file()


def _of_a_later_day(project):
    """The line of a checkpoint that this copy of the database does not have."""
    (text,) = anchors.read_heads(project.id)
    line = {**json.loads(text), "seq": 30, "number": 9}
    return json.dumps({**line, "signature": signing.sign(head_statement(line))}) + "\n"


def test_the_command_erases(ended, project, capsys):
    call_command("erase_run", str(ended.id), by="ana", reason="asked")

    assert kinds(project) == []
    assert "was erased" in capsys.readouterr().out


def test_the_command_refuses_what_is_not_there(project):
    with pytest.raises(CommandError):
        call_command("erase_run", str(project.id), by="ana", reason="asked")
