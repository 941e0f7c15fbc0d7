"""Who opens a socket: a browser by its session and our own Origin, a script by token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User

from missioncontrol import origin
from missioncontrol.accounts import sessions
from missioncontrol.accounts.models import PersonalToken
from missioncontrol.accounts.selectors import find_personal_token
from missioncontrol.accounts.tokens import PERSON_PREFIX
from missioncontrol.clock import now

# The scheme of the page that may open such a socket.
PAGES = {"ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opener:
    """Who opens a socket; `token`: what they proved themselves with, unless it is a session."""

    user: User
    token: PersonalToken | None = None


def opener_of(scope: dict[str, Any]) -> Opener | None:
    """Return who is behind a socket; None: refused."""
    headers = {name.decode("latin1"): value.decode("latin1") for name, value in scope["headers"]}
    scheme = scope.get("scheme", "ws")
    if not origin.is_our_host(headers.get("host", "")):
        return None
    # A script's socket has no Origin, and needs none: no browser sends this header by itself.
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        token = token.strip()
        known = find_personal_token(token, at=now()) if token.startswith(PERSON_PREFIX) else None
        return Opener(user=known.user, token=known) if known else None
    # A page of another site may carry our cookie, but not our Origin: scheme, host and port.
    ours = {f"{PAGES[scheme]}://{headers.get('host', '')}"}
    if settings.PUBLIC_URL:
        public = urlsplit(settings.PUBLIC_URL)
        ours.add(f"{public.scheme}://{public.netloc}")
    if headers.get("origin") not in ours:
        return None
    # Over HTTPS it has another name, which no neighbouring host can set.
    name = origin.cookie_name(settings.SESSION_COOKIE_NAME, scheme)
    user = sessions.person_of(headers.get("cookie", ""), name)
    return Opener(user=user) if user else None
