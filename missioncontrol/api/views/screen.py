"""The one page: the built front end, which fetches everything it shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation.trans_real import parse_accept_lang_header
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

NOT_BUILT = "The screens are not built. Run `npm ci && npm run build` in frontend/, or `up`."
# By the first part of an address; every other screen's name is that part itself.
SCREENS = {"": "now", "runs": "run"}
# What the screen of an address asks the API first, beside who is signed in. The page's code asks
# for the same (`firstAnswers`), and takes over what is named here: nothing of it stays unread.
ANSWERS = (
    (re.compile(r"/(decisions(/.*)?)?$"), "boards/"),
    (re.compile(r"/runs/(?P<id>[0-9a-f-]{36})(/.*)?$"), "runs/{id}/snapshot/"),
    (re.compile(r"/costs$"), "costs/account/?range=day&group_by=agent"),
)
# Where the screens themselves change over (`760px`): the other layout's files are not asked for.
LAYOUTS = (("", "(min-width: 760px)"), ("Phone", "(max-width: 759.98px)"))

Preloads = dict[str, dict[str, dict[str, list[str]]]]


# There is no secret in it that its size could tell of.
@gzip_page
@require_safe
def screen(request: HttpRequest) -> HttpResponse:
    """Answer the page for every address of the app."""
    index = settings.FRONTEND_DIST / "index.html"
    if not index.is_file():
        return HttpResponse(NOT_BUILT, status=503, content_type="text/plain")
    links = ""
    # The service worker fetches the page too, and shows that copy for every address.
    if request.headers.get("Sec-Fetch-Dest", "document") == "document":
        files = preload_links(request, preloads(settings.FRONTEND_DIST))
        links = "".join([*answer_links(request), *files])
    # As bytes: the page is UTF-8, whatever the machine's locale reads files as.
    page = index.read_bytes().replace(b"</head>", f"{links}</head>".encode(), 1)
    response = HttpResponse(page, content_type="text/html; charset=utf-8")
    # It names files of this build: a page of the last one would ask for some that are gone.
    response.headers["Cache-Control"] = "no-cache"
    return response


def preloads(built: Path) -> Preloads:
    """Return language -> screen -> the addresses of its `files` and of the `parts` at its top."""
    written = built / ".vite" / "preloads.json"
    return json.loads(written.read_bytes()) if written.is_file() else {}


def answer_links(request: HttpRequest) -> Iterator[str]:
    """Have the browser ask for a screen's first answer now, not when its code has run.

    As the code itself would: by the session, through the same address and its checks.
    """
    for address, answer in ANSWERS:
        if found := address.match(request.get_full_path()):
            href = escape(f"/api/v1/{answer.format(**found.groupdict())}")
            yield f'<link rel="preload" as="fetch" crossorigin href="{href}">'


def preload_links(request: HttpRequest, table: Preloads) -> Iterator[str]:
    """Have the browser ask for a screen's own files beside the page's, not after they ran.

    A guess: which language a device chose is known to the page alone, and files that were
    not needed cost a few kilobytes.
    """
    accepted = parse_accept_lang_header(request.headers.get("Accept-Language", ""))
    spoken = (language.partition("-")[0] for language, _ in accepted)
    screens = table.get(next((one for one in spoken if one in table), "en"), {})
    first = request.path.split("/")[1]
    name = SCREENS.get(first, first)
    layouts = LAYOUTS if f"{name}Phone" in screens else (("", "all"),)
    for suffix, media in layouts:
        of_screen = screens.get(name + suffix, {"files": [], "parts": []})
        # The parts last: without the files nothing is drawn.
        for address in (*of_screen["files"], *of_screen["parts"]):
            kind = 'preload" as="style' if address.endswith(".css") else "modulepreload"
            # `crossorigin`, as modules are asked for: else a browser would fetch each twice.
            yield f'<link rel="{kind}" media="{media}" crossorigin href="{address}">'
