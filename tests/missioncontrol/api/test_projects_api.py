"""Projects are made, renamed, archived and restored, and their journal names who did it."""

import json
from io import StringIO
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command

from missioncontrol.accounts import services
from missioncontrol.accounts.models import Membership, Project
from missioncontrol.api import keys
from missioncontrol.audit import checking
from missioncontrol.errors import ProjectArchived
from missioncontrol.runs.models import JournalRow, Run
from tests.build import NOON, a_person, a_project, a_run

pytestmark = pytest.mark.django_db


def patch(client, project, **fields):
    return client.patch(f"/api/v1/projects/{project.id}/", fields, format="json")


def make(client, **fields):
    return client.post("/api/v1/projects/", fields, format="json")


def recorded_changes(project):
    rows = JournalRow.objects.filter(project=project, run=None).order_by("seq")
    return [(row.by, json.loads(row.payload).get("what")) for row in rows]


def test_a_project_owner_can_make_another_project(as_person, owner):
    made = make(as_person(owner), name="  second   project ")

    assert made.status_code == 201
    assert (made.json()["name"], made.json()["role"]) == ("second project", "owner")
    project = Project.objects.get(pk=made.json()["id"])
    assert recorded_changes(project) == [("ana", "made the project “second project”")]
    assert checking.verify(projects=[project.id]).ok


@pytest.mark.parametrize("role", ["operator", "viewer"])
def test_a_person_without_a_project_cannot_make_one(role, as_person, request):
    made = make(as_person(request.getfixturevalue(role)), name="mine")

    assert made.status_code == 403
    assert Project.objects.count() == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\u202eb", "a\x07b"])
def test_a_project_has_a_name_that_can_be_read(name, as_person, owner, project):
    assert make(as_person(owner), name=name).status_code == 400
    assert patch(as_person(owner), project, name=name).status_code == 400


def test_renaming_a_project_is_recorded(as_person, owner, project):
    assert patch(as_person(owner), project, name="billing").json()["name"] == "billing"

    row = JournalRow.objects.get(project=project)
    payload = json.loads(row.payload)
    assert (row.by, payload["what"], payload["before"], payload["after"]) == (
        "ana",
        "name",
        "payments",
        "billing",
    )


def test_an_owner_archives_and_restores_a_project(as_person, owner, project):
    client = as_person(owner)

    archived = patch(client, project, archived=True)
    assert archived.json()["archived_at"] is not None
    assert patch(client, project, mode="warn").json()["code"] == "project_archived"
    assert client.get(f"/api/v1/projects/{project.id}/").status_code == 200
    back = patch(client, project, archived=False, mode="warn")

    assert (back.json()["archived_at"], back.json()["mode"]) == (None, "warn")
    assert recorded_changes(project)[:2] == [
        ("ana", "archived the project"),
        ("ana", "brought the project back"),
    ]


def test_archiving_twice_is_recorded_once(as_person, owner, project):
    patch(as_person(owner), project, archived=True)
    patch(as_person(owner), project, archived=True)

    assert recorded_changes(project) == [("ana", "archived the project")]


def test_a_key_of_an_archived_project_is_refused_with_a_reason(as_agent, as_person, owner, project):
    patch(as_person(owner), project, archived=True)

    refused = as_agent.post("/api/v1/runs/", {"name": "a"}, format="json")

    assert (refused.status_code, refused.json()["code"]) == (403, "project_archived")
    assert "until an owner restores it" in refused.json()["detail"]
    patch(as_person(owner), project, archived=False)
    assert as_agent.post("/api/v1/runs/", {"name": "a"}, format="json").status_code == 201


def test_a_project_with_a_waiting_agent_is_not_archived(as_person, owner, project):
    run = a_run(project)
    Run.objects.filter(pk=run.pk).update(status="held")

    refused = patch(as_person(owner), project, archived=True)

    assert (refused.status_code, refused.json()["code"]) == (409, "agents_waiting")
    project.refresh_from_db()
    assert project.archived_at is None


def test_a_write_without_a_project_goes_to_the_only_active_one(as_person, owner, project):
    other = a_project("old", archived_at=NOON)
    Membership.objects.create(project=other, user=owner, role="owner")

    made = as_person(owner).post("/api/v1/keys/", {"name": "ci"}, format="json")

    assert made.json()["project"] == str(project.id)


async def test_the_thin_paths_refuse_an_archived_projects_key_too(transactional_db):
    def made():
        project = a_project("old", archived_at=NOON)
        return services.mint_agent_key(project=project, name="k", at=NOON).secret

    with pytest.raises(ProjectArchived):
        await keys.holder_of(await sync_to_async(made)())


# --- at the terminal ------------------------------------------------------------


def run_command(*words):
    out = StringIO()
    call_command("project", *words, stdout=out)
    return out.getvalue().strip()


def test_the_terminal_makes_renames_archives_and_restores(db):
    made = run_command("make", "night shift")
    run_command("rename", made, "day shift")
    run_command("archive", made)
    assert run_command("list") == f"{made}  day shift (1 member, archived)"
    run_command("restore", made)

    assert run_command("list") == f"{made}  day shift (1 member)"
    by = {row.by for row in JournalRow.objects.exclude(seq=0)}
    assert by == {"terminal"}


def test_the_terminal_makes_a_project_of_a_person_by_name(db):
    bea = a_person("Bea")

    made = run_command("make", "hers", "--owner", "bea")

    assert Membership.objects.get(project=made).user == bea


@pytest.mark.parametrize(
    "words",
    [
        ("make", "x", "--owner", "nobody"),
        ("make", "  "),
        ("archive", str(uuid4())),
        ("rename", str(uuid4()), "x"),
    ],
)
def test_the_terminal_says_what_cannot_be_done(words, db):
    with pytest.raises(CommandError):
        run_command(*words)


def test_the_terminal_takes_a_project_by_its_name(db):
    made = run_command("make", "night shift")

    run_command("rename", "night shift", "day shift")
    run_command("archive", "day shift")

    assert run_command("list") == f"{made}  day shift (1 member, archived)"


def test_the_terminal_asks_which_of_two_that_have_one_name(db):
    ids = [run_command("make", "night shift") for _ in range(2)]

    with pytest.raises(CommandError, match=f"give the id of one: {ids[0]}, {ids[1]}"):
        run_command("rename", "night shift", "day shift")
    run_command("rename", ids[1], "day shift")

    assert run_command("list").splitlines()[1] == f"{ids[1]}  day shift (1 member)"


@pytest.mark.parametrize(
    "words", [("archive", ""), ("rename", "", "x"), ("restore", "")], ids=lambda words: words[0]
)
def test_the_terminal_takes_no_project_that_is_not_named(words, project):
    """As in `project archive "$ID"` where nothing is in it: the only one is not meant."""
    with pytest.raises(CommandError, match="There is no project ''"):
        run_command(*words)


def printed_link(*words):
    """Return the link that the terminal prints, and what it says beside it."""
    out, err = StringIO(), StringIO()
    call_command("login_link", *words, stdout=out, stderr=err)
    return out.getvalue().strip(), err.getvalue()


def test_a_link_is_printed_for_a_person_by_name(client):
    bea = a_person("Bea")

    link, _ = printed_link("--person", "bea")
    client.post(link.removeprefix("http://127.0.0.1:8765"))

    assert client.get("/api/v1/me/").json()["user"] == {"id": str(bea.pk), "name": "Bea"}
    with pytest.raises(CommandError):
        call_command("login_link", "--person", "nobody")


def test_a_link_says_when_its_address_is_a_guess(db, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    link, said = printed_link()
    assert link.startswith("http://127.0.0.1:8765/login/")
    assert str(tmp_path) in said
    assert "--url" in said

    (tmp_path / "up.lock").write_text('{"state": "stopping", "url": "http://127.0.0.1:9001"}')
    link, said = printed_link()
    assert link.startswith("http://127.0.0.1:9001/login/")
    assert "--url" in said


@pytest.mark.parametrize("words", [(), ("--url", "http://127.0.0.1:9001/")])
def test_a_link_to_the_served_address_has_no_warning(words, db, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "up.lock").write_text('{"state": "serving", "url": "http://127.0.0.1:9001"}')

    link, said = printed_link(*words)

    assert link.startswith("http://127.0.0.1:9001/login/")
    assert said == ""
