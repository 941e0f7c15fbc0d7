"""Sessions in the database, under a hash of their key, and the browsers that they sign in.

Reading the table lets nobody sign in. Sessions are saved here, given new keys, and ended
remotely. A session holds its browser's id; a browser has a name, and stores no session key.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.http import parse_cookie
from django.utils.crypto import constant_time_compare

from missioncontrol.accounts.models import Browser, PrivilegeChange
from missioncontrol.accounts.tokens import digest
from missioncontrol.clock import now

# Characters stored of a key's hash: 160 bits of its SHA-256.
HASH_LENGTH = 40

# Stored in each session: when its key was made.
KEYED_AT = "keyed_at"
KEY_GRACE = timedelta(minutes=1)
# A session that expires within this is a former key; more than the grace, as clocks differ.
FORMER_KEY_LIFE = 2 * KEY_GRACE
# For a session that was made before keys had a time.
KEYED_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC).isoformat()
# Django's name for a session's own expiry time.
EXPIRY = "_session_expiry"
BROWSER_ID = "browser"
# Outlives the session: it identifies the browser when somebody signs in again.
BROWSER_COOKIE = "mc_browser"
# The longest time that Chrome keeps a cookie.
BROWSER_COOKIE_AGE = timedelta(days=400)
# A page sends many requests a minute: one write for each would be wasted.
SEEN_RECORDED_EVERY = timedelta(minutes=1)
MAX_BROWSER_NAME = 100
# For a browser that tells nothing of itself; the screens translate it.
UNNAMED_BROWSER = "a browser"
# The first that fits; a browser also names the ones it descends from.
_SYSTEMS = (
    # Apple's phones say `like Mac OS X` too; Android and ChromeOS say Linux.
    ("iPhone", "iPhone", "phone"),
    ("iPad", "iPad", "phone"),
    ("Android", "Android", "phone"),
    ("Windows", "Windows", "desktop"),
    ("Mac OS X", "Mac", "desktop"),
    ("CrOS", "ChromeOS", "desktop"),
    ("Linux", "Linux", "desktop"),
)
_PROGRAMS = (
    # All but Firefox also call themselves Chrome or Safari, and Chrome calls itself Safari.
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("FxiOS", "Firefox"),
    ("Firefox", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_MODEL = re.compile(r"Android [\d.]+; ([^;)]{2,40}?)(?: Build/[^;)]*)?\)")


def hash_key(key: str) -> str:
    """Return the primary key of the session with this key."""
    return digest(key)[:HASH_LENGTH]


class SessionStore(db.SessionStore):
    """Django's own store, but only the browser's cookie holds the key."""

    def exists(self, session_key: str) -> bool:
        return super().exists(hash_key(session_key))

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key:
            super().delete(hash_key(key))

    def is_key_outdated(self) -> bool:
        """Tell whether the person's rights have changed since this key was made."""
        user, keyed_at = self.get(SESSION_KEY), self.get(KEYED_AT, KEYED_LONG_AGO)
        return (
            user is not None
            and EXPIRY not in self
            and PrivilegeChange.objects.filter(user=user, at__gt=keyed_at).exists()
        )

    def rotate_key(self, *, at: datetime) -> None:
        """Continue under a new key; the former one works for one more minute.

        Otherwise requests that the browser has already sent would be signed out. Of parallel
        requests, only one takes the new key.
        """
        kept, until = dict(self.items()), at + KEY_GRACE
        late = self.encode({**kept, EXPIRY: until.isoformat()})  # if saved again, it ends
        former = self.model.objects.filter(pk=hash_key(self.session_key or ""))
        with transaction.atomic():
            # The condition decides: only one of parallel requests finds the former key's full life.
            if former.filter(expire_date__gt=at + FORMER_KEY_LIFE).update(
                session_data=late, expire_date=until
            ):
                self._session_cache = kept
                self.create()

    def save(self, must_create: bool = False) -> None:
        """Do not prolong a former key: a request that began before would give it a month."""
        if must_create:
            kept = self._get_session(no_load=True)  # type: ignore[attr-defined]  # not in the stubs
            kept[KEYED_AT] = now().isoformat()
            super().save(must_create)
            return
        with transaction.atomic():  # and lock the row: it may become a former key meanwhile
            rows = self.model.objects.select_for_update()
            row = rows.filter(pk=hash_key(self.session_key or "")).first()
            if row is None or EXPIRY in self or row.expire_date > now() + FORMER_KEY_LIFE:
                super().save()

    def cycle_key(self) -> None:
        """Continue under a new key with a full lifetime, even if the old one is a former key."""
        self.pop(EXPIRY, None)
        super().cycle_key()

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = hash_key(row.session_key)
        return row

    def _get_session_from_db(self) -> Any:
        live = self.model.objects.filter(expire_date__gt=now())
        row = live.filter(session_key=hash_key(self.session_key or "")).first()
        if row is None:
            self._session_key = None  # a client that invented this key must not choose ours
        return row

    # By the methods above, in a thread: the database's own would look for the bare key.
    aexists, adelete = SessionBase.aexists, SessionBase.adelete
    acreate, asave, aload = SessionBase.acreate, SessionBase.asave, SessionBase.aload


def user_of_cookie(cookie: str, name: str) -> User | None:
    """Return the person that a `Cookie` header signs in; `name` is the session cookie's name."""
    # Leniently: other programs' cookies on this host may be written in any way.
    key = parse_cookie(cookie).get(name)
    if key is None:
        return None
    session = SessionStore(key)
    if session.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return None
    # Read from the database each time: a deactivated person is out at their next request.
    user = User.objects.filter(pk=session.get(SESSION_KEY) or 0, is_active=True).first()
    if user is None:
        return None
    # As in Django's own middleware: a new password ends the sessions of the old one.
    kept = str(session.get(HASH_SESSION_KEY))
    return user if constant_time_compare(kept, user.get_session_auth_hash()) else None


def end_other_sessions(user: User, *, current_key: str | None, at: datetime) -> int:
    """End every session of a person but the one whose key is `current_key`; count their browsers.

    All other browsers are deleted, and with them their pushes, also those whose session
    ended by itself.
    """
    here = hash_key(current_key) if current_key else None
    # A session's person is stored inside it, so all sessions are read.
    live = Session.objects.filter(expire_date__gt=at).iterator()
    theirs = (one for one in live if str(one.get_decoded().get(SESSION_KEY)) == str(user.pk))
    ended = [session.pk for session in theirs if session.pk != here]
    others = other_browsers(user, current_key=current_key)
    # Counted separately: a browser whose session ended by itself still gets pushes.
    forgotten = others.count()
    others.delete()
    Session.objects.filter(pk__in=ended).delete()
    return max(len(ended), forgotten)


def rotate_keys_soon(user: User, *, at: datetime) -> None:
    """Make each session of a person take a new key at its next request.

    A copied cookie then carries the new role for a minute at most, unless the copy's request
    comes first: then the person is signed out, and sees that something is wrong.
    """
    PrivilegeChange.objects.update_or_create(user=user, defaults={"at": at})


def other_browsers(user: User, *, current_key: str | None) -> QuerySet[Browser]:
    """Return a person's browsers but the one whose session has the key `current_key`."""
    others = Browser.objects.filter(user=user)
    session = Session.objects.filter(pk=hash_key(current_key)).first() if current_key else None
    here = session.get_decoded().get(BROWSER_ID) if session else None
    return others.exclude(pk=here) if here else others


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserDescription:
    """What a browser says of itself."""

    name: str
    kind: str
    program: str


def describe_browser(agent: str) -> BrowserDescription:
    """Read a User-Agent header; nothing in it can be relied on.

    >>> agent = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit Chrome/142 Mobile Safari"
    >>> describe_browser(agent)
    BrowserDescription(name='Pixel 9', kind='phone', program='Android, Chrome')
    """
    system, kind = next(
        ((name, kind) for part, name, kind in _SYSTEMS if part in agent), ("", "desktop")
    )
    browser = next((name for part, name in _PROGRAMS if part in agent), "")
    model = _MODEL.search(agent)
    named = model[1] if model and model[1] != "K" else system  # K: Chrome hides the model
    program = ", ".join(part for part in (system, browser) if part)
    return BrowserDescription(name=named or browser or UNNAMED_BROWSER, kind=kind, program=program)


def enter_browser(
    session: Any, before: str | None, *, user: User, agent: str, at: datetime
) -> Browser:
    """Return the browser that a person signs in with: the one they used `before`, or a new one."""
    if before:
        # If another person used it, pushes for them must not reach this one.
        Browser.objects.filter(pk=before).exclude(user=user).delete()
        # From the client: it is resumed only if it is this person's.
        session[BROWSER_ID] = before
    return ensure_browser(session, user=user, agent=agent, at=at)


def ensure_browser(session: Any, *, user: User, agent: str, at: datetime) -> Browser:
    """Return this session's browser; create it if the session has none of this person's."""
    # With its person: somebody else may have signed in to this session since.
    known = Browser.objects.filter(pk=session.get(BROWSER_ID), user=user).first()
    if known is None:
        described = asdict(describe_browser(agent))
        browser = Browser.objects.create(user=user, created_at=at, seen_at=at, **described)
        session[BROWSER_ID] = str(browser.id)
        return browser
    if at - known.seen_at > SEEN_RECORDED_EVERY:
        known.seen_at = at
        known.save(update_fields=["seen_at"])
    return known


def browsers_of(user: User) -> QuerySet[Browser]:
    """Return a person's browsers, the latest seen first."""
    return Browser.objects.filter(user=user).order_by("-seen_at", "-id")


def rename_browser(browser: Browser, name: str) -> None:
    """Rename a browser."""
    browser.name = name[:MAX_BROWSER_NAME]
    browser.save(update_fields=["name"])


def sign_out_browser(browser_id: UUID) -> None:
    """End a browser's session and delete it; its sockets close within seconds.

    There are few sessions: each is read, so that no row needs to store a session's key.
    """
    for session in Session.objects.all():
        if session.get_decoded().get(BROWSER_ID) == str(browser_id):
            session.delete()
    Browser.objects.filter(pk=browser_id).delete()
