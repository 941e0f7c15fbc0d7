"""Links that show one run, card or week of costs: made by members, opened by whoever has one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from rest_framework.request import Request

from missioncontrol import origin
from missioncontrol.accounts import people
from missioncontrol.accounts.pace import Pace
from missioncontrol.accounts.services import LOCAL_OWNER
from missioncontrol.api import auth
from missioncontrol.api.auth import Person, Projects, Readable
from missioncontrol.api.rest import YEARS, Page, address_of, one_of, page_of
from missioncontrol.api.routing import Router
from missioncontrol.api.views import signing_in
from missioncontrol.api.views.devices import base_of_links
from missioncontrol.clock import now
from missioncontrol.errors import InvalidRequest, TooManyRequests
from missioncontrol.history import pictures, sharing
from missioncontrol.history.models import Share
from missioncontrol.history.sharing import SHARED_TEXTS, NewShare
from missioncontrol.wire.history import MadeShare, ShareRow
from missioncontrol.wire.rows import row_of

api = Router()

# Nobody guesses 256 bits: this holds back who keeps the server busy with drawing.
VISITS = Pace("shared links opened", most=120, in_all=600)
MADE = Pace("shared links made", most=30, in_all=300)


@api.get("shares/")
def shares_list(
    request: Request, projects: Projects, run: UUID | None, decision: UUID | None
) -> Page[ShareRow]:
    """List the links that show something now, newest first; their secrets are not kept."""
    found = sharing.shares(projects=projects, at=now())
    if run:
        found = found.filter(run=run)
    if decision:
        found = found.filter(decision=decision)
    return page_of(request, found, sharing.share_row)


# A link shows something to whoever has it: a token that leaked must make none.
@api.post("shares/", status=201, checks=(auth.check_by_hand,))
def shares_make(request: Request, asked: NewShare, person: Person) -> MadeShare:
    """Make a link; whoever has it sees that one thing, and can do nothing."""
    if asked.week and asked.week.year not in YEARS:
        raise InvalidRequest(
            f"week: expected a date such as 2026-11-21, got {asked.week}.", field="week"
        )
    project = auth.writable_project(request, asked.project)
    # Last: what is refused for another reason takes nothing of their pace.
    MADE.check(str(person.pk), at=now())
    made = sharing.share(project, asked, by=person, at=now())
    base, is_local = base_of_links(request)
    url = f"{base}/shared/{made.secret}/"
    return row_of(MadeShare, sharing.share_row(made.row), url=url, is_local=is_local)


@api.delete("shares/<uuid:share_id>/")
def shares_revoke(request: Request, share_id: UUID, projects: Readable, person: Person) -> None:
    """End a link at once."""
    # In whatever role: a viewer is told that they may not, a stranger that there is none.
    found = one_of(Share.objects.filter(project__in=projects), share_id, "The link")
    auth.check_may_act(request, found.project_id)
    sharing.revoke(share_id, projects=[found.project_id], by=person, at=now())


@signing_in.leave_no_trace
@require_safe
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    """Show what a link is about to whoever has it."""
    row, refused = _found(request, secret)
    if row is None:
        return refused
    t, story = SHARED_TEXTS[row.language], sharing.tell(row, at=now())
    by = people.name_of(row.made_by)
    # Who never said what they are called is "you", which whoever has the link is not.
    until = t.until_nameless if by == LOCAL_OWNER else t.until
    context = {
        "language": row.language,
        "t": t,
        "story": story,
        # A whole address: whoever draws a preview reads the page from elsewhere.
        "image": f"{address_of(request)}image.png",
        "until": until.format(by=by, day=row.expires_at.strftime(t.day)),
    }
    return signing_in.page(request, "history/shared.html", context)


@signing_in.leave_no_trace
@require_safe
def picture(request: HttpRequest, secret: str) -> HttpResponse:
    """Draw what a link is about."""
    row, refused = _found(request, secret)
    if row is None:
        return refused
    return HttpResponse(pictures.draw(sharing.tell(row, at=now())), content_type="image/png")


def _found(request: HttpRequest, secret: str) -> tuple[Share | None, HttpResponse]:
    """Return the link, or the page that says that there is none."""
    try:
        VISITS.check(origin.asked_from(request), at=now())
    except TooManyRequests as error:
        # Plain: drawing a page is what this holds back.
        refused = HttpResponse(status=HTTPStatus.TOO_MANY_REQUESTS, content_type="text/plain")
        refused["Retry-After"] = str(error.wait_s)
        return None, refused
    row = sharing.find(secret, at=now())
    if row is not None:
        return row, HttpResponse()
    language = signing_in.preferred_language(request)
    context: dict[str, Any] = {"language": language, "t": SHARED_TEXTS[language], "story": None}
    page = signing_in.page(request, "history/shared.html", context, status=HTTPStatus.NOT_FOUND)
    return None, page
