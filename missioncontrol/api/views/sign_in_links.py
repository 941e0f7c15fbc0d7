"""Sign in by a link, a pairing code or an invitation to a project, and sign out.

The other methods are in `sign_in_methods`. The page of an invitation says who invites to what, and
has one button. The link's secret follows its `#`. The page moves it from there into a form's body
and removes it from the address, so that no log, referrer or history keeps it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from missioncontrol import origin
from missioncontrol.accounts import credentials, people, services, sessions
from missioncontrol.accounts.models import Browser, Invitation, LoginLink, Membership
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.accounts.services import LOCAL_OWNER, find_login_link, record_link_browser
from missioncontrol.api import auth
from missioncontrol.api.problems import allow_methods
from missioncontrol.api.views.pages import (
    PublicPage,
    keep_link_secret,
    manage_command,
    preferred_language,
)
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, InvalidRequest, TooManyRequests
from missioncontrol.projects import access, members
from missioncontrol.translation import TextTable

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"
HOME_PATH = "/"
DEVICES_PATH = "/settings/devices"
# Nobody guesses 58 bits at any rate: the total limit only protects the server, and is so high that
# a guesser with a few addresses cannot lock everybody out.
PAIRING_CODE_LIMIT = RateLimit("pairing codes", per_caller=10, total=6_000)
# Nobody guesses 256 bits: this stops callers who keep the server busy, not those who mistype.
INVITATION_LIMIT = RateLimit("invitations tried", per_caller=30, total=600)
SCRIPT_CSRF_COOKIE = "csrftoken"
SIGN_IN_PAGE = PublicPage(template="accounts/sign_in.html", texts="link")
HOW_TO_PAGE = PublicPage(template="accounts/how_to_sign_in.html", texts="link")
PAIR_PAGE = PublicPage(template="accounts/pair.html", texts="link", referrer="same-origin")
JOIN_PAGE = PublicPage(template="accounts/join.html", texts="joining", referrer="same-origin")
PROXY_HEADERS = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_VIA")


# No CSRF token: the secret in the address is the authority, and under
# `no-referrer` browsers send `Origin: null`, which Django's check refuses.
@keep_link_secret
@allow_methods("GET", "HEAD", "POST")
@csrf_exempt
def sign_in_by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Show one button; its POST (or a trusted GET) uses the link up."""
    offered = find_login_link(secret=secret, at=now())
    if offered is None:
        return _link_expired_page(request)
    # Messengers and mail scanners fetch a link to preview it: a GET may use one up only if it comes
    # from this machine, with a link that was made for that.
    is_trusted = request.method == "GET" and is_from_this_machine(request)
    if request.method == "POST" or (is_trusted and offered.on_get):
        # No second factor is asked for: whoever prints a link can read the database, and whoever
        # offers one to a phone is signed in.
        return _redeem_link(request, offered) or _link_expired_page(request)
    return SIGN_IN_PAGE.render(request, is_pairing=offered.code_digest is not None)


@keep_link_secret
@allow_methods("GET", "HEAD")
def how_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Tell a person without a session where to get their link."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(HOME_PATH)
    return _how_to_page(request, fresh=True)


@never_cache
@allow_methods("GET", "HEAD", "POST")
def sign_in_by_code(request: HttpRequest) -> HttpResponse:
    """Accept the code that *Pair a phone* shows, where there is no camera."""
    if request.method != "POST":
        return PAIR_PAGE.render(request)
    t = PAIR_PAGE.texts_for(request)
    try:
        PAIRING_CODE_LIMIT.acquire(origin.client_address_of(request), at=now())
    except TooManyRequests as error:
        return PAIR_PAGE.render(request, problem=t.too_many, wait=error)
    offered = services.find_link_by_code(code=request.POST.get("code", ""), at=now())
    if offered and (entered := _redeem_link(request, offered)):
        return entered
    return PAIR_PAGE.render(request, problem=t.unknown, status=HTTPStatus.GONE)


# Only by POST: a link or an image on another site must not sign anybody out.
@allow_methods("POST")
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this session; its browser is forgotten and receives no more pushes."""
    here = request.session.get(sessions.BROWSER_ID)
    if here and (browser := Browser.objects.select_related("user").filter(pk=here).first()):
        access.sign_out_browser(browser, by=auth.name_of(request), at=now(), is_here=True)
    # After it was recorded: from here on nobody is signed in whose name could be recorded.
    logout(request)
    return HttpResponseRedirect("/login/")


def is_from_this_machine(request: HttpRequest) -> bool:
    """Say whether the peer itself is loopback, not a proxy on behalf of another."""
    # A proxy on this machine connects from loopback too, for whoever is behind it.
    if any(header in request.META for header in PROXY_HEADERS):
        return False
    peer = origin.read_address(request.META.get("REMOTE_ADDR", ""))
    return peer is not None and peer.is_loopback


# In one transaction: the desktop page asks every second, and takes a used link without a browser
# for a phone that came and went. Only for a link that was found: SQLite has one writer at a time,
# and anybody can make up a link.
@transaction.atomic
def _redeem_link(request: HttpRequest, link: LoginLink) -> HttpResponse | None:
    """Sign in by a link and use it up; None if it was used before.

    A phone that could receive pushes is then shown where to allow them.
    """
    if not services.redeem_link(link, at=now()):
        return None
    browser = begin_session(request, link.user)
    # Saved now, not after the commit as the middleware does: until it is saved nobody can end it,
    # and it is lost if this process dies.
    request.session.save()
    record_link_browser(link, browser)
    access.record_sign_in(browser, is_paired=link.code_digest is not None, at=now())
    # Browsers allow notifications only on secure pages.
    is_secure = request.is_secure() or settings.PUBLIC_URL.startswith("https://")
    takes_none = browser.kind == "phone" and not hasattr(browser, "device")
    is_next = link.code_digest is not None or (is_secure and takes_none)
    response = HttpResponseRedirect(DEVICES_PATH if is_next else HOME_PATH)
    set_browser_cookie(response, browser)
    if link.on_get:
        # Only `up --json` makes such links, for a script. The page itself reads `mc_csrf`.
        response.set_cookie(
            SCRIPT_CSRF_COOKIE,
            get_token(request),
            samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
        )
    return response


def begin_session(request: HttpRequest, user: User) -> Browser:
    """Sign a person in; the browser's previous user gets nothing in it any more."""
    # The cookie identifies the browser when its session has ended, so that it is not a new one each
    # time.
    kept = request.get_signed_cookie(
        sessions.BROWSER_COOKIE, default=None, max_age=sessions.BROWSER_COOKIE_AGE
    )
    before = request.session.get(sessions.BROWSER_ID) or (str(kept) if kept else None)
    login(request, user, backend=MODEL_BACKEND)
    credentials.record_proof(request.session, at=now())
    agent = request.headers.get("User-Agent", "")
    return sessions.enter_browser(request.session, before, user=user, agent=agent, at=now())


def set_browser_cookie(response: HttpResponse, browser: Browser) -> None:
    """Have a browser keep a cookie that identifies it when somebody signs in again."""
    response.set_signed_cookie(
        sessions.BROWSER_COOKIE,
        str(browser.id),
        max_age=sessions.BROWSER_COOKIE_AGE,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def _link_expired_page(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return HttpResponseRedirect(HOME_PATH)
    return _how_to_page(request, fresh=False, status=HTTPStatus.GONE)


def _how_to_page(
    request: HttpRequest, *, fresh: bool, status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    each_start = HOW_TO_PAGE.texts_for(request).each_start.format(up=f"{manage_command()} up")
    return HOW_TO_PAGE.render(request, fresh=fresh, each_start=each_start, status=status)


@never_cache
@allow_methods("GET", "HEAD", "POST")
def join(request: HttpRequest) -> HttpResponse:
    """Ask for a link, show what it offers, and admit its bearer."""
    if request.method != "POST":
        return JOIN_PAGE.render(request)
    try:
        INVITATION_LIMIT.acquire(origin.client_address_of(request), at=now())
    except TooManyRequests as error:
        return JOIN_PAGE.render(request, problem=JOIN_PAGE.texts_for(request).too_many, wait=error)
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
        problem = JOIN_PAGE.texts_for(request).name_refused
        return _invitation_page(request, invitation, secret, problem=problem, name=name)
    except Forbidden:
        return _refusal_page(request)
    response = HttpResponseRedirect(HOME_PATH)
    # A person who was signed in stays signed in, with the same session.
    if user is None:
        set_browser_cookie(response, begin_session(request, joined))
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
    return JOIN_PAGE.render(
        request,
        offered=invitation,
        secret=secret,
        problem=problem,
        name=name,
        invites=says.format(by=by, project=invitation.project.name),
        role=t.roles[invitation.role],
        may=t.may[invitation.role],
        until=t.until.format(day=f"{invitation.expires_at:%Y-%m-%d %H:%M}"),
        you_are=t.you_are.format(name=people.name_of(user)) if user.is_authenticated else "",
        status=HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK,
    )


def _refusal_page(request: HttpRequest, *, is_member: bool = False) -> HttpResponse:
    t = JOIN_PAGE.texts_for(request)
    over = {"title": t.over_title, "text": t.over}
    already = {"title": t.already_title, "text": t.already}
    status = HTTPStatus.CONFLICT if is_member else HTTPStatus.GONE
    return JOIN_PAGE.render(request, refused=already if is_member else over, status=status)
