"""Saved views are one person's own."""

import json

import pytest

from missioncontrol.history import saved_views
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, a_person, a_project

pytestmark = pytest.mark.django_db
PATH = "/api/v1/views/"


def keep(client, name="Over $5", q="cost:>5", **more):
    return client.post(PATH, {"name": name, "q": q, **more}, format="json")


def test_a_view_is_kept_and_listed(as_person, owner, project):
    client = as_person(owner)

    made = keep(client)

    assert made.status_code == 201
    (row,) = client.get(PATH).json()["results"]
    assert (row["name"], row["q"], row["project"]) == ("Over $5", "cost:>5", str(project.id))


def test_the_same_name_again_replaces_the_line(as_person, owner):
    client = as_person(owner)
    keep(client)

    keep(client, q="cost:>6")

    assert [row["q"] for row in client.get(PATH).json()["results"]] == ["cost:>6"]


@pytest.mark.parametrize("name", ["", " ", "x" * 61, "Over\u200b $5", "\0"])
def test_a_view_has_a_name_that_can_be_seen(name, as_person, owner):
    made = keep(as_person(owner), name=name)

    assert (made.status_code, made.json()["field"]) == (400, "name")


def test_another_persons_view_does_not_exist(as_person, owner, operator, stranger):
    view = keep(as_person(owner)).json()["id"]

    for other in (operator, stranger):
        assert as_person(other).get(PATH).json()["results"] == []
        assert as_person(other).delete(f"{PATH}{view}/").status_code == 404
    assert len(as_person(owner).get(PATH).json()["results"]) == 1


def test_a_viewer_keeps_views_too(as_person, viewer):
    assert keep(as_person(viewer)).status_code == 201


def test_a_view_is_forgotten(as_person, owner):
    client = as_person(owner)
    view = keep(client).json()["id"]

    assert client.delete(f"{PATH}{view}/").status_code == 204
    assert client.get(PATH).json()["results"] == []


def test_a_view_names_its_project_where_there_are_several(as_person, owner, project):
    from missioncontrol.accounts.models import Membership

    other = a_project("other")
    Membership.objects.create(project=other, user=owner, role="viewer")
    client = as_person(owner)

    assert keep(client).status_code == 400
    assert keep(client, project=str(other.id)).json()["project"] == str(other.id)
    assert keep(client, project=str(a_project("foreign").id)).status_code == 404


def test_a_line_that_cannot_be_read_is_not_kept(as_person, owner):
    assert keep(as_person(owner), q="cost:much").status_code == 400
    assert keep(as_person(owner), name="  ").status_code == 400
    assert keep(as_person(owner), name="x" * 61).status_code == 400


def test_views_are_bounded(project):
    someone = a_person("kim", project, "viewer")
    for n in range(saved_views.MAX_VIEWS):
        saved_views.save_view(
            user=someone, project=project.id, name=str(n), q="", by="ana", at=NOON
        )

    with pytest.raises(saved_views.InvalidRequest):
        saved_views.save_view(
            user=someone, project=project.id, name="more", q="", by="ana", at=NOON
        )


def test_an_agent_has_no_views(as_agent, client):
    assert as_agent.get(PATH).status_code == 403
    assert client.get(PATH).status_code == 401


# --- on the record -----------------------------------------------------------------------


def changes_noted(project):
    rows = JournalRow.objects.filter(type="policy.changed", project=project).order_by("seq")
    payloads = [json.loads(row.payload) for row in rows]
    return [(one["what"], one["before"], one["after"]) for one in payloads]


def test_a_view_kept_changed_and_forgotten_is_on_record(as_person, owner, project):
    client = as_person(owner)
    view = keep(client).json()["id"]
    keep(client)
    keep(client, q="cost:>6")
    client.delete(f"{PATH}{view}/")

    what = "the saved view “Over $5”"
    assert changes_noted(project) == [
        (what, None, {"q": "cost:>5"}),
        (what, {"q": "cost:>5"}, {"q": "cost:>6"}),
        (what, {"q": "cost:>6"}, None),
    ]
    assert client.get("/api/v1/audit/verify/").json()["ok"]


def test_what_was_refused_is_not_on_record(as_person, owner, operator, project):
    view = keep(as_person(owner)).json()["id"]

    as_person(operator).delete(f"{PATH}{view}/")
    keep(as_person(owner), name="")

    assert len(changes_noted(project)) == 1
