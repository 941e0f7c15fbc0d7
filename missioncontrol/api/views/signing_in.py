"""Sign in by a link or a code, sign out, follow an invitation; the other ways are in `ways_in`.

An invitation's page says who invites to what, and has one button. The link's secret follows
its `#`. The page moves it from there into a form's body and removes it from the address, so that no
log, referrer or history keeps it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import wraps
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from missioncontrol import origin
from missioncontrol.accounts import credentials, people, services, sessions
from missioncontrol.accounts.models import Browser, Invitation, LoginLink, Membership
from missioncontrol.accounts.page_texts import JOINING_TEXTS, LINK_TEXTS
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.accounts.services import LOCAL_OWNER, find_login_link, record_link_browser
from missioncontrol.api import auth
from missioncontrol.api.problems import View, allow_methods
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, InvalidRequest, TooManyRequests
from missioncontrol.notify.texts import language_of
from missioncontrol.projects import access, members

BACKEND = "django.contrib.auth.backends.ModelBackend"
HOME = "/"
PAIRED = "/settings/devices"
# Nobody guesses 58 bits at any pace: the total limit only protects the server, and is so high that
# a guesser with a few addresses cannot lock everybody out.
CODES = RateLimit("pairing codes", per_caller=10, total=6_000)
# A form with a CSRF token needs its Origin, which browsers hide under `no-referrer`.
PAIR = {"referrer": "same-origin"}
SCRIPTS_CSRF = "csrftoken"
CALLS = "connect-src 'self'; "
FORWARDED = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_VIA")

T = TypeVar("T")


def leave_no_trace(view: View) -> View:
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


# No CSRF token: the secret in the address is the authority, and under
# `no-referrer` browsers send `Origin: null`, which Django's check refuses.
@leave_no_trace
@allow_methods("GET", "HEAD", "POST")
@csrf_exempt
def sign_in(request: HttpRequest, secret: str) -> HttpResponse:
    """Show one button; its POST (or a trusted GET) uses the link up."""
    offered = find_login_link(secret=secret, at=now())
    if offered is None:
        return _refuse(request)
    # Messengers and mail scanners fetch a link to preview it: a GET may use one up only if it comes
    # from this machine, with a link that was made for that.
    is_trusted = request.method == "GET" and is_from_this_machine(request)
    if request.method == "POST" or (is_trusted and offered.on_get):
        # No second factor is asked for: whoever prints a link can read the database, and whoever
        # offers one to a phone is signed in.
        return _enter_once(request, offered) or _refuse(request)
    context = {"is_pairing": offered.code_digest is not None}
    return page(request, "accounts/sign_in.html", LINK_TEXTS, context)


@leave_no_trace
@allow_methods("GET", "HEAD")
def how_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Tell a person without a session where to get their link."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(HOME)
    return _how_to(request, fresh=True)


@never_cache
@allow_methods("GET", "HEAD", "POST")
def pair(request: HttpRequest) -> HttpResponse:
    """Accept the code that *Pair a phone* shows, where there is no camera."""
    if request.method != "POST":
        return page(request, "accounts/pair.html", LINK_TEXTS, PAIR)
    try:
        CODES.acquire(origin.client_address_of(request), at=now())
    except TooManyRequests as error:
        context = {**PAIR, "problem": texts_for(request, LINK_TEXTS).too_many}
        return page(request, "accounts/pair.html", LINK_TEXTS, context, wait=error)
    offered = services.find_link_by_code(code=request.POST.get("code", ""), at=now())
    if offered and (entered := _enter_once(request, offered)):
        return entered
    context = {**PAIR, "problem": texts_for(request, LINK_TEXTS).unknown}
    return page(request, "accounts/pair.html", LINK_TEXTS, context, status=HTTPStatus.GONE)


# Only by POST: a link or an image on another site must not sign anybody out.
@allow_methods("POST")
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this session; its browser is forgotten and receives no more pushes."""
    here = request.session.get(sessions.BROWSER_ID)
    if here and (browser := Browser.objects.select_related("user").filter(pk=here).first()):
        access.sign_out(browser, by=auth.name_of(request), at=now(), is_here=True)
    # After it was recorded: from here on nobody is signed in whose name could be recorded.
    logout(request)
    return HttpResponseRedirect("/login/")


def is_from_this_machine(request: HttpRequest) -> bool:
    """Say whether the peer itself is loopback, not a proxy on behalf of another."""
    # A proxy on this machine connects from loopback too, for whoever is behind it.
    if any(header in request.META for header in FORWARDED):
        return False
    peer = origin.read_address(request.META.get("REMOTE_ADDR", ""))
    return peer is not None and peer.is_loopback


# In one transaction: the desktop page asks every second, and takes a used link without a browser
# for a phone that came and went. Only for a link that was found: SQLite has one writer at a time,
# and anybody can make up a link.
@transaction.atomic
def _enter_once(request: HttpRequest, link: LoginLink) -> HttpResponse | None:
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
    access.record_entry(browser, is_paired=link.code_digest is not None, at=now())
    # Browsers allow notifications only on secure pages.
    is_secure = request.is_secure() or settings.PUBLIC_URL.startswith("https://")
    takes_none = browser.kind == "phone" and not hasattr(browser, "device")
    is_next = link.code_digest is not None or (is_secure and takes_none)
    response = HttpResponseRedirect(PAIRED if is_next else HOME)
    keep_browser(response, browser)
    if link.on_get:
        # Only `up --json` makes such links, for a script. The page itself reads `mc_csrf`.
        response.set_cookie(
            SCRIPTS_CSRF, get_token(request), samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
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
    login(request, user, backend=BACKEND)
    credentials.record_proof(request.session, at=now())
    # If another person signs in at the same machine, pushes for the previous one must not reach
    # them.
    sessions.forget_previous_person(before, user=user)
    sessions.resume_browser(request.session, before, user=user)
    agent = request.headers.get("User-Agent", "")
    return sessions.ensure_browser(request.session, user=user, agent=agent, at=now())


def keep_browser(response: HttpResponse, browser: Browser) -> None:
    """Have a browser keep a cookie that identifies it when somebody signs in again."""
    response.set_signed_cookie(
        sessions.BROWSER_COOKIE,
        str(browser.id),
        max_age=sessions.BROWSER_COOKIE_AGE,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def _refuse(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return HttpResponseRedirect(HOME)
    return _how_to(request, fresh=False, status=HTTPStatus.GONE)


def _how_to(
    request: HttpRequest, *, fresh: bool, status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    each_start = texts_for(request, LINK_TEXTS).each_start.format(up=f"{manage_command()} up")
    context = {"fresh": fresh, "each_start": each_start}
    return page(request, "accounts/how_to_sign_in.html", LINK_TEXTS, context, status=status)


def texts_for(request: HttpRequest, texts: Mapping[str, T]) -> T:
    """Return a page's texts in the language this browser prefers."""
    return texts[preferred_language(request)]


def preferred_language(request: HttpRequest) -> str:
    """Return the language this browser prefers."""
    first = request.headers.get("Accept-Language", "").partition(",")[0]
    return language_of(first.partition(";")[0])


def page(
    request: HttpRequest,
    template: str,
    texts: Mapping[str, object],
    context: Mapping[str, object] = MappingProxyType({}),
    *,
    status: HTTPStatus = HTTPStatus.OK,
    wait: TooManyRequests | None = None,
    calls: bool = False,
) -> HttpResponse:
    """Draw a page for people not signed in: it runs only scripts with its nonce, and loads our
    fonts.

    `texts`: what it says, by language; its `t` unless `context` has its own. `wait`: it is
    refused with 429, and says for how long. `calls`: its script may call us.
    """
    nonce = secrets.token_urlsafe(16)
    whole = {
        "nonce": nonce,
        "manage": manage_command(),
        "t": texts_for(request, texts),
        "language": preferred_language(request),
        "referrer": "no-referrer",
        "sans": bundled_font("inter"),
        "mono": bundled_font("jetbrains-mono"),
        **context,
    }
    response = render(request, template, whole, status=status)
    if wait:
        response.status_code = HTTPStatus.TOO_MANY_REQUESTS
        response["Retry-After"] = str(wait.wait_s)
    response["Content-Security-Policy"] = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
        "font-src 'self'; "
        f"form-action 'self'; {CALLS if calls else ''}"
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


# Nobody guesses 256 bits: this stops callers who keep the server busy, not those who mistype.
TRIES = RateLimit("invitations tried", per_caller=30, total=600)


@never_cache
@allow_methods("GET", "HEAD", "POST")
def join(request: HttpRequest) -> HttpResponse:
    """Ask for a link, show what it offers, and admit its bearer."""
    if request.method != "POST":
        return _join_page(request)
    try:
        TRIES.acquire(origin.client_address_of(request), at=now())
    except TooManyRequests as error:
        context = {"problem": texts_for(request, JOINING_TEXTS).too_many}
        return _join_page(request, context, wait=error)
    # The whole link may be pasted: the secret follows its `#`.
    secret = request.POST.get("invitation", "").strip().rpartition("#")[2]
    offered = members.find_invitation(secret, at=now())
    if offered is None:
        return _turn_away(request)
    mine = Membership.objects.filter(project=offered.project_id, user=request.user.pk)
    # Before the link is used up, so that the person it was meant for can still use it.
    if request.user.is_authenticated and mine.exists():
        return _turn_away(request, is_member=True)
    if "accept" in request.POST:
        return _let_in(request, offered, secret)
    return _offer(request, offered, secret)


def _let_in(request: HttpRequest, offered: Invitation, secret: str) -> HttpResponse:
    user: Any = request.user if request.user.is_authenticated else None
    name = request.POST.get("name", "")
    try:
        joined = members.join(secret, user=user, name=name, at=now())
    except InvalidRequest:
        problem = texts_for(request, JOINING_TEXTS).name_refused
        return _offer(request, offered, secret, problem=problem, name=name)
    except Forbidden:
        return _turn_away(request)
    response = HttpResponseRedirect(HOME)
    # A person who was signed in stays signed in, with the same session.
    if joined.is_new:
        keep_browser(response, begin_session(request, joined.user))
    return response


def _offer(
    request: HttpRequest, offered: Invitation, secret: str, *, problem: str = "", name: str = ""
) -> HttpResponse:
    t, user = texts_for(request, JOINING_TEXTS), request.user
    # The account of whoever invited may be gone: the invitation outlives it.
    by = people.name_of(offered.invited_by) if offered.invited_by else ""
    by = "" if by == LOCAL_OWNER else by  # a person who never gave a name
    says = t.invites if by else t.invites_nameless
    return _join_page(
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


def _turn_away(request: HttpRequest, *, is_member: bool = False) -> HttpResponse:
    t = texts_for(request, JOINING_TEXTS)
    over = {"title": t.over_title, "text": t.over}
    already = {"title": t.already_title, "text": t.already}
    context = {"refused": already if is_member else over}
    status = HTTPStatus.CONFLICT if is_member else HTTPStatus.GONE
    return _join_page(request, context, status=status)


def _join_page(
    request: HttpRequest, context: Mapping[str, object] = MappingProxyType({}), **answer: Any
) -> HttpResponse:
    return page(request, "accounts/join.html", JOINING_TEXTS, {**PAIR, **context}, **answer)
