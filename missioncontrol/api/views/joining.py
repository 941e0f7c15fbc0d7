"""Follow an invitation to a project.

Its page says who invites to what, and has one button. The link's secret follows
its `#`. The page moves it from there into a form's body and removes it from the address, so that no
log, referrer or history keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.cache import never_cache

from missioncontrol import origin
from missioncontrol.accounts import people
from missioncontrol.accounts.models import Invitation, Membership
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.accounts.services import LOCAL_OWNER
from missioncontrol.api.problems import allow_methods
from missioncontrol.api.views.pages import (
    SAME_ORIGIN_REFERRER,
    preferred_language,
    render_page,
    texts_for,
)
from missioncontrol.api.views.sign_in_links import HOME_PATH, begin_session, set_browser_cookie
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, InvalidRequest, TooManyRequests
from missioncontrol.projects import members
from missioncontrol.translation import TextTable

# Nobody guesses 256 bits: this stops callers who keep the server busy, not those who mistype.
INVITATION_LIMIT = RateLimit("invitations tried", per_caller=30, total=600)


@never_cache
@allow_methods("GET", "HEAD", "POST")
def join(request: HttpRequest) -> HttpResponse:
    """Ask for a link, show what it offers, and admit its bearer."""
    if request.method != "POST":
        return _join_page(request)
    try:
        INVITATION_LIMIT.acquire(origin.client_address_of(request), at=now())
    except TooManyRequests as error:
        context = {"problem": texts_for(request, "joining").too_many}
        return _join_page(request, context, wait=error)
    # The whole link may be pasted: the secret follows its `#`.
    secret = request.POST.get("invitation", "").strip().rpartition("#")[2]
    invitation = members.find_invitation(secret, at=now())
    if invitation is None:
        return _refusal_page(request)
    mine = Membership.objects.filter(project=invitation.project_id, user=request.user.pk)
    # Before the link is used up, so that the person it was meant for can still use it.
    if request.user.is_authenticated and mine.exists():
        return _refusal_page(request, is_member=True)
    if "accept" in request.POST:
        return _accept_invitation(request, invitation, secret)
    return _invitation_page(request, invitation, secret)


def _accept_invitation(request: HttpRequest, invitation: Invitation, secret: str) -> HttpResponse:
    user: Any = request.user if request.user.is_authenticated else None
    name = request.POST.get("name", "")
    try:
        joined = members.join_project(secret, user=user, name=name, at=now())
    except InvalidRequest:
        problem = texts_for(request, "joining").name_refused
        return _invitation_page(request, invitation, secret, problem=problem, name=name)
    except Forbidden:
        return _refusal_page(request)
    response = HttpResponseRedirect(HOME_PATH)
    # A person who was signed in stays signed in, with the same session.
    if joined.is_new:
        set_browser_cookie(response, begin_session(request, joined.user))
    return response


class JoiningTexts(TextTable):
    roles: dict[str, str]
    may: dict[str, str]


def _invitation_page(
    request: HttpRequest, invitation: Invitation, secret: str, *, problem: str = "", name: str = ""
) -> HttpResponse:
    t, user = JoiningTexts.of("joining", preferred_language(request)), request.user
    # The account of whoever invited may be gone: the invitation outlives it.
    by = people.name_of(invitation.invited_by) if invitation.invited_by else ""
    by = "" if by == LOCAL_OWNER else by  # a person who never gave a name
    says = t.invites if by else t.invites_nameless
    return _join_page(
        request,
        {
            "offered": invitation,
            "secret": secret,
            "problem": problem,
            "name": name,
            "invites": says.format(by=by, project=invitation.project.name),
            "role": t.roles[invitation.role],
            "may": t.may[invitation.role],
            "until": t.until.format(day=f"{invitation.expires_at:%Y-%m-%d %H:%M}"),
            "you_are": t.you_are.format(name=people.name_of(user)) if user.is_authenticated else "",
        },
        status=HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK,
    )


def _refusal_page(request: HttpRequest, *, is_member: bool = False) -> HttpResponse:
    t = texts_for(request, "joining")
    over = {"title": t.over_title, "text": t.over}
    already = {"title": t.already_title, "text": t.already}
    context = {"refused": already if is_member else over}
    status = HTTPStatus.CONFLICT if is_member else HTTPStatus.GONE
    return _join_page(request, context, status=status)


def _join_page(
    request: HttpRequest, context: Mapping[str, object] = MappingProxyType({}), **answer: Any
) -> HttpResponse:
    return render_page(
        request, "accounts/join.html", "joining", {**SAME_ORIGIN_REFERRER, **context}, **answer
    )
