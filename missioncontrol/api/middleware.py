"""Middleware around every view: browsers' names for our cookies, headers that keep a browser from
helping an attacker, and JSON for our own pages, gzipped to a tenth of its size.
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

# `data:` is for QR codes, which are part of the answer that contains their secret.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; connect-src 'self'{sockets}; img-src 'self' data:; object-src 'none'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
# Built files whose names stay while their content changes: no cache may keep them.
UNCACHED_PATHS = ("/sw.js", "/manifest.webmanifest", "/index.html")


def HostPrefixedCookies(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:  # noqa: N802
    """Translate our cookies: over HTTPS their names begin with `__Host-`, and only those count.

    A page of a neighbouring host may set `mc_session` for us too, but no `__Host-` cookie.
    """
    ours = f"{origin.HOST_PREFIX}{origin.COOKIE_PREFIX}"

    def with_prefixed_cookies(request: Any) -> Any:
        if not origin.is_over_https(request.scheme):
            return get_response(request)
        cookies = request.COOKIES.items()
        own = {
            name.removeprefix(origin.HOST_PREFIX): v for name, v in cookies if name.startswith(ours)
        }
        foreign = {
            name: v for name, v in cookies if not name.startswith((origin.COOKIE_PREFIX, ours))
        }
        request.COOKIES = foreign | own
        response = get_response(request)
        # Renamed on the way out as well, so that Django and its tests know one name for each.
        for name in [name for name in response.cookies if name.startswith(origin.COOKIE_PREFIX)]:
            cookie = response.cookies.pop(name)
            renamed = origin.cookie_name(name, request.scheme)
            # A Morsel cannot be renamed once it is set: copy its attributes to a new one.
            response.cookies[renamed] = cookie.value
            response.cookies[renamed].update(cookie)
            response.cookies[renamed]["secure"] = True
        return response

    return with_prefixed_cookies


class RotatingSessionMiddleware(SessionMiddleware):
    """Django's middleware, but it renews session keys, and leaves a cookie with an unknown key
    alone.

    Otherwise the late answer of a request that was under way while the session changed its key
    would delete the new key's cookie.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> Any:
        is_kept = response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR  # else no cookie is set
        session = cast(SessionStore, request.session)
        if is_kept and session.accessed and session.is_key_outdated():
            session.rotate_key(at=now())
        # Django would delete the cookie here.
        if request.session.is_empty() and not request.session.modified:
            return response
        return super().process_response(request, response)


class SameOriginGZipMiddleware(GZipMiddleware):
    """Compress only what a page of our own origin requested.

    The size of a compressed answer reveals its secrets to an attacker who sees it on the network
    and can have it requested again and again with guesses in it (BREACH, Gluck, Harris and Prado
    2013). Another site cannot do that by itself: browsers say where a request comes from, and no
    page can forge it. An attacker who opens our pages with guesses in their address, or writes
    guesses as an agent, is slowed by the up to 100 random bytes that Django adds to each answer
    (Heal the Breach, Palacios and others, IEEE Access 2022): one guess takes hundreds of attempts.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Leave alone what is not JSON, is streamed, or was requested from elsewhere."""
        is_ours = request.headers.get("Sec-Fetch-Site") == "same-origin"
        is_json = response.headers.get("Content-Type") == "application/json"
        if response.streaming or not (is_ours and is_json):
            return response
        return super().process_response(request, response)


def SecurityHeaders(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:  # noqa: N802
    """Add a Content-Security-Policy to all of Django's answers; the API's are never cached."""

    def with_headers(request: Any) -> Any:
        response = get_response(request)
        # A default: the pages for people who are not signed in set a stricter one.
        response.headers.setdefault("Content-Security-Policy", content_security_policy(request))
        response.headers.setdefault("X-Frame-Options", "DENY")
        if request.is_secure():
            # Django's own cookies too: its settings do not know this request's scheme.
            for cookie in response.cookies.values():
                cookie["secure"] = True
        # What one person read must not be shown to the next one at the same machine.
        if request.path.startswith("/api/"):
            response.headers.setdefault("Cache-Control", "no-store")
        if request.path in UNCACHED_PATHS:
            response.headers["Cache-Control"] = "no-cache"
        return response

    return with_headers


def content_security_policy(request: Any) -> str:
    """Return what a page of ours may load and call: its own host, and nothing inline.

    Its sockets are listed by name, because Safari before 15.4 applies `'self'` to http and https
    only. Both `ws` and `wss` are, because a proxy may speak https where it speaks http to us.
    """
    hosts = {urlsplit(settings.PUBLIC_URL).netloc}
    with suppress(DisallowedHost):  # such a request is refused anyway
        hosts.add(request.get_host())
    # A policy cannot express an IPv6 address: browsers would complain and ignore it.
    named = sorted(host for host in hosts if host and not host.startswith("["))
    sockets = "".join(f" ws://{host} wss://{host}" for host in named)
    return CONTENT_SECURITY_POLICY.format(sockets=sockets)
