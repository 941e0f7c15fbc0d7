"""Tell whose session it is, sign a person out everywhere else, or give sessions other keys."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.http import parse_cookie
from django.utils.crypto import constant_time_compare

from missioncontrol.accounts.browsers import IN_SESSION
from missioncontrol.accounts.models import Browser, PrivilegeChange
from missioncontrol.accounts.session_store import SessionStore, hashed


def person_of(cookie: str, name: str) -> User | None:
    """Return who a `Cookie` header signs in, where our session is called `name`."""
    # Leniently: another program's cookies on our host may be written in any way.
    key = parse_cookie(cookie).get(name)
    if key is None:
        return None
    session = SessionStore(key)
    if session.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return None
    # Asked of the database each time: who was deactivated is out at their next request.
    user = User.objects.filter(pk=session.get(SESSION_KEY) or 0, is_active=True).first()
    if user is None:
        return None
    # As Django's own middleware does: another password ends the sessions of the former one.
    kept = str(session.get(HASH_SESSION_KEY))
    return user if constant_time_compare(kept, user.get_session_auth_hash()) else None


def end_others(user: User, *, kept: str | None, at: datetime) -> int:
    """End every session of a person but the one whose key is `kept`; count their browsers.

    All the others are forgotten, and with them where pushes reached them: also those whose
    session ended by itself.
    """
    here = hashed(kept) if kept else None
    # Whose a session is stands inside it: all of them are read.
    live = Session.objects.filter(expire_date__gt=at).iterator()
    theirs = (one for one in live if str(one.get_decoded().get(SESSION_KEY)) == str(user.pk))
    ended = [session.pk for session in theirs if session.pk != here]
    others = other_browsers(user, kept=kept)
    # Counted apart: a browser whose session ended by itself still gets pushes.
    forgotten = others.count()
    others.delete()
    Session.objects.filter(pk__in=ended).delete()
    return max(len(ended), forgotten)


def rekey_soon(user: User, *, at: datetime) -> None:
    """Have each session of a person take another key at its next request.

    A copy of the cookie then carries the new role a minute at most, unless it asks first: then
    the person is signed out, and sees that something is wrong.
    """
    PrivilegeChange.objects.update_or_create(user=user, defaults={"at": at})


def other_browsers(user: User, *, kept: str | None) -> QuerySet[Browser]:
    """Find a person's browsers but the one whose session has the key `kept`."""
    others = Browser.objects.filter(user=user)
    session = Session.objects.filter(pk=hashed(kept)).first() if kept else None
    here = session.get_decoded().get(IN_SESSION) if session else None
    return others.exclude(pk=here) if here else others
