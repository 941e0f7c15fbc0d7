"""A project keeps the words of its turns for so many days; the audit log verifies all the while."""

import pytest

from missioncontrol.audit import erasing
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.decisions import interventions
from missioncontrol.history.tasks import index_slice
from missioncontrol.runs.models import JournalRow, TelemetryRecord, Turn
from tests.build import NOON, a_call, a_project, a_run, after, put, report

pytestmark = pytest.mark.django_db

DAY = 24 * 3600
SECRET = "the customer's name"


@pytest.fixture
def project():
    return a_project(keep_words_days=30)


def ended(project, *, at=NOON, turns=3, **fields):
    run = a_run(project, **fields)
    put(run, *(a_call(f"echo {SECRET} {n}", result=SECRET, files=(SECRET,)) for n in range(turns)))
    return end(run, at=at)


def end(run, *, at):
    interventions.report_end(run.id, "completed", projects=[run.project_id], by="agent", at=at)
    run.refresh_from_db()
    return run


def words_of(run):
    rows = Turn.objects.filter(run=run).values_list("args", "content", "result", "files")
    return "".join(map(str, rows))


def faults_of(project):
    anchor_heads(at=after(90 * DAY))
    return [fault.kind for fault in verify(projects=[project.id]).faults]


def test_words_go_after_so_many_days_and_events_stay(project):
    run = ended(project)
    events = JournalRow.objects.filter(run=run).count()

    assert erasing.erase_old_words(at=after(29 * DAY)) == 0
    assert SECRET in words_of(run)
    assert erasing.erase_old_words(at=after(31 * DAY)) == 1

    assert SECRET not in words_of(run)
    assert JournalRow.objects.filter(run=run, payload__isnull=False).count() == events
    assert faults_of(project) == []


def test_by_default_they_stay_for_ever():
    run = ended(a_project())

    assert erasing.erase_old_words(at=after(3650 * DAY)) == 0
    assert SECRET in words_of(run)


def test_a_run_that_has_not_ended_keeps_its_words(project):
    run = a_run(project)
    put(run, a_call(SECRET))

    erasing.erase_old_words(at=after(90 * DAY))

    assert SECRET in words_of(run)


def test_a_long_run_goes_slice_by_slice_and_verifies_after_each(project, monkeypatch):
    monkeypatch.setattr(erasing, "TURN_BATCH", 2)
    run = ended(project, turns=5)

    for left in (3, 1, 0):
        erasing.erase_old_words(at=after(31 * DAY))
        assert Turn.objects.filter(run=run, result=SECRET).count() == left
        assert faults_of(project) == []
    assert erasing.erase_old_words(at=after(31 * DAY)) == 0


def test_telemetry_goes_with_the_turns(project):
    run = ended(project)
    TelemetryRecord.objects.create(run=run, key="1", name="chat", attributes={"a": SECRET}, at=NOON)

    erasing.erase_old_words(at=after(31 * DAY))

    assert not TelemetryRecord.objects.exists()


def test_telemetry_that_came_without_turns_goes_too(project):
    telling = {"name": "chat", "attributes": {"a": SECRET}, "at": NOON}
    silent, late = end(a_run(project), at=NOON), ended(project)
    TelemetryRecord.objects.create(run=silent, key="1", **telling)
    erasing.erase_old_words(at=after(31 * DAY))
    TelemetryRecord.objects.create(run=late, key="2", **telling)

    erasing.erase_old_words(at=after(31 * DAY))

    assert not TelemetryRecord.objects.exists()
    assert faults_of(project) == []


def test_a_run_that_cannot_be_erased_keeps_no_others_words(project, monkeypatch, caplog):
    first, second = ended(project), ended(project, at=after(60))
    erase = erasing._erase_slice

    def refuse_first(project_id, run_id, **fields):
        if run_id == first.id:
            raise OSError("the key cannot be read")
        return erase(project_id, run_id, **fields)

    monkeypatch.setattr(erasing, "_erase_slice", refuse_first)

    assert erasing.erase_old_words(at=after(31 * DAY)) == 1
    assert SECRET not in words_of(second)
    assert str(first.id) in caplog.text


def test_an_erased_run_that_comes_back_is_judged_by_what_it_says_then(project):
    run = ended(project, turns=4)
    erasing.erase_run(run.id, by="ana", reason="asked", at=after(DAY))
    erased_through = run.meters.last_obs

    back = report(run, a_call("pytest -q"), a_call("ls"), at=after(2 * DAY))

    assert back.open_decision is None
    assert back.meters.streak_obs >= erased_through
    assert faults_of(project) == []


def test_what_is_gone_is_found_no_more(project, as_person, owner):
    ended(project, name="nightly")
    assert found(as_person(owner), "customer") == ["nightly"]

    erasing.erase_old_words(at=after(31 * DAY))

    assert found(as_person(owner), "customer") == []
    assert found(as_person(owner), "nightly") == ["nightly"]


def found(client, text):
    index_slice(at=NOON)
    return [row["name"] for row in client.get("/api/v1/runs/", {"q": text}).json()["results"]]


def test_a_run_that_comes_back_is_judged_by_what_it_says_then(project):
    run = ended(project, turns=4)
    erasing.erase_old_words(at=after(31 * DAY))

    back = report(run, a_call("pytest -q"), a_call("ls"), at=after(32 * DAY))

    assert back.open_decision is None
    assert faults_of(project) == []
    end(run, at=after(33 * DAY))
    erasing.erase_old_words(at=after(70 * DAY))
    assert "pytest" not in words_of(run)
    assert faults_of(project) == []


def test_a_word_that_is_written_back_is_noticed(project):
    run = ended(project)
    erasing.erase_old_words(at=after(31 * DAY))

    Turn.objects.filter(run=run, seq=1).update(result="made up")

    assert faults_of(project) == ["turn_changed"]


def test_an_erased_run_is_left_alone(project):
    run = ended(project)
    erasing.erase_run(run.id, by="ana", reason="asked", at=after(DAY))

    assert erasing.erase_old_words(at=after(31 * DAY)) == 0
    assert faults_of(project) == []


def test_a_run_can_be_erased_whole_after_its_words_have_gone(project):
    run = ended(project)
    erasing.erase_old_words(at=after(31 * DAY))

    erasing.erase_run(run.id, by="ana", reason="asked", at=after(32 * DAY))

    assert faults_of(project) == []


def test_an_owner_sets_it_and_the_audit_log_says_so(project, as_person, owner):
    address = f"/api/v1/projects/{project.id}/"

    answer = as_person(owner).patch(address, {"keep_words_days": 7}, format="json")

    assert answer.json()["keep_words_days"] == 7
    payload = JournalRow.objects.get(project=project, type="policy.changed").payload
    assert '"what":"keep_words_days"' in payload
    assert (
        as_person(owner).patch(address, {"keep_words_days": -1}, format="json").status_code == 400
    )
