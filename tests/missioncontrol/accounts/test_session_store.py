"""Whoever reads the database finds no session there to take over."""

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command

from missioncontrol.accounts.sessions import SessionStore, user_of_cookie
from missioncontrol.clock import now

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept():
    session = SessionStore()
    session["who"] = "ana"
    session.save()
    return session


def test_no_key_stands_in_the_database(kept):
    assert kept.session_key not in str(list(Session.objects.values()))


def test_the_key_opens_its_session(kept):
    assert SessionStore(kept.session_key)["who"] == "ana"


def test_what_stands_in_the_database_opens_nothing(kept):
    stolen = SessionStore(Session.objects.get().pk)

    assert stolen.get("who") is None
    assert stolen.session_key is None


def test_a_session_is_changed_and_given_another_key(kept):
    first = kept.session_key
    kept["who"] = "olu"
    kept.cycle_key()
    kept.save()

    assert SessionStore(kept.session_key)["who"] == "olu"
    assert not SessionStore().exists(first)
    assert Session.objects.count() == 1


def test_it_ends_when_it_is_flushed_or_its_time_is_over(kept):
    other = SessionStore()
    other.create()
    kept.flush()
    assert Session.objects.count() == 1

    Session.objects.update(expire_date=now())
    assert SessionStore(other.session_key).load() == {}
    call_command("clearsessions")
    assert not Session.objects.exists()


@pytest.mark.django_db(transaction=True)
async def test_the_asynchronous_half_keeps_hashes_too():
    session = SessionStore()
    await session.aset("who", "ana")
    await session.asave()

    assert not await Session.objects.filter(pk=session.session_key).aexists()
    assert await session.aexists(session.session_key)
    assert await SessionStore(session.session_key).aget("who") == "ana"
    await session.adelete()
    assert not await Session.objects.aexists()


def test_another_programs_odd_cookie_does_not_sign_a_person_out():
    user = User.objects.create_user("ana")
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()

    found = user_of_cookie(f'prefs={{"a":1}}; mc_session={session.session_key}', "mc_session")

    assert found == user
