"""The page of the app, which fetches everything it shows, and pages for people not signed in."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import wraps
from html import escape
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation.trans_real import parse_accept_lang_header
from django.views.decorators.gzip import gzip_page

from missioncontrol.api.problems import View, allow_methods
from missioncontrol.errors import TooManyRequests
from missioncontrol.translation import TextTable, language_of

CONNECT_SOURCE = "connect-src 'self'; "
NOT_BUILT = "The screens are not built. Run `npm ci && npm run build` in frontend/, or `up`."
# By the first part of the path; every other screen is named by that part itself.
SCREEN_OF_PATH = {"": "now", "runs": "run"}
RUN_ID = re.compile(r"[0-9a-f-]{36}")
# The same breakpoints as in the screens (`media.svelte.ts`): files of the other layout are not
# requested.
PHONE_MEDIA = "(max-width: 47.499em), (max-width: 62.499em) and (max-height: 29.999em)"
DESKTOP_MEDIA = "(min-width: 47.5em) and (min-height: 30em), (min-width: 62.5em)"
LAYOUTS = (("", DESKTOP_MEDIA), ("Phone", PHONE_MEDIA))

Preloads = dict[str, dict[str, dict[str, list[str]]]]
"""Language -> screen -> the addresses of its `files` and of the `parts` at its top."""
Answers = dict[str, str]
"""Screen -> the address that its code requests first; the code takes the preloaded answer."""


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


# The page contains no secret that its compressed size could reveal.
@gzip_page
@allow_methods("GET", "HEAD")
def screen(request: HttpRequest) -> HttpResponse:
    """Answer the page, for every address of the app."""
    index = settings.FRONTEND_DIST / "index.html"
    if not index.is_file():
        return HttpResponse(NOT_BUILT, status=503, content_type="text/plain")
    links = ""
    # The service worker fetches the page too, and shows that copy for every address.
    if request.headers.get("Sec-Fetch-Dest", "document") == "document":
        answers = answer_preload_links(request, read_build_table("answers"))
        links = "".join([*answers, *file_preload_links(request, read_build_table("preloads"))])
    # As bytes: the page is UTF-8, whatever the machine's locale is.
    page = index.read_bytes().replace(b"</head>", f"{links}</head>".encode(), 1)
    response = HttpResponse(page, content_type="text/html; charset=utf-8")
    # The page names files of this build: an old copy would request files that are gone.
    response.headers["Cache-Control"] = "no-cache"
    return response


def read_build_table(name: str) -> Any:
    """Return a table that was built with the screens; an empty one if there is none."""
    table = settings.FRONTEND_DIST / ".vite" / f"{name}.json"
    return json.loads(table.read_bytes()) if table.is_file() else {}


def screen_and_id(request: HttpRequest) -> tuple[str, str]:
    """Return the screen that the path names, and the id in it, or ""."""
    first, _, rest = request.path.removeprefix("/").partition("/")
    return SCREEN_OF_PATH.get(first, first), rest.partition("/")[0]


def answer_preload_links(request: HttpRequest, table: Answers) -> Iterator[str]:
    """Have the browser request a screen's first answer now, before its code has run.

    It does so as the code itself would: with the session, through the same address and its checks.
    """
    name, thing = screen_and_id(request)
    answer = table.get(name)
    # An address with a query is read by the page alone.
    if answer is None or request.META["QUERY_STRING"]:
        return
    if "{id}" not in answer or RUN_ID.fullmatch(thing):
        href = escape(f"/api/v1/{answer.format(id=thing)}")
        yield f'<link rel="preload" as="fetch" crossorigin href="{href}">'


def file_preload_links(request: HttpRequest, table: Preloads) -> Iterator[str]:
    """Have the browser request a screen's own files together with the page's, not after they ran.

    This is a guess: only the page knows which language a device chose, and files that were
    not needed cost a few kilobytes.
    """
    accepted = parse_accept_lang_header(request.headers.get("Accept-Language", ""))
    spoken = (language.partition("-")[0] for language, _ in accepted)
    screens = table.get(next((one for one in spoken if one in table), "en"), {})
    name, _ = screen_and_id(request)
    layouts = LAYOUTS if f"{name}Phone" in screens else (("", "all"),)
    for suffix, media in layouts:
        of_screen = screens.get(name + suffix, {"files": [], "parts": []})
        # The parts last: nothing is drawn without the files.
        for address in (*of_screen["files"], *of_screen["parts"]):
            kind = 'preload" as="style' if address.endswith(".css") else "modulepreload"
            # `crossorigin`, as for modules: otherwise a browser would fetch each twice.
            yield f'<link rel="{kind}" media="{media}" crossorigin href="{address}">'
