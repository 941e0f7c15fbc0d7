"""The one page: the built front end, which fetches everything it shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation.trans_real import parse_accept_lang_header
from django.views.decorators.gzip import gzip_page

from missioncontrol.api.problems import allow_methods

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
