"""Pages drawn by the server, for people who are not signed in."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from missioncontrol.api.problems import View
from missioncontrol.errors import TooManyRequests
from missioncontrol.translation import TextTable, language_of

CONNECT_SOURCE = "connect-src 'self'; "


def keep_link_secret(view: View) -> View:
    """Decorate a view so that its link stays out of caches, referrers and frames."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["Referrer-Policy"] = "no-referrer"
        response["Cache-Control"] = "no-store"
        # A link that was published must not be found by a search engine.
        response["X-Robots-Tag"] = "noindex"
        return response

    return wrapped


def preferred_language(request: HttpRequest) -> str:
    """Return the language this browser prefers."""
    first = request.headers.get("Accept-Language", "").partition(",")[0]
    return language_of(first.partition(";")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPage:
    """One of these pages: it runs only scripts with its nonce, and loads our fonts."""

    template: str
    texts: str
    """The table of what it says."""
    referrer: str = "no-referrer"
    """A form with a CSRF token needs its Origin, which browsers hide under `no-referrer`."""
    calls: bool = False
    """Whether its script may call us."""

    def texts_for(self, request: HttpRequest) -> TextTable:
        """Return its texts in the language this browser prefers."""
        return TextTable.of(self.texts, preferred_language(request))

    def render(
        self,
        request: HttpRequest,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        wait: TooManyRequests | None = None,
        **context: object,
    ) -> HttpResponse:
        """Draw it; with `wait` it is refused with 429, and says for how long.

        `context`: what the template shows; its texts are `t`, unless `context` has its own.
        """
        nonce = secrets.token_urlsafe(16)
        whole = {
            "nonce": nonce,
            "manage": manage_command(),
            "t": self.texts_for(request),
            "language": preferred_language(request),
            "referrer": self.referrer,
            "sans": bundled_font("inter"),
            "mono": bundled_font("jetbrains-mono"),
            **context,
        }
        response = render(request, self.template, whole, status=status)
        if wait:
            response.status_code = HTTPStatus.TOO_MANY_REQUESTS
            response["Retry-After"] = str(wait.wait_s)
        response["Content-Security-Policy"] = (
            f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
            "font-src 'self'; "
            f"form-action 'self'; {CONNECT_SOURCE if self.calls else ''}"
            "frame-ancestors 'none'; base-uri 'none'"
        )
        return response


def manage_command() -> str:
    """Return how commands are typed: in a checkout, or with an installed wheel."""
    is_checkout = (settings.BASE_DIR / "manage.py").is_file()
    return "uv run --no-dev manage.py" if is_checkout else "missioncontrol"


def bundled_font(name: str) -> str:
    """Return the address of a font the front end was built with; empty if it is not built."""
    files = (settings.FRONTEND_DIST / "assets").glob(f"{name}-latin-wght-normal-*.woff2")
    return next((f"/assets/{file.name}" for file in files), "")
