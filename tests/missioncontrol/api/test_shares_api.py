"""Links that show one thing to whoever has them: read-only, for some days, recorded."""

import html
import io
import logging
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from PIL import Image
from rest_framework.test import APIClient

from guard.turn import Usage
from missioncontrol.accounts.models import Membership, Project
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.accounts.tokens import HideLoginLinks
from missioncontrol.api.views import shares
from missioncontrol.audit.erasing import erase_run
from missioncontrol.clock import now
from missioncontrol.decisions.models import Decision
from missioncontrol.history import sharing
from missioncontrol.history.models import Share
from missioncontrol.runs.models import Run
from tests.build import NOON, a_call, a_project, a_run, a_stuck_run, put, report

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(project):
    return a_stuck_run(project, name="fix-auth-tests")


@pytest.fixture
def share(as_person, operator):
    """Return what makes a link and gives its answer."""

    def made(**asked):
        response = as_person(operator).post("/api/v1/shares/", asked, format="json")
        assert response.status_code == 201, response.content
        return response.json()

    return made


def look(made, *, image=False):
    """Open a link as somebody who has nothing but it."""
    path = "/shared/" + made["url"].partition("/shared/")[2]
    return APIClient().get(path + ("image.png" if image else ""))


def test_a_link_shows_its_run_and_nothing_else(share, run):
    put(run, a_call("cat the-secret-file"))

    page = look(share(run=str(run.id)))
    text = page.content.decode()

    assert page.status_code == 200
    assert '<meta property="og:title" content="fix-auth-tests">' in text
    assert "image.png" in text
    assert "the-secret-file" not in text
    assert str(run.id) not in text


@pytest.mark.parametrize(("usage", "cost"), [(None, "—"), (Usage(input=9, output=2), "unpriced")])
def test_it_claims_no_cost_that_nobody_reported(share, project, usage, cost):
    run = report(a_run(project), a_call(usage=usage))

    text = look(share(run=str(run.id))).content.decode()

    assert f"<dd>{cost}</dd>" in text


@pytest.mark.parametrize(
    ("name", "words"), [("ana", "Shared by ana. The link"), ("you", '<p class="small">The link')]
)
def test_it_names_who_shared_it_once_they_have_a_name(share, run, operator, name, words):
    operator.username = name
    operator.save()

    assert words in look(share(run=str(run.id))).content.decode()


def test_a_shared_page_is_not_indexed_cached_or_sent_as_referrer(share, run):
    made = share(run=str(run.id))

    for answer in (look(made), look(made, image=True)):
        assert answer["X-Robots-Tag"] == "noindex"
        assert answer["Referrer-Policy"] == "no-referrer"
        assert answer["Cache-Control"] == "no-store"


def test_its_picture_is_a_png_of_the_size_of_previews(share, run):
    drawn = look(share(run=str(run.id)), image=True)

    assert drawn["Content-Type"] == "image/png"
    assert Image.open(io.BytesIO(drawn.content)).size == (1200, 630)


@pytest.mark.parametrize(
    ("host", "base"),
    [("mc.example.com", "https://mc.example.com"), ("mc.example", "http://mc.example")],
)
def test_a_preview_finds_the_picture_where_the_page_was_asked_for(share, run, settings, host, base):
    settings.ALLOWED_HOSTS, settings.PUBLIC_URL = [host, "testserver"], "https://mc.example.com/"
    path = "/shared/" + share(run=str(run.id))["url"].partition("/shared/")[2]

    text = APIClient().get(path, headers={"Host": host}).content.decode()

    assert f'<meta property="og:image" content="{base}{path}image.png">' in text


def test_an_invalid_link_says_so_in_the_browsers_language(db):
    page = APIClient().get("/shared/made-up/", headers={"Accept-Language": "de;q=0.9"})

    assert '<html lang="de">' in page.content.decode()


def test_a_card_says_what_was_seen(share, run):
    made = share(decision=str(run.open_decision))

    assert made["kind"] == "decision"
    summary = Decision.objects.get().evidence["summary"]
    assert summary in html.unescape(look(made).content.decode())
    assert look(made, image=True).status_code == 200


def test_a_loop_is_amber_only_while_somebody_is_needed(share, run):
    made = share(run=str(run.id))
    assert 'class="alarm"' in look(made).content.decode()

    Run.objects.filter(pk=run.pk).update(open_decision=None)

    page = look(made).content.decode()
    assert 'class="answered"' in page
    assert 'class="alarm"' not in page


def test_a_week_of_costs_says_what_was_spent_in_german_too(share, project):
    made = share(week="2026-11-18", language="de-AT")

    text = look(made).content.decode()
    assert "Woche ab 16.11.2026" in text
    assert '<html lang="de">' in text
    assert look(made, image=True).status_code == 200


def test_german_figures_stand_in_a_german_page(share, project):
    run = a_run(project)
    report(run, a_call("ls", cost_usd=Decimal("119.27")))

    text = look(share(run=str(run.id), language="de")).content.decode()

    assert "119,27 $" in html.unescape(text).replace("\xa0", " ")
    assert "0,00 $" in look(share(week="2026-11-18", language="de")).content.decode().replace(
        "\xa0", " "
    )


def test_a_link_that_is_revoked_expired_or_made_up_shows_nothing(share, run, as_person, operator):
    revoked, expired = share(run=str(run.id)), share(run=str(run.id))
    address = f"/api/v1/shares/{revoked['id']}/"
    assert as_person(operator).delete(address).status_code == 204
    assert as_person(operator).delete(address).status_code == 404
    Share.objects.filter(pk=expired["id"]).update(expires_at=now())

    for made in (revoked, expired, {"url": "/shared/made-up/"}):
        page = look(made)
        assert page.status_code == 404
        assert "fix-auth-tests" not in page.content.decode()
        assert look(made, image=True).status_code == 404


def test_a_link_stops_working_when_its_maker_may_no_longer_share(share, run, operator):
    made = share(run=str(run.id))

    Membership.objects.filter(user=operator).update(role="viewer")
    assert look(made).status_code == 404
    Membership.objects.filter(user=operator).update(role="operator")
    assert look(made).status_code == 200
    User.objects.filter(pk=operator.pk).update(is_active=False)
    assert look(made).status_code == 404


def test_it_shows_nothing_while_the_project_is_archived(share, run, project):
    made = share(run=str(run.id))

    Project.objects.filter(pk=project.pk).update(archived_at=NOON)
    assert look(made).status_code == 404

    Project.objects.filter(pk=project.pk).update(archived_at=None)
    assert look(made).status_code == 200


def test_an_erased_run_is_no_longer_shown(share, project):
    run = a_run(project)
    made = share(run=str(run.id))
    run.refresh_from_db()
    type(run).objects.filter(pk=run.pk).update(status="completed", ended_at=NOON)

    erase_run(run.id, by="ana", reason="asked to", at=now())

    assert look(made).status_code == 404


def test_links_are_listed_without_their_secret_and_are_on_the_record(share, run, as_person, viewer):
    made = share(run=str(run.id))
    client = as_person(viewer)

    (row,) = client.get(f"/api/v1/shares/?run={run.id}").json()["results"]
    (event,) = client.get("/api/v1/audit/?type=access.changed").json()["results"]

    assert (row["id"], row["name"]) == (made["id"], "fix-auth-tests")
    assert "url" not in row
    assert (event["by"], event["payload"]["what"]) == (
        "olu",
        f"shared the run {run.id} by a link for 7 days",
    )


def test_a_links_secret_is_stored_as_a_hash(share, run):
    secret = share(run=str(run.id))["url"].rstrip("/").rpartition("/")[2]

    assert secret not in str(Share.objects.values().get())


def test_no_log_contains_a_links_secret(share, run):
    made = share(run=str(run.id))
    record = logging.LogRecord("x", 30, "x", 1, "Too Many Requests: %s", (made["url"],), None)

    HideLoginLinks().filter(record)

    assert record.getMessage().endswith("/shared/…/")


def test_a_viewer_cannot_make_or_revoke_links(share, run, as_person, viewer):
    made = share(run=str(run.id))
    client = as_person(viewer)

    assert client.post("/api/v1/shares/", {"run": str(run.id)}, format="json").status_code == 403
    assert client.delete(f"/api/v1/shares/{made['id']}/").status_code == 403


def test_another_projects_content_cannot_be_shared(as_person, operator):
    theirs = a_stuck_run(a_project("elsewhere"))
    client = as_person(operator)

    for asked in ({"run": str(theirs.id)}, {"decision": str(theirs.open_decision)}):
        assert client.post("/api/v1/shares/", asked, format="json").status_code == 404


@pytest.mark.parametrize("asked", [{}, {"week": "2026-11-18", "days": 91}, {"days": 0}])
def test_a_share_names_one_thing_and_has_a_maximum_lifetime(asked, as_person, operator):
    response = as_person(operator).post("/api/v1/shares/", asked, format="json")

    assert response.status_code == 400


def test_opening_shared_links_is_rate_limited(share, run, monkeypatch):
    made = share(run=str(run.id))
    monkeypatch.setattr(shares, "VISIT_LIMIT", RateLimit("opened", per_caller=1, total=9))

    assert look(made).status_code == 200
    assert look(made, image=True).status_code == 429


def test_a_link_expires_after_its_days(share, run):
    made = share(run=str(run.id), days=30)
    row = Share.objects.get(pk=made["id"])

    assert row.expires_at - row.created_at == timedelta(days=30)


@pytest.mark.parametrize(("week", "days"), [("2026-11-18", 7), ("2026-11-25", 3)])
def test_a_week_shows_its_own_days_and_none_before(share, week, days):
    made = Share.objects.get(pk=share(week=week)["id"])

    wednesday = datetime(2026, 11, 25, 12, tzinfo=UTC)
    bars = sharing.shared_content(made, at=wednesday).bars

    assert len(bars) == days
    assert [(bar.day, bar.spent) for bar in bars[:2]] == [("Mon", "$0.00"), ("Tue", "$0.00")]


def test_a_name_of_several_lines_is_drawn_too(share, project):
    run = a_run(project, agent="one\ntwo")

    assert look(share(run=str(run.id)), image=True).status_code == 200


@pytest.mark.parametrize("week", ["9999-12-31", "0001-01-01"])
def test_a_week_outside_the_supported_years_is_refused(week, as_person, operator):
    response = as_person(operator).post("/api/v1/shares/", {"week": week}, format="json")

    assert (response.status_code, response.json()["field"]) == (400, "week")


@pytest.mark.parametrize("lowered", [True, False])
def test_links_of_a_demoted_or_removed_member_are_revoked(
    share, run, as_person, owner, operator, project, lowered
):
    made = share(run=str(run.id))
    client, address = as_person(owner), f"/api/v1/projects/{project.id}/members/{operator.pk}/"

    if lowered:
        assert client.patch(address, {"role": "viewer"}, format="json").status_code == 200
        assert client.patch(address, {"role": "operator"}, format="json").status_code == 200
    else:
        assert client.delete(address).status_code == 204
        Membership.objects.create(project=project, user=operator, role="operator")

    assert look(made).status_code == 404
    rows = client.get("/api/v1/audit/?type=access.changed").json()["results"]
    entries = [(row["by"], row["payload"]["what"]) for row in rows]
    assert ("ana", f"revoked the link to the run {run.id}") in entries


def test_only_links_that_show_something_are_listed(share, run, as_person, viewer, operator):
    share(run=str(run.id))

    Membership.objects.filter(user=operator).update(role="viewer")

    assert as_person(viewer).get("/api/v1/shares/").json()["results"] == []
