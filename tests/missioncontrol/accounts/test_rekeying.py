"""Who may do something else from now on goes on under another session key."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import Client

from missioncontrol.accounts import sessions
from missioncontrol.accounts.models import Role
from missioncontrol.accounts.sessions import KEY_GRACE, KEYED_AT, SessionStore, hash_key
from missioncontrol.clock import now
from missioncontrol.projects import members
from tests.build import a_person, a_project

pytestmark = pytest.mark.django_db

ME = "/api/v1/me/"


@pytest.fixture
def browser(viewer):
    client = Client()
    client.force_login(viewer)
    return client


def key_of(browser):
    return browser.cookies["mc_session"].value


def with_key(key):
    """Return a browser that brings a key which somebody took from another."""
    return Client(headers={"Cookie": f"mc_session={key}"})


def let_pass(key):
    """Let the minute pass in which a former key still works."""
    row = Session.objects.get(pk=hash_key(key))
    row.expire_date -= KEY_GRACE
    row.save()


def change(project, user, role, owner):
    members.change_role(project.id, user.pk, role, by=owner, at=now())


@pytest.mark.parametrize("role", [Role.OWNER, Role.OPERATOR])
def test_a_cookie_taken_before_somebody_was_promoted_opens_nothing(
    role, browser, viewer, owner, project
):
    taken = key_of(browser)
    change(project, viewer, role, owner)

    assert browser.get(ME).json()["projects"][0]["role"] == role

    let_pass(taken)
    assert key_of(browser) != taken
    assert browser.get(ME).status_code == 200
    assert with_key(taken).get(ME).status_code == 401


def test_who_is_lowered_and_who_is_removed_go_on_under_another_key_too(project, owner):
    bea, client = a_person("bea", project, "owner"), Client()
    client.force_login(bea)
    keys = [key_of(client)]

    change(project, bea, Role.VIEWER, owner)
    client.get(ME)
    keys.append(key_of(client))
    members.remove_member(project.id, bea.pk, by=owner, at=now())
    client.get(ME)
    keys.append(key_of(client))

    assert len(set(keys)) == 3
    assert client.get(ME).status_code == 200


def test_who_joins_another_project_goes_on_under_another_key(browser, viewer, owner):
    other = a_project("other")
    a_person("otto", other, "owner")
    inviter = other.membership_set.get().user
    made = members.invite(
        other.id,
        role=Role.OPERATOR,
        note="",
        by=inviter,
        at=now(),
        expires_at=now() + timedelta(days=1),
    )
    before = key_of(browser)

    members.join_project(made.secret, user=viewer, name="", at=now())
    browser.get(ME)

    assert key_of(browser) != before


def test_what_the_browser_sent_with_the_former_key_meanwhile_is_answered(
    browser, viewer, owner, project
):
    former = key_of(browser)
    change(project, viewer, Role.OPERATOR, owner)
    browser.get(ME)

    late = with_key(former)

    assert late.get(ME).status_code == 200
    assert "mc_session" not in late.cookies  # it takes nothing of what the browser has by now


def test_what_saves_the_former_session_keeps_it_no_longer(browser, viewer, owner, project):
    former = key_of(browser)
    change(project, viewer, Role.OPERATOR, owner)
    browser.get(ME)

    late = SessionStore(former)
    late["something"] = "new"
    late.save()

    assert Session.objects.get(pk=hash_key(former)).expire_date <= now() + KEY_GRACE


def test_of_requests_at_once_one_takes_the_new_key(browser, viewer):
    sessions.rotate_keys_soon(viewer, at=now())
    first, second = SessionStore(key_of(browser)), SessionStore(key_of(browser))
    assert first.is_key_outdated()
    assert second.is_key_outdated()

    first.rotate_key(at=now())
    second.rotate_key(at=now())

    assert first.session_key != key_of(browser)
    assert second.session_key == key_of(browser)
    assert Session.objects.count() == 2


def test_of_two_whose_clocks_differ_one_takes_the_new_key(browser, viewer):
    sessions.rotate_keys_soon(viewer, at=now())
    first, second = SessionStore(key_of(browser)), SessionStore(key_of(browser))
    assert first.is_key_outdated()
    assert second.is_key_outdated()

    first.rotate_key(at=now())
    second.rotate_key(at=now() - timedelta(seconds=5))

    assert second.session_key == key_of(browser)


def test_each_of_their_browsers_takes_a_key_and_nobody_elses(browser, viewer, owner, project):
    phone, desk = Client(), Client()
    phone.force_login(viewer)
    desk.force_login(owner)
    before = [key_of(one) for one in (browser, phone, desk)]

    change(project, viewer, Role.OPERATOR, owner)
    for one in (browser, phone, desk):
        one.get(ME)

    is_another = [
        key_of(one) != key for one, key in zip((browser, phone, desk), before, strict=True)
    ]
    assert is_another == [True, True, False]


def test_the_same_role_again_changes_no_key(browser, viewer, owner, project):
    before = key_of(browser)

    change(project, viewer, Role.VIEWER, owner)
    browser.get(ME)

    assert key_of(browser) == before


def test_a_request_that_began_before_gives_the_former_key_no_longer_life(
    browser, viewer, owner, project
):
    taken = key_of(browser)
    change(project, viewer, Role.OPERATOR, owner)
    first, late = SessionStore(taken), SessionStore(taken)
    late["noted"] = "while the other one took the new key"

    first.rotate_key(at=now())
    late.rotate_key(at=now())
    late.save()

    assert Session.objects.get(pk=hash_key(taken)).expire_date <= now() + KEY_GRACE
    assert SessionStore(first.session_key).get_expiry_age() > KEY_GRACE.total_seconds()


def test_a_request_that_began_before_the_change_does_not_undo_it(browser, viewer, owner, project):
    taken, begun = key_of(browser), SessionStore(key_of(browser))
    begun["noted"] = "while the role changed"
    change(project, viewer, Role.OPERATOR, owner)

    begun.save()
    browser.get(ME)

    assert key_of(browser) != taken
    assert Session.objects.get(pk=hash_key(taken)).expire_date <= now() + KEY_GRACE


def test_who_signed_in_since_keeps_their_key(viewer, owner, project):
    change(project, viewer, Role.OPERATOR, owner)
    client = Client()
    client.force_login(viewer)
    before = key_of(client)

    client.get(ME)

    assert key_of(client) == before


def test_a_key_from_before_keys_were_dated_is_exchanged(browser, viewer, owner, project):
    undated = SessionStore(key_of(browser))
    del undated[KEYED_AT]
    undated.save()

    change(project, viewer, Role.OPERATOR, owner)
    browser.get(ME)

    assert key_of(browser) != undated.session_key


@pytest.mark.django_db(transaction=True)
def test_what_is_saved_at_the_same_time_leaves_one_session_that_lasts(browser, viewer):
    key = key_of(browser)
    sessions.rotate_keys_soon(viewer, at=now())
    begun = [SessionStore(key) for _ in range(8)]
    for session in begun:
        session["noted"] = "at once"

    def end(numbered):
        number, session = numbered
        try:
            session.rotate_key(at=now()) if number % 2 else session.save()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as requests:
        list(requests.map(end, enumerate(begun)))

    lasting = Session.objects.filter(expire_date__gt=now() + KEY_GRACE)
    assert lasting.count() == 1
    assert Session.objects.get(pk=hash_key(key)) not in lasting


def test_who_proves_it_by_the_former_key_goes_on_as_long_as_any(browser, viewer, owner, project):
    taken = key_of(browser)
    change(project, viewer, Role.OPERATOR, owner)
    browser.get(ME)
    proving = SessionStore(taken)

    proving.cycle_key()
    proving.save()

    assert proving.get_expiry_age() > KEY_GRACE.total_seconds()
    assert not Session.objects.filter(pk=hash_key(taken)).exists()
