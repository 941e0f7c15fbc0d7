"""Sessions in the database, under a hash of their key, and the browsers that they sign in.

Who reads the table signs in as nobody. Here sessions are kept, given other keys, and ended from
afar. A session carries its browser's id; a browser has a name, and keeps no session key.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.http import parse_cookie
from django.utils.crypto import constant_time_compare

from missioncontrol.accounts.models import Browser, PrivilegeChange
from missioncontrol.accounts.tokens import digest
from missioncontrol.clock import now

# Characters that Django's table keeps of a key: 160 bits of its SHA-256.
COLUMN = 40

# In each session: when its key was made.
KEYED = "keyed_at"
GRACE = timedelta(minutes=1)
# What ends within it is a former key: more than its minute, as clocks of requests differ.
SOON = 2 * GRACE
# A session that was made before keys had a time.
BEFORE = datetime(1970, 1, 1, tzinfo=UTC).isoformat()
# Django's name for the end of a session that has one of its own.
ENDS = "_session_expiry"
IN_SESSION = "browser"
# Outlives the session: it says which browser this is when somebody signs in again.
COOKIE = "mc_browser"
# The longest that Chrome keeps a cookie.
COOKIE_AGE = timedelta(days=400)
# A page asks many things a minute: a write for each would be for nothing.
SEEN_EVERY = timedelta(minutes=1)
LONGEST_BROWSER_NAME = 100
# One that tells nothing of itself; the screens say it in their language.
UNNAMED = "a browser"
# The first that fits; a browser names its ancestors too.
_SYSTEMS = (
    # Of Apple's, phones say `like Mac OS X` too; Android and ChromeOS say Linux.
    ("iPhone", "iPhone", "phone"),
    ("iPad", "iPad", "phone"),
    ("Android", "Android", "phone"),
    ("Windows", "Windows", "desktop"),
    ("Mac OS X", "Mac", "desktop"),
    ("CrOS", "ChromeOS", "desktop"),
    ("Linux", "Linux", "desktop"),
)
_PROGRAMS = (
    # All but Firefox call themselves Chrome or Safari as well, and Chrome calls itself Safari.
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


def hashed(key: str) -> str:
    """Return the primary key of the session with this key."""
    return digest(key)[:COLUMN]


class SessionStore(db.SessionStore):
    """Django's own store; only the browser's cookie holds the key."""

    def exists(self, session_key: str) -> bool:
        return super().exists(hashed(session_key))

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key:
            super().delete(hashed(key))

    def is_outdated(self) -> bool:
        """Tell whether what its person may do has changed since this key was made."""
        user, keyed_at = self.get(SESSION_KEY), self.get(KEYED, BEFORE)
        return (
            user is not None
            and ENDS not in self
            and PrivilegeChange.objects.filter(user=user, at__gt=keyed_at).exists()
        )

    def rekey(self, *, at: datetime) -> None:
        """Go on under another key; the former one works for a minute more.

        Else what the browser sent meanwhile would find it signed out. Of requests at once, one
        takes the new key.
        """
        kept, until = dict(self.items()), at + GRACE
        late = self.encode({**kept, ENDS: until.isoformat()})  # saved again, it ends
        former = self.model.objects.filter(pk=hashed(self.session_key or ""))
        with transaction.atomic():
            # The condition decides: of requests at once one finds the former key's full life.
            if former.filter(expire_date__gt=at + SOON).update(
                session_data=late, expire_date=until
            ):
                self._session_cache = kept
                self.create()

    def save(self, must_create: bool = False) -> None:
        """Leave a former key its minute: a request that began before would give it a month."""
        if must_create:
            kept = self._get_session(no_load=True)  # type: ignore[attr-defined]  # not in the stubs
            kept[KEYED] = now().isoformat()
            super().save(must_create)
            return
        with transaction.atomic():  # and hold the row: meanwhile it may become a former one
            mine = self.model.objects.select_for_update().filter(pk=hashed(self.session_key or ""))
            row = mine.first()
            if row is None or ENDS in self or row.expire_date > now() + SOON:
                super().save()

    def cycle_key(self) -> None:
        """Go on under another key, for as long as any: also who comes with a former one."""
        self.pop(ENDS, None)
        super().cycle_key()

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = hashed(row.session_key)
        return row

    def _get_session_from_db(self) -> Any:
        live = self.model.objects.filter(expire_date__gt=now())
        row = live.filter(session_key=hashed(self.session_key or "")).first()
        if row is None:
            self._session_key = None  # whoever made that key up does not choose ours
        return row

    async def aexists(self, session_key: str) -> bool:
        return await sync_to_async(self.exists)(session_key)

    async def adelete(self, session_key: str | None = None) -> None:
        await sync_to_async(self.delete)(session_key)

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        return await sync_to_async(self.create_model_instance)(data)

    async def _aget_session_from_db(self) -> Any:
        return await sync_to_async(self._get_session_from_db)()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a browser says of itself."""

    name: str
    kind: str
    program: str


def describe_browser(agent: str) -> Described:
    """Read a User-Agent header; nothing in it is to be relied on.

    >>> agent = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit Chrome/142 Mobile Safari"
    >>> describe_browser(agent)
    Described(name='Pixel 9', kind='phone', program='Android, Chrome')
    """
    system, kind = next(
        ((name, kind) for part, name, kind in _SYSTEMS if part in agent), ("", "desktop")
    )
    browser = next((name for part, name in _PROGRAMS if part in agent), "")
    model = _MODEL.search(agent)
    named = model[1] if model and model[1] != "K" else system  # K: Chrome tells no model any more
    program = ", ".join(part for part in (system, browser) if part)
    return Described(name=named or browser or UNNAMED, kind=kind, program=program)


def forget_of_others(browser: str | None, *, to: User) -> None:
    """Forget the browser of somebody else who was here before: its pushes would be seen."""
    if browser:
        Browser.objects.filter(pk=browser).exclude(user=to).delete()


def take_up_browser(session: Any, browser: str | None, *, user: User) -> None:
    """Go on with the browser in which this person was before: its pushes stay theirs."""
    # The cookie is the browser's own word: it may take up what is its person's, nothing else.
    if browser and Browser.objects.filter(pk=browser, user=user).exists():
        session[IN_SESSION] = browser


def present_browser(session: Any, *, user: User, agent: str, at: datetime) -> Browser:
    """Return this session's browser; one that signed in before it was noted is noted now."""
    # By its person too: the session may have been taken over by whoever signed in after them.
    known = Browser.objects.filter(pk=session.get(IN_SESSION), user=user).first()
    if known is None:
        described = asdict(describe_browser(agent))
        browser = Browser.objects.create(user=user, created_at=at, seen_at=at, **described)
        session[IN_SESSION] = str(browser.id)
        return browser
    if at - known.seen_at > SEEN_EVERY:
        known.seen_at = at
        known.save(update_fields=["seen_at"])
    return known


def browsers_of(user: User) -> QuerySet[Browser]:
    """Return a person's browsers, the latest seen first."""
    return Browser.objects.filter(user=user).order_by("-seen_at", "-id")


def rename_browser(browser: Browser, name: str) -> None:
    """Give a browser the name its person calls it."""
    browser.name = name[:LONGEST_BROWSER_NAME]
    browser.save(update_fields=["name"])


def sign_out_browser(browser_id: UUID) -> None:
    """End a browser's session and forget it; its sockets close within seconds.

    Sessions are few: each is read, so that no row needs to name its session's key.
    """
    for session in Session.objects.all():
        if session.get_decoded().get(IN_SESSION) == str(browser_id):
            session.delete()
    Browser.objects.filter(pk=browser_id).delete()
