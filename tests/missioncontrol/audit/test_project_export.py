"""A project is carried to another installation; there its audit log verifies."""

import json
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from guard.policy import parse
from missioncontrol.accounts.models import AgentKey, Membership, Project
from missioncontrol.audit import anchors, project_file, signing
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.audit.erasing import erase_old_words
from missioncontrol.audit.project_file import (
    OLD_HOLD_COLUMNS,
    RENAMED_COLUMNS,
    TABLES,
    UntrustedKey,
    export_lines,
    import_project,
)
from missioncontrol.costs.spending import ORGANISATION, spent_by_all_projects, utc_day
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs.lifecycle import Source
from missioncontrol.runs.models import JournalRow, Run, TelemetryRecord, Turn
from missioncontrol.settings import VERSION
from tests.build import NOON, a_call, a_person, a_project, a_run, a_stuck_run, after, put, report
from tests.missioncontrol.audit.attacker import rehash
from tests.missioncontrol.audit.test_anchors import anchor_as_before

pytestmark = pytest.mark.django_db

ELSEWHERE = "another installation's secret"


@pytest.fixture(autouse=True)
def files(tmp_path, settings):
    settings.DATA_DIR, settings.AUDIT_HEADS, settings.AUDIT_KEYS = tmp_path, tmp_path / "audit", []


@pytest.fixture
def lived(project, owner):
    """A project in which something of most kinds happened."""
    run = a_stuck_run(project, agent="coder")
    tap = Tap(key="k", action="terminate", decision=run.open_decision, version=run.version)
    interventions.intervene(run.id, tap, projects=[project.id], by="ana", at=after(1))
    report(a_run(project, parent=run.id), a_call("ls", cost_usd="4", result="é\u2028\\u0000"[:3]))
    TelemetryRecord.objects.create(run=run, key="1", name="chat", attributes={"a": [1.5]}, at=NOON)
    anchor_heads(at=after(60))
    return project


@pytest.fixture
def export(lived, tmp_path):
    path = tmp_path / "project.jsonl"
    path.write_bytes(b"".join(export_lines(lived.id, at=after(70))))
    return path


@pytest.fixture
def elsewhere(export, lived, settings):
    """The same database and directory, as another installation: without the project."""
    key = signing.public_key()
    anchors.heads_path(lived.id).unlink()
    lived.delete()
    settings.SECRET_KEY = ELSEWHERE
    return key


def everything():
    """Return every row there is of the tables that are carried, without counted-up numbers.

    What a project spent of an organisation's day is not carried to another organisation.
    """
    return {
        kind: sorted(
            str([getattr(row, name) for name in project_file.columns_of(model)])
            for row in model.objects.all()
            if kind != "spend" or row.scope != ORGANISATION
        )
        for kind, (model, _) in TABLES.items()
        if kind not in {"project", "event"}
    }


def test_everything_comes_as_it_was_and_the_audit_log_holds(lived, export, settings):
    before = everything()
    key = signing.public_key()
    anchors.heads_path(lived.id).unlink()
    lived.delete()
    settings.SECRET_KEY = ELSEWHERE
    eve = a_person("eve")

    done = import_project(export, owner=eve, trust=key, at=after(100))

    assert everything() == before
    assert Membership.objects.get(project=done.project).user == eve
    assert verify(projects=[done.project.id]).ok
    anchor_heads(at=after(160))
    put(Run.objects.filter(project=done.project).last(), a_call("go on"), at=after(170))
    anchor_heads(at=after(220))
    found = verify(projects=[done.project.id])
    assert (found.ok, found.compared_since is not None) == (True, True)


def test_what_was_spent_there_today_is_nothing_that_the_organisation_here_spent(
    lived, export, settings, owner
):
    today, key = utc_day(after(70)), signing.public_key()
    assert spent_by_all_projects(today) == 4
    anchors.heads_path(lived.id).unlink()
    lived.delete()
    settings.SECRET_KEY = ELSEWHERE

    done = import_project(export, owner=owner, trust=key, at=after(100))

    assert spent_by_all_projects(today) == 0
    report(a_run(done.project), a_call("ls", cost_usd="2"), at=after(170))
    assert spent_by_all_projects(today) == 2


def before_meters_were_rows(lines):
    """Turn an export's lines into an earlier version's, which had them in their runs."""
    meters = {one["row"].pop("run_id"): one["row"] for one in lines if one["kind"] == "run_meters"}
    earlier = [one for one in lines if one["kind"] != "run_meters"]
    for line in earlier:
        if line["kind"] == "run":
            line["row"] |= meters[line["row"]["id"]]
    earlier[-1]["rows"] -= len(meters)
    return earlier


def bring(lines, project, tmp_path, settings, *, key):
    """Import these lines elsewhere."""
    export = tmp_path / "project.jsonl"
    export.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    anchors.heads_path(project.id).unlink()
    project.delete()
    settings.SECRET_KEY = ELSEWHERE
    import_project(export, owner=a_person("eve"), trust=key, at=after(100))


def test_what_was_exported_before_meters_were_rows_comes_with_them(
    lived, tmp_path, settings, monkeypatch
):
    monkeypatch.setattr(project_file, "KEPT_BACK", 1)
    before, key = everything(), signing.public_key()
    lines = [json.loads(line) for line in export_lines(lived.id, at=after(70))]

    bring(before_meters_were_rows(lines), lived, tmp_path, settings, key=key)

    assert everything() == before
    assert verify(projects=[lived.id]).ok


def test_what_was_exported_before_one_column_said_who_tells_of_a_run_comes_as_it_was(
    lived, tmp_path, settings
):
    run = Run.objects.filter(project=lived).first()
    Run.objects.filter(pk=run.pk).update(source=Source.TELEMETRY)
    before, key = everything(), signing.public_key()
    lines = [json.loads(line) for line in export_lines(lived.id, at=after(70))]
    for line in lines:
        if line["kind"] == "run":
            line["row"]["observed_only"] = line["row"].pop("source") == Source.TELEMETRY
            line["row"]["imported"] = False
        if line["kind"] == "run_meters":
            line["row"] |= {was: line["row"].pop(now) for was, now in RENAMED_COLUMNS.items()}

    bring(lines, lived, tmp_path, settings, key=key)

    assert everything() == before


def test_what_was_exported_before_holds_were_rows_comes_with_its_holds(project, tmp_path, settings):
    held, free = a_stuck_run(project), a_run(project)
    anchor_heads(at=after(60))
    before, key = everything(), signing.public_key()
    lines = [json.loads(line) for line in export_lines(project.id, at=after(70))]
    holds = {one["row"]["run_id"]: one["row"] for one in lines if one["kind"] == "hold"}
    lines = before_meters_were_rows(lines)
    lines = [one for one in lines if one["kind"] != "hold"]
    for line in lines:
        if line["kind"] == "run":
            hold = holds.get(line["row"]["id"], {"from_seq": 0, "stands": False})
            line["row"] |= {was: hold.get(name) for was, name in OLD_HOLD_COLUMNS.items()}
    lines[-1]["rows"] -= len(holds)

    bring(lines, project, tmp_path, settings, key=key)

    assert everything() == before
    assert (Run.objects.get(pk=held.pk).hold is None, Run.objects.get(pk=free.pk).hold) == (
        False,
        None,
    )


def test_what_was_exported_before_there_were_five_rules_comes_in_their_words(
    lived, tmp_path, settings
):
    was = {"exact_repeat": {"repeats": 5}, "detectors": ["exact_repeat"]}
    typed = 'exact_repeat.repeats = 5\ndetectors = ["exact_repeat"]'
    key = signing.public_key()
    Project.objects.filter(pk=lived.pk).update(policy=was)
    Run.objects.filter(project=lived).update(policy=was)
    lived.policy_versions.create(number=1, by="ada", at=NOON, policy=was, text=typed)
    lines = [json.loads(line) for line in export_lines(lived.id, at=after(70))]

    bring(lines, lived, tmp_path, settings, key=key)

    now = {"repeat": {"calls": 5}, "detectors": ["repeat"]}
    project = Project.objects.get()
    version = project.policy_versions.get()
    assert [project.policy, version.policy, parse(version.text)] == [now] * 3
    assert all(run.policy == now for run in Run.objects.filter(project=project))
    assert verify(projects=[project.id]).ok


def test_the_exporters_key_is_not_trusted_for_what_is_written_here(elsewhere, export, settings):
    done = import_project(export, owner=a_person("eve"), trust=elsewhere, at=after(100))
    settings.SECRET_KEY = "only for tests"
    anchor_heads(at=after(160))
    settings.SECRET_KEY = ELSEWHERE

    assert "unsigned" in {fault.kind for fault in verify(projects=[done.project.id]).faults}


def an_export_from_before_keys(project, settings, path, *, is_tied):
    """Export a project whose first checkpoint was made before there were keys; returns the key.

    `is_tied`: a checkpoint with a key followed. Afterwards this is another installation.
    """
    run = a_run(project)
    put(run, a_call("ls"))
    anchor_as_before(project, run, at=after(60))
    if is_tied:
        anchor_heads(at=after(120))
    path.write_bytes(b"".join(export_lines(project.id, at=after(130))))
    key = signing.public_key()
    anchors.heads_path(project.id).unlink(missing_ok=True)
    project.delete()
    settings.SECRET_KEY = ELSEWHERE
    return key


def test_a_project_from_before_there_were_keys_comes_where_a_later_one_ties_it(
    project, settings, tmp_path
):
    path = tmp_path / "older.jsonl"
    key = an_export_from_before_keys(project, settings, path, is_tied=True)

    done = import_project(path, owner=a_person("eve"), trust=key, at=after(200))
    anchor_heads(at=after(260))

    assert verify(projects=[done.project.id]).faults == ()
    run = Run.objects.get(project=done.project)
    JournalRow.objects.filter(run=run).latest("seq").delete()
    rehash(run)
    assert not verify(projects=[done.project.id]).ok  # the run's head came with the old one


def test_checkpoints_from_before_there_were_keys_that_nothing_ties_are_refused(
    project, settings, tmp_path
):
    path = tmp_path / "older.jsonl"
    key = an_export_from_before_keys(project, settings, path, is_tied=False)

    with pytest.raises(InvalidRequest, match="not signed"):
        import_project(path, owner=a_person("eve"), trust=key, at=after(200))

    assert not Project.objects.exists()


def test_a_log_that_was_written_anew_below_a_true_first_line_is_refused(
    lived, export, settings, tmp_path
):
    key, (first, *_) = signing.public_key(), export.read_bytes().splitlines(keepends=True)
    JournalRow.objects.filter(project=lived, type="chain.anchored").delete()
    anchors.heads_path(lived.id).unlink()
    rehash(lived)
    forged = b"".join([first, *list(export_lines(lived.id, at=after(70)))[1:]])
    export.write_bytes(forged)
    lived.delete()
    settings.SECRET_KEY = ELSEWHERE

    with pytest.raises(InvalidRequest, match="rows are missing"):
        import_project(export, owner=a_person("eve"), trust=key, at=after(100))

    assert not Project.objects.exists()


def test_a_key_that_nobody_trusts_is_refused_by_name(elsewhere, export):
    with pytest.raises(UntrustedKey, match=elsewhere):
        import_project(export, owner=a_person("eve"), at=after(100))

    assert not Project.objects.exists()


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda lines: lines[:-1], "last line is missing"),
        (lambda lines: [*lines[:5], *lines[6:]], "tells of|does not"),
        (lambda lines: [lines[0].replace("header", "other"), *lines[1:]], "not an export"),
        (lambda lines: [lines[0].replace(VERSION, "0.0.1"), *lines[1:]], "first line was changed"),
        (lambda _: ["not json"], "cannot be read"),
        (lambda _: [], "not an export"),
        (lambda lines: [lines[0], '{"kind":"end","rows":0}'], "no line of the project itself"),
        (lambda lines: [f"[{lines[0]}]", *lines[1:]], "cannot be read"),
        (lambda lines: [lines[0], '{"kind":"run","row":[]}', *lines[1:]], "cannot be read"),
        (lambda lines: [one.replace("pytest -q", "pytest -x") for one in lines], "log is damaged"),
    ],
)
def test_what_is_not_whole_or_was_changed_leaves_nothing(elsewhere, export, broken, words):
    lines = export.read_text().split("\n")[:-1]
    export.write_text("\n".join(broken(lines)))

    with pytest.raises(InvalidRequest, match=words):
        import_project(export, owner=a_person("eve"), trust=elsewhere, at=after(100))

    assert not Project.objects.exists()
    assert not list(anchors.filed_projects())


def slipped_in(lines, kind, **other):
    """Return an export's lines with one row more of a kind, and an end that counts it."""
    at = next(n for n, line in enumerate(lines) if f'"kind":"{kind}"' in line)
    row, end = json.loads(lines[at]), json.loads(lines[-1])
    row["row"] |= other
    end["rows"] += 1
    return [*lines[: at + 1], json.dumps(row), *lines[at + 1 : -1], json.dumps(end)]


@pytest.mark.parametrize("kind", ["project", "run"])
def test_a_line_of_another_project_is_refused(elsewhere, export, kind):
    theirs = a_project("theirs")
    other = {"id": str(uuid4())} | ({} if kind == "project" else {"project_id": str(theirs.id)})
    lines = export.read_text().split("\n")[:-1]
    export.write_text("\n".join(slipped_in(lines, kind, **other)))

    with pytest.raises(InvalidRequest, match=f"lines of another project: {kind}"):
        import_project(export, owner=a_person("eve"), trust=elsewhere, at=after(100))

    assert list(Project.objects.all()) == [theirs]
    assert not list(anchors.filed_projects())


def test_a_row_that_leads_nowhere_leaves_no_file_of_heads(elsewhere, export):
    lines = export.read_text().split("\n")[:-1]
    export.write_text("\n".join(slipped_in(lines, "turn", id=str(uuid4()), run_id=str(uuid4()))))

    with pytest.raises(InvalidRequest):
        import_project(export, owner=a_person("eve"), trust=elsewhere, at=after(100))

    assert not list(anchors.filed_projects())
    assert elsewhere not in signing.trusted_keys()


def test_newer_code_s_export_is_refused(elsewhere, export):
    lines = export.read_text().split("\n")[:-1]
    project = next(n for n, line in enumerate(lines) if '"kind":"project"' in line)
    document = json.loads(lines[project])
    document["row"]["later"] = 1
    lines[project] = json.dumps(document)
    export.write_text("\n".join(lines))

    with pytest.raises(InvalidRequest, match="made by newer code: project has 'later'"):
        import_project(export, owner=a_person("eve"), trust=elsewhere, at=after(100))


def test_a_project_that_is_here_is_not_imported_over(export):
    with pytest.raises(InvalidRequest, match="exists here already"):
        import_project(export, owner=a_person("eve"), at=after(100))


def test_no_secret_of_the_installation_is_in_it(lived, as_agent, tmp_path):
    digest = AgentKey.objects.get().digest

    text = b"".join(export_lines(lived.id, at=after(70)))

    assert digest.encode() not in text
    assert b"only for tests" not in text


def test_what_was_erased_is_not_in_it_and_still_verifies(lived, tmp_path, settings):
    Project.objects.update(keep_words_days=1)
    for run in Run.objects.all():
        interventions.report_end(run.id, "completed", projects=[lived.id], by="a", at=after(61))
    assert erase_old_words(at=after(3 * 24 * 3600)) == 2
    path = tmp_path / "later.jsonl"
    path.write_bytes(b"".join(export_lines(lived.id, at=after(70))))
    anchors.heads_path(lived.id).unlink()
    lived.delete()

    done = import_project(path, owner=a_person("eve"), at=after(4 * 24 * 3600))

    assert Turn.objects.filter(args__isnull=True).exists()
    assert verify(projects=[done.project.id]).ok


def test_only_an_owner_gets_it(lived, as_person, owner, operator, viewer, stranger):
    address = f"/api/v1/projects/{lived.id}/export/"

    asked = as_person(owner).get(address)
    lines = b"".join(asked.streaming_content).splitlines()

    assert json.loads(lines[0])["project"] == str(lived.id)
    assert json.loads(lines[-1]) == {"kind": "end", "rows": len(lines) - 3}
    assert as_person(operator).get(address).status_code == 403
    assert as_person(viewer).get(address).status_code == 403
    assert as_person(stranger).get(address).status_code == 404


def test_the_commands_carry_a_project(lived, tmp_path, capsys):
    path = tmp_path / "out.jsonl"
    call_command("export_project", lived.name, path)
    anchors.heads_path(lived.id).unlink()
    lived.delete()

    call_command("import_project", path)

    assert "The project payments was imported" in capsys.readouterr().out
    with pytest.raises(CommandError, match="exists here already"):
        call_command("import_project", path)


def test_every_table_that_leads_to_a_project_is_carried_or_left_on_purpose():
    from django.apps import apps

    left = {
        "Membership",
        "Invitation",
        "JoiningRule",
        "AgentKey",
        "SetupCode",
        "PersonalToken",  # people and keys
        "Channel",
        "Notice",
        "Delivery",  # how people here are reached
        "SavedView",
        "Share",
        "IndexedRun",
    }
    carried = {model.__name__ for model, _ in TABLES.values()}
    for model in apps.get_models():
        related = {
            field.related_model for field in model._meta.concrete_fields if field.related_model
        }
        if related & {Project, Run} and model.__name__ not in left:
            assert model.__name__ in carried
