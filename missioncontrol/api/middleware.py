"""What stands around every view: cookies by the names browsers have for them, and headers that
keep a browser from helping an attacker; JSON for our own pages, gzipped to a tenth of its size.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from missioncontrol import origin
from missioncontrol.accounts.sessions import SessionStore
from missioncontrol.clock import now

# `data:` for QR codes, which are drawn into the answer that has their secret.
POLICY = (
    "default-src 'self'; connect-src 'self'{sockets}; img-src 'self' data:; object-src 'none'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
# Built files whose names stay while what they hold changes: no cache may keep them.
ASK_EACH_TIME = ("/sw.js", "/manifest.webmanifest", "/index.html")


def OwnCookies(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:  # noqa: N802
    """Translate our cookies: over HTTPS they are `__Host-`, and no other counts.

    A page of a neighbouring host may set `mc_session` for us too, but no `__Host-` one.
    """
    ours = f"{origin.HOST_ONLY}{origin.OURS}"

    def wrapped(request: Any) -> Any:
        if not origin.is_over_https(request.scheme):
            return get_response(request)
        cookies = request.COOKIES.items()
        own = {
            name.removeprefix(origin.HOST_ONLY): v for name, v in cookies if name.startswith(ours)
        }
        foreign = {name: v for name, v in cookies if not name.startswith((origin.OURS, ours))}
        request.COOKIES = foreign | own
        response = get_response(request)
        # Renamed on the way out as well, so that Django and its tests know one name for each.
        for name in [name for name in response.cookies if name.startswith(origin.OURS)]:
            cookie = response.cookies.pop(name)
            renamed = origin.cookie_name(name, request.scheme)
            # A Morsel cannot be renamed once it is set: a new one takes its attributes.
            response.cookies[renamed] = cookie.value
            response.cookies[renamed].update(cookie)
            response.cookies[renamed]["secure"] = True
        return response

    return wrapped


class KeptSession(SessionMiddleware):
    """Django's, but sessions are given other keys, and an unknown key is left to the browser.

    A request that was under way while the session took another key would else take the new
    one out of the browser with its late answer.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> Any:
        is_kept = response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR  # else no cookie is set
        session = cast(SessionStore, request.session)
        if is_kept and session.accessed and session.is_outdated():
            session.rekey(at=now())
        # Django would delete the cookie here.
        if request.session.is_empty() and not request.session.modified:
            return response
        return super().process_response(request, response)


class CompressedAnswers(GZipMiddleware):
    """Compress what a page of this very origin asked for, and nothing else.

    The size of a compressed answer tells of its secrets to who sees it on the line and can have
    it asked again and again with guesses in it (BREACH, Gluck, Harris and Prado 2013). Another
    site cannot ask by itself: browsers say where a request comes from, and no page can say it
    for them. Who opens our pages with guesses in their address, or writes them as an agent, is
    slowed by the up to 100 random bytes that Django adds to each answer (Heal the
    Breach, Palacios and others, IEEE Access 2022): it takes hundreds of tries for one guess.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Leave alone what is no JSON, is streamed, or was asked from elsewhere."""
        is_ours = request.headers.get("Sec-Fetch-Site") == "same-origin"
        is_json = response.headers.get("Content-Type") == "application/json"
        if response.streaming or not (is_ours and is_json):
            return response
        return super().process_response(request, response)


def SecurityHeaders(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:  # noqa: N802
    """Add a Content-Security-Policy to all that Django answers; no cache keeps the API's."""

    def guarded(request: Any) -> Any:
        response = get_response(request)
        # A default: pages that are drawn for who is not signed in bring a stricter one.
        response.headers.setdefault("Content-Security-Policy", policy_of(request))
        response.headers.setdefault("X-Frame-Options", "DENY")
        if request.is_secure():
            # Also those that Django set, whose settings know nothing of this request's scheme.
            for cookie in response.cookies.values():
                cookie["secure"] = True
        # What one person read must not be shown to the next one at the same machine.
        if request.path.startswith("/api/"):
            response.headers.setdefault("Cache-Control", "no-store")
        if request.path in ASK_EACH_TIME:
            response.headers["Cache-Control"] = "no-cache"
        return response

    return guarded


def policy_of(request: Any) -> str:
    """Return what a page of ours may load and call: its own host, and nothing inline.

    Its sockets are named: Safari before 15.4 takes `'self'` for http and https alone. A proxy
    in front may speak https where it speaks http to us, so both kinds are.
    """
    hosts = {urlsplit(settings.PUBLIC_URL).netloc}
    with suppress(DisallowedHost):  # such a request is refused anyway
        hosts.add(request.get_host())
    # A policy has no way to write an IPv6 address: browsers would complain, and leave it out.
    named = sorted(host for host in hosts if host and not host.startswith("["))
    return POLICY.format(sockets="".join(f" ws://{host} wss://{host}" for host in named))
