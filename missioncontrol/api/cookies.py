"""Cookies under the names browsers have for them; views know one name for each."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse

from missioncontrol import origin
from missioncontrol.accounts.session_store import SessionStore
from missioncontrol.clock import now


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
