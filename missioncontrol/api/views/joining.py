"""The page behind an invitation's link: who invites to what, and one button.

The link's secret stands behind its `#`. The page takes it from there into a form's body
and out of the address, so that no log, referrer or history keeps it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from missioncontrol import clock, origin
from missioncontrol.accounts import people
from missioncontrol.accounts.models import Invitation, Membership
from missioncontrol.accounts.pace import Pace
from missioncontrol.accounts.page_texts import JOINING_TEXTS, JoiningTexts
from missioncontrol.accounts.services import LOCAL_OWNER
from missioncontrol.api.views import signing_in
from missioncontrol.errors import Forbidden, InvalidRequest, TooManyRequests
from missioncontrol.projects import members

# Nobody guesses 256 bits: this holds back who keeps the server busy, not who mistypes.
TRIES = Pace("invitations tried", most=30, in_all=600)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Ask for a link, show what it offers, and let its bearer in."""
    if request.method != "POST":
        return _page(request)
    try:
        TRIES.check(origin.asked_from(request), at=clock.now())
    except TooManyRequests as error:
        context = {"problem": _texts(request).too_many}
        return _page(request, context, wait=error)
    # The whole link may be pasted: the secret stands behind its `#`.
    secret = request.POST.get("invitation", "").strip().rpartition("#")[2]
    offered = members.find_invitation(secret, at=clock.now())
    if offered is None:
        return _refuse(request)
    mine = Membership.objects.filter(project=offered.project_id, user=request.user.pk)
    # Before the link is used up: it is still good for whom it was meant for.
    if request.user.is_authenticated and mine.exists():
        return _refuse(request, is_member=True)
    if "accept" in request.POST:
        return _let_in(request, offered, secret)
    return _offer(request, offered, secret)


def _let_in(request: HttpRequest, offered: Invitation, secret: str) -> HttpResponse:
    user: Any = request.user if request.user.is_authenticated else None
    name = request.POST.get("name", "")
    try:
        joined = members.join(secret, user=user, name=name, at=clock.now())
    except InvalidRequest:
        return _offer(request, offered, secret, problem=_texts(request).name_refused, name=name)
    except Forbidden:
        return _refuse(request)
    response = HttpResponseRedirect(signing_in.HOME)
    # Who was signed in stays who they are, in the session they have.
    if joined.is_new:
        signing_in.keep_browser(response, signing_in.begin_session(request, joined.user))
    return response


def _offer(
    request: HttpRequest, offered: Invitation, secret: str, *, problem: str = "", name: str = ""
) -> HttpResponse:
    t, user = _texts(request), request.user
    # Whoever invited may be gone: the invitation outlives them.
    by = people.name_of(offered.invited_by) if offered.invited_by else ""
    by = "" if by == LOCAL_OWNER else by  # who never said what they are called
    says = t.invites if by else t.invites_nameless
    return _page(
        request,
        {
            "offered": offered,
            "secret": secret,
            "problem": problem,
            "name": name,
            "invites": says.format(by=by, project=offered.project.name),
            "role": t.roles[offered.role],
            "may": t.may[offered.role],
            "until": t.until.format(day=f"{offered.expires_at:%Y-%m-%d %H:%M}"),
            "you_are": t.you_are.format(name=people.name_of(user)) if user.is_authenticated else "",
        },
        status=HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK,
    )


def _refuse(request: HttpRequest, *, is_member: bool = False) -> HttpResponse:
    t = _texts(request)
    over = {"title": t.over_title, "text": t.over}
    already = {"title": t.already_title, "text": t.already}
    context = {"refused": already if is_member else over}
    return _page(request, context, status=HTTPStatus.CONFLICT if is_member else HTTPStatus.GONE)


def _page(
    request: HttpRequest,
    context: dict[str, Any] | None = None,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    wait: TooManyRequests | None = None,
) -> HttpResponse:
    language = signing_in.preferred_language(request)
    shared = {"t": JOINING_TEXTS[language], "language": language, **signing_in.PAIR}
    whole = shared | (context or {})
    return signing_in.page(request, "accounts/join.html", whole, status=status, wait=wait)


def _texts(request: HttpRequest) -> JoiningTexts:
    return JOINING_TEXTS[signing_in.preferred_language(request)]
