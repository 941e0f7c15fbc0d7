"""Browsers in which somebody is signed in: each has a name, and can be signed out from afar.

The session carries the browser's id; no session key is kept beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet

from missioncontrol.accounts.models import Browser

IN_SESSION = "browser"
# Outlives the session: it says which browser this is when somebody signs in again.
COOKIE = "mc_browser"
# The longest that Chrome keeps a cookie.
COOKIE_AGE = timedelta(days=400)
# A page asks many things a minute: a write for each would be for nothing.
SEEN_EVERY = timedelta(minutes=1)
LONGEST_NAME = 100
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a browser says of itself."""

    name: str
    kind: str
    program: str


def describe(agent: str) -> Described:
    """Read a User-Agent header; nothing in it is to be relied on.

    >>> describe("Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit Chrome/142 Mobile Safari")
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


def remember(session: Any, *, user: User, agent: str, at: datetime) -> Browser:
    """Note that somebody signed in with this browser."""
    described = describe(agent)
    browser = Browser.objects.create(
        user=user,
        name=described.name,
        kind=described.kind,
        program=described.program,
        created_at=at,
        seen_at=at,
    )
    session[IN_SESSION] = str(browser.id)
    return browser


def left(browser: str | None, *, to: User) -> None:
    """Forget the browser of somebody else who was here before: its pushes would be seen."""
    if browser:
        Browser.objects.filter(pk=browser).exclude(user=to).delete()


def take_up(session: Any, browser: str | None, *, user: User) -> None:
    """Go on with the browser in which this person was before: its pushes stay theirs."""
    # The cookie is the browser's own word: it may take up what is its person's, nothing else.
    if browser and Browser.objects.filter(pk=browser, user=user).exists():
        session[IN_SESSION] = browser


def present(session: Any, *, user: User, agent: str, at: datetime) -> Browser:
    """Return this session's browser; one that signed in before it was noted is noted now."""
    # By its person too: the session may have been taken over by whoever signed in after them.
    known = Browser.objects.filter(pk=session.get(IN_SESSION), user=user).first()
    if known is None:
        return remember(session, user=user, agent=agent, at=at)
    if at - known.seen_at > SEEN_EVERY:
        known.seen_at = at
        known.save(update_fields=["seen_at"])
    return known


def browsers_of(user: User) -> QuerySet[Browser]:
    """Return a person's browsers, the latest seen first."""
    return Browser.objects.filter(user=user).order_by("-seen_at", "-id")


def rename(browser: Browser, name: str) -> None:
    """Give a browser the name its person calls it."""
    browser.name = name[:LONGEST_NAME]
    browser.save(update_fields=["name"])


def sign_out(browser_id: UUID) -> None:
    """End a browser's session and forget it; its sockets close within seconds.

    Sessions are few: each is read, so that no row needs to name its session's key.
    """
    for session in Session.objects.all():
        if session.get_decoded().get(IN_SESSION) == str(browser_id):
            session.delete()
    Browser.objects.filter(pk=browser_id).delete()
