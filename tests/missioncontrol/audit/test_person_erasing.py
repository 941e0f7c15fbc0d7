"""Erasing a person is allowed; the log still verifies, and says that it was done."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Browser, Invitation, Membership, PersonalToken
from missioncontrol.audit import erasing
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.clock import now
from missioncontrol.errors import InvalidRequest, LastOwner
from missioncontrol.projects import access, members
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, a_person, after

pytestmark = pytest.mark.django_db

NAME, PHONE = "Bea Quill", "Bea's phone"


@pytest.fixture
def bea(project, owner):
    """Somebody who left her name and her phone's in the log."""
    user = a_person(NAME, project, "operator")
    browser = Browser.objects.create(user=user, name=PHONE, created_at=NOON, seen_at=NOON)
    access.record_sign_in(browser, is_paired=True, at=NOON)
    members.change_role(project.id, user.pk, "owner", by=owner, at=after(1))
    access.make_token(user, access.NewToken(name="bot"), by=NAME, at=after(2))
    anchor_heads(at=after(60))
    return user


def erase(user):
    erasing.erase_person(user, by="ana", reason="she asked", at=after(90))


def kinds(project):
    return [fault.kind for fault in verify(projects=[project.id]).faults]


def payloads():
    return " ".join(filter(None, JournalRow.objects.values_list("payload", flat=True)))


def test_no_account_and_no_word_about_them_is_left(bea):
    assert NAME in payloads()
    assert PHONE in payloads()

    erase(bea)

    assert NAME not in payloads()
    assert PHONE not in payloads()
    left = (PersonalToken, Browser, Membership, type(bea))
    assert [model.objects.filter(pk=bea.pk).exists() for model in left] == [False] * 4
    assert not PersonalToken.objects.exists()


def test_the_log_verifies_and_says_who_allowed_it_and_why(bea, project):
    erase(bea)
    anchor_heads(at=after(150))

    assert kinds(project) == []
    (row,) = JournalRow.objects.filter(type="audit.amended")
    payload = json.loads(row.payload)
    assert (row.by, payload["change"], payload["reason"]) == ("ana", "person_erased", "she asked")
    assert len(payload["rows"]) == 2


def test_what_others_did_stays(bea, project, owner):
    access.make_agent_key(project.id, access.NewAgentKey(name="ci"), by="ana", at=after(61))

    erase(bea)

    assert "made the agent key" in payloads()


def test_a_row_that_no_signed_erasure_lists_is_named(bea, project, owner):
    access.make_agent_key(project.id, access.NewAgentKey(name="ci"), by="ana", at=after(61))
    erase(bea)

    made = JournalRow.objects.filter(payload__contains="agent key")
    made.update(payload=None, salt=None)

    assert kinds(project) == ["blanked"]


def test_a_forged_erasure_allows_nothing(bea, project):
    erase(bea)
    row = JournalRow.objects.get(type="audit.amended")
    payload = json.loads(row.payload) | {"signature": "00" * 64}
    JournalRow.objects.filter(pk=row.pk).update(payload=json.dumps(payload))

    assert {"blanked", "erasure"} <= set(kinds(project))


def test_what_they_offered_lets_nobody_in(bea, project, owner):
    members.invite(project.id, role="viewer", note="", expires_at=after(3600), by=bea, at=after(61))

    erase(bea)

    assert Invitation.objects.get().revoked_at is not None


def test_the_last_owner_is_not_erased(project, bea, owner):
    members.remove_member(project.id, owner.pk, by=bea, at=after(61))

    with pytest.raises(LastOwner):
        erase(bea)

    assert Membership.objects.filter(user=bea).exists()
    assert NAME in payloads()


def test_who_starts_the_machine_is_not_erased(db):
    with pytest.raises(InvalidRequest):
        erase(accounts.ensure_local_owner())


# --- at the terminal ------------------------------------------------------------


def run_command(*words):
    out = StringIO()
    call_command("users", *words, stdout=out)
    return out.getvalue()


def test_the_terminal_lists_and_erases(bea, project, owner):
    assert f"{NAME} ({project.name}: owner; 2026-" in run_command("list")

    run_command("erase", NAME.upper(), "--by", "ana", "--reason", "she asked")

    assert NAME not in run_command("list")
    assert kinds(project) == []


def test_who_is_deactivated_is_signed_out_until_activated(bea):
    browser = APIClient()
    browser.post(f"/login/{accounts.mint_login_link(user=bea, at=now()).secret}/")
    assert browser.get("/api/v1/me/").status_code == 200

    run_command("deactivate", NAME)
    assert browser.get("/api/v1/me/").status_code == 401
    run_command("activate", NAME)
    browser.post(f"/login/{accounts.mint_login_link(user=bea, at=now()).secret}/")
    assert browser.get("/api/v1/me/").status_code == 200


@pytest.mark.parametrize(
    "words",
    [
        ("deactivate", "nobody"),
        ("erase", "nobody", "--by", "a", "--reason", "b"),
        ("deactivate", "you"),
    ],
)
def test_the_terminal_says_what_cannot_be_done(words, db):
    accounts.ensure_local_owner()

    with pytest.raises(CommandError):
        run_command(*words)
