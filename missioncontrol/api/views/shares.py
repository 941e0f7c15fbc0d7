"""Links that show one run, card or week of costs: made by members, opened by whoever has one.

Their preview image is drawn without a browser: 1200 by 630, the usual size.
"""

from __future__ import annotations

import io
from functools import cache
from http import HTTPStatus
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from PIL import Image, ImageDraw, ImageFont
from rest_framework.request import Request

from missioncontrol import origin
from missioncontrol.accounts import people
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.accounts.services import LOCAL_OWNER
from missioncontrol.api import auth
from missioncontrol.api.auth import Person, Projects, ReadableProjects
from missioncontrol.api.problems import allow_methods
from missioncontrol.api.rest import YEARS, Page, address_of, get_or_404, page_of
from missioncontrol.api.routing import Router
from missioncontrol.api.views.devices import link_base
from missioncontrol.api.views.pages import PublicPage, keep_link_secret
from missioncontrol.clock import now
from missioncontrol.errors import InvalidRequest, TooManyRequests
from missioncontrol.history import sharing
from missioncontrol.history.models import Share
from missioncontrol.history.sharing import NewShare, SharedContent
from missioncontrol.runs.selectors import non_empty
from missioncontrol.translation import TextTable
from missioncontrol.wire.history import MadeShare, ShareRow
from missioncontrol.wire.rows import row_of

api = Router()

# Nobody guesses 256 bits: this stops callers who would keep the server busy with drawing.
VISIT_LIMIT = RateLimit("shared links opened", per_caller=120, total=600)
CREATION_LIMIT = RateLimit("shared links made", per_caller=30, total=300)
SHARED_PAGE = PublicPage(template="history/shared.html", texts="shared")


@api.get("shares/")
def shares_list(
    request: Request, projects: Projects, run: UUID | None, decision: UUID | None
) -> Page[ShareRow]:
    """List the active links, newest first, without their secrets."""
    found = sharing.open_shares(projects=projects, at=now())
    filters = non_empty(run=run, decision=decision)
    return page_of(request, found.filter(**filters), sharing.share_row)


# A link shows something to whoever has it, so a leaked token must not make one.
@api.post("shares/", status=201, checks=(auth.check_signed_in_session,))
def shares_make(request: Request, body: NewShare, person: Person) -> MadeShare:
    """Make a read-only link to one run, card or week; anyone who has it can open it."""
    if body.week and body.week.year not in YEARS:
        raise InvalidRequest(
            f"week: expected a date such as 2026-11-21, got {body.week}.", field="week"
        )
    project = auth.resolve_writable_project(request, body.project)
    # Last: what is refused for another reason does not count against their limit.
    CREATION_LIMIT.acquire(str(person.pk), at=now())
    made = sharing.create_share(project, body, by=person, at=now())
    base, is_local = link_base(request)
    url = f"{base}/shared/{made.secret}/"
    return row_of(MadeShare, sharing.share_row(made.row), url=url, is_local=is_local)


@api.delete("shares/<uuid:share_id>/")
def shares_revoke(
    request: Request, share_id: UUID, projects: ReadableProjects, person: Person
) -> None:
    """Revoke a link at once."""
    # In any role: a viewer is told that they may not, a stranger that it does not exist.
    found = get_or_404(Share.objects.filter(project__in=projects), share_id, "The link")
    auth.check_may_act(request, found.project_id)
    sharing.revoke_share(share_id, projects=[found.project_id], by=person, at=now())


@keep_link_secret
@allow_methods("GET", "HEAD")
def shared_page(request: HttpRequest, secret: str) -> HttpResponse:
    """Show what a link is about to whoever has it."""
    row, refused = _find_share(request, secret)
    if row is None:
        return refused
    t, shown = TextTable.of("shared", row.language), sharing.shared_content(row, at=now())
    by = people.name_of(row.made_by)
    # A person who never gave a name is called "you", which would mean the reader of the link.
    until = t.until_nameless if by == LOCAL_OWNER else t.until
    return SHARED_PAGE.render(
        request,
        language=row.language,
        t=t,
        shown=shown,
        # An absolute address, because whoever draws a preview reads the page from elsewhere.
        image=f"{address_of(request)}image.png",
        until=until.format(by=by, day=row.expires_at.strftime(t.day)),
    )


@keep_link_secret
@allow_methods("GET", "HEAD")
def preview_image(request: HttpRequest, secret: str) -> HttpResponse:
    """Draw what a link is about."""
    row, refused = _find_share(request, secret)
    if row is None:
        return refused
    return HttpResponse(
        draw_preview(sharing.shared_content(row, at=now())), content_type="image/png"
    )


def _find_share(request: HttpRequest, secret: str) -> tuple[Share | None, HttpResponse]:
    """Return the link, or the response to answer with if there is none."""
    try:
        VISIT_LIMIT.acquire(origin.client_address_of(request), at=now())
    except TooManyRequests as error:
        # Plain, because drawing a page is what this limits.
        refused = HttpResponse(status=HTTPStatus.TOO_MANY_REQUESTS, content_type="text/plain")
        refused["Retry-After"] = str(error.wait_s)
        return None, refused
    row = sharing.find_share(secret, at=now())
    if row is not None:
        return row, HttpResponse()
    return None, SHARED_PAGE.render(request, shown=None, status=HTTPStatus.NOT_FOUND)


# The size that previews show completely (Open Graph's 1.91 to 1).
SIZE = WIDTH, HEIGHT = 1200, 630
MARGIN = 72
BACKGROUND, INK, INK_2, INK_3 = "#0c0d0f", "#f2f3f5", "#b0b4bd", "#8a8f9a"
# The colours of the dark theme.
BARS = {"new": "#7d8694", "same": "#4c525d", "alarm": "#f5b83d", "answered": INK_2}
BARS_FOOT, DAYS_FOOT = 526, 488
TURNS_HEIGHT, DAYS_HEIGHT = 96, 150
MAX_LINES = 2

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def draw_preview(shown: SharedContent) -> bytes:
    """Draw what a link shows.

    Characters that the bundled font lacks are drawn as its empty box.
    """
    picture = Image.new("RGB", SIZE, BACKGROUND)
    pen = ImageDraw.Draw(picture)
    pen.text(
        (MARGIN, 64),
        _truncate(pen, shown.above, _font(30, 500), WIDTH - 2 * MARGIN),
        INK_2,
        _font(30, 500),
    )
    y = 116
    for line in _wrap_lines(pen, shown.title, _font(58, 650), MAX_LINES + (not shown.text)):
        pen.text((MARGIN, y), line, INK, _font(58, 650))
        y += 70
    for line in _wrap_lines(pen, shown.text, _font(30, 400), MAX_LINES):
        pen.text((MARGIN, y + 14), line, INK_2, _font(30, 400))
        y += 40
    if shown.bars:
        foot, tall = (DAYS_FOOT, DAYS_HEIGHT) if shown.has_days else (BARS_FOOT, TURNS_HEIGHT)
        above = 30 if shown.has_days else 0
        pen.text((MARGIN, foot - tall - above - 42), shown.of_bars, INK_3, _font(22, 450))
        slot_width = (WIDTH - 2 * MARGIN) / shown.slots
        for place, bar in enumerate(shown.bars):
            left, top = MARGIN + place * slot_width, foot - round(bar.percent * tall / 100)
            box = (left, top, left + slot_width - 6, foot)
            pen.rounded_rectangle(box, radius=3, fill=BARS[bar.kind])
            middle = left + (slot_width - 6) / 2
            pen.text((middle, top - 30), bar.spent, INK_2, _font(22, 500), anchor="ma")
            pen.text((middle, foot + 8), bar.day, INK_3, _font(22, 450), anchor="ma")
    x = float(MARGIN)
    for name, value in shown.figures:
        pen.text((x, 556), value, INK, _font(34, 620))
        x += pen.textlength(value, _font(34, 620)) + 12
        pen.text((x, 565), name, INK_3, _font(25, 450))
        x += pen.textlength(name, _font(25, 450)) + 44
    mark, face = "Mission Control", _font(25, 600)
    pen.text((WIDTH - MARGIN - pen.textlength(mark, face), 565), mark, INK_2, face)
    png = io.BytesIO()
    picture.save(png, "PNG")
    return png.getvalue()


def _wrap_lines(pen: ImageDraw.ImageDraw, text: str, font: Font, most: int) -> list[str]:
    """Break a text into lines, and cut what does not fit into the last one."""
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < most:
        line = words.pop(0)
        while words and pen.textlength(f"{line} {words[0]}", font) <= WIDTH - 2 * MARGIN:
            line = f"{line} {words.pop(0)}"
        lines.append(line)
    if lines and words:
        lines[-1] = f"{lines[-1]} {' '.join(words)}"
    return [_truncate(pen, line, font, WIDTH - 2 * MARGIN) for line in lines]


def _truncate(pen: ImageDraw.ImageDraw, text: str, font: Font, max_width: float) -> str:
    text = " ".join(text[:400].split())  # Pillow measures one line only
    if pen.textlength(text, font) <= max_width:
        return text
    # Character by character, because widths differ and a text has at most 400.
    while text and pen.textlength(f"{text}…", font) > max_width:
        text = text[:-1]
    return f"{text.rstrip()}…"


@cache
def _font(size: int, weight: int) -> Font:
    """Return the screens' own font, or Pillow's default until they are built."""
    # Its name contains a hash of its content.
    bundled = sorted(Path(settings.FRONTEND_DIST, "assets").glob("inter-latin-wght-normal*.woff2"))
    if not bundled:
        return ImageFont.load_default(size)
    font = ImageFont.truetype(bundled[0], size)
    font.set_variation_by_axes([weight])
    return font
