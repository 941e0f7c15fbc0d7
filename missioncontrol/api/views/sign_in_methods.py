"""Sign in by a password, a passkey or an identity provider, with a second factor if one is set up.

None of this exists unless `MISSIONCONTROL_SIGN_IN` names it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.views.decorators.cache import never_cache

from missioncontrol import clock, origin
from missioncontrol.accounts import credentials, oidc, people, rate_limits
from missioncontrol.accounts.page_texts import SIGN_IN_TEXTS, SignInTexts
from missioncontrol.accounts.rate_limits import FREE_ATTEMPTS, RateLimit
from missioncontrol.api.endpoint import read_json_object
from missioncontrol.api.problems import allow_methods
from missioncontrol.api.views import pages, sign_in_links
from missioncontrol.env import IdentityProvider
from missioncontrol.errors import Forbidden, MissionControlError, TooManyRequests
from missioncontrol.projects import access
from missioncontrol.projects import signing_in as project_signing_in

logger = logging.getLogger(__name__)

# Per address, whatever accounts it tries; in all, far more than a machine can hash.
TRIES = RateLimit("sign-in", per_caller=60, total=6_000)
# How often failed tries are recorded, so that a flood of them does not flood the record.
NOTED = RateLimit("failures on record", per_caller=1, total=10)
HALF_WAY = "half_way_in"
HALF_WAY_S = 600
OIDC_KEPT = "oidc"
BACK = "/login/by/oidc/back"
ACCOUNT = "/settings/account"

View = Callable[[HttpRequest], HttpResponse]


def _where_on(*wanted: str) -> Callable[[View], View]:
    """Answer only where one of these ways is on; a way that is off does not exist."""

    def decorate(view: View) -> View:
        @never_cache
        @wraps(view)
        def wrapped(request: HttpRequest) -> HttpResponse:
            # Answered as `/login` is when all are off: nobody learns which ways there could be.
            if not settings.SIGN_IN & set(wanted or settings.SIGN_IN):
                return sign_in_links.how_to_sign_in(request)
            return view(request)

        return wrapped

    return decorate


@_where_on()
@allow_methods("GET", "HEAD")
def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the ways that are on to a person who is not signed in."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(sign_in_links.HOME)
    # Going back to the first page starts over.
    request.session.pop(HALF_WAY, None)
    return _page(request)


@_where_on("password")
@allow_methods("POST")
def by_password(request: HttpRequest) -> HttpResponse:
    """Check a name and a password; the time it takes reveals nothing about which was wrong."""
    # No NUL: internal names that begin with one are counted beside those typed.
    name = request.POST.get("name", "").replace("\0", "").strip()
    password = request.POST.get("password", "")
    try:
        tries = _count(request, name)
    except TooManyRequests as error:
        return _too_many(request, error, name=name)
    user = people.find_person(name) if name else None
    if user is None or "\0" in password:
        # Takes as long as a check, so that measuring it reveals no name.
        make_password(password)
        return _page(request, _texts(request).wrong, name=name, status=HTTPStatus.FORBIDDEN)
    # The password first: a deactivated account must not answer sooner than a wrong password.
    if not (user.check_password(password) and user.is_active):
        _note_failure(request, user, tries)
        return _page(request, _texts(request).wrong, name=name, status=HTTPStatus.FORBIDDEN)
    # A correct first factor clears its own count; the second has another.
    rate_limits.clear_sign_in_attempts(name, origin.client_address_of(request))
    return _go_on(request, user, "a password")


@_where_on()
@allow_methods("GET", "HEAD", "POST")
def by_second_factor(request: HttpRequest) -> HttpResponse:
    """Check a code of the app, or a recovery code, as the second factor."""
    user, way = _half_way(request)
    if user is None:
        return HttpResponseRedirect("/login/")
    if request.method != "POST":
        return _second_page(request, user)
    # The codes of an account are counted apart from names typed at sign-in, which contain no NUL.
    account = f"\0{user.pk}"
    try:
        tries = _count(request, account)
    except TooManyRequests as error:
        return _second_page(request, user, _waits(request, error), wait=error)
    kind = credentials.verify_code(user, request.POST.get("code", "").strip())
    if kind is None:
        _note_failure(request, user, tries)
        return _second_page(request, user, _texts(request).wrong_code)
    rate_limits.clear_sign_in_attempts(account, origin.client_address_of(request))
    code = "a code" if kind == credentials.FactorKind.APP else "a recovery code"
    return _enter(request, user, f"{way} and {code}")


@_where_on()
@allow_methods("POST")
def begin_passkey(request: HttpRequest) -> HttpResponse:
    """Return the challenge that a passkey must answer."""
    user, _ = _half_way(request)
    if user is None and "passkey" not in settings.SIGN_IN:
        return _refused("no_passkey")
    return JsonResponse(credentials.begin_passkey_check(user))


@_where_on()
@allow_methods("POST")
def by_passkey(request: HttpRequest) -> HttpResponse:
    """Check a passkey's answer; it is both factors, or the second after a first one."""
    half_way, way = _half_way(request)
    if not TRIES.try_acquire(origin.client_address_of(request), at=clock.now()):
        return _refused("too_many_requests", status=HTTPStatus.TOO_MANY_REQUESTS)
    if half_way is None and "passkey" not in settings.SIGN_IN:
        return _refused("no_passkey")
    try:
        credential = read_json_object(request.body)
    except MissionControlError:
        return _refused("no_passkey", status=HTTPStatus.BAD_REQUEST)
    # Made and requested with user verification: a passkey is both factors at once.
    user = credentials.verify_passkey(credential, user=half_way)
    if user is None:
        return _refused("no_passkey")
    entered = _enter(request, user, f"{way} and a passkey" if half_way else "a passkey")
    response = JsonResponse({"to": entered["Location"]})
    # A script asked, and opens the page by itself; the session's cookies come with this answer.
    response.cookies = entered.cookies
    return response


@_where_on("oidc")
@allow_methods("GET")
def to_provider(request: HttpRequest) -> HttpResponse:
    """Send a browser to the identity provider: to sign in, to connect, or to prove who it is."""
    # Only if signed in: a stranger's browser must neither connect nor prove an account.
    purpose = request.GET.get("for", "") if request.user.is_authenticated else ""
    if request.user.is_authenticated and purpose not in {"connect", "again"}:
        return HttpResponseRedirect(sign_in_links.HOME)
    try:
        TRIES.acquire(origin.client_address_of(request), at=clock.now())
    except TooManyRequests as error:
        return _too_many(request, error)
    try:
        begun = oidc.begin_sign_in(
            _provider(),
            redirect_uri=_back(request),
            is_again=purpose == "again",
            at=clock.now(),
        )
    except oidc.IdentityRefused as error:
        return _provider_failed(request, str(error))
    # Only a path of ours, whatever was asked for: `//` and `/\` lead a browser to another host.
    to = request.GET.get("to", ACCOUNT)
    parts = urlsplit(to)
    is_ours = to.startswith("/") and not to.startswith(("//", "/\\"))
    if not is_ours or parts.scheme or parts.netloc:
        to = sign_in_links.HOME
    request.session[OIDC_KEPT] = {**begun.session_data, "for": purpose, "to": to}
    return HttpResponseRedirect(begun.url)


@_where_on("oidc")
@allow_methods("GET")
def from_provider(request: HttpRequest) -> HttpResponse:
    """Read what the identity provider says of the browser that was sent there."""
    # Removed, because an answer of the provider is valid for one return.
    kept = request.session.pop(OIDC_KEPT, None)
    if kept is None:
        return HttpResponseRedirect("/login/")
    purpose, came = kept["for"], request.GET.dict()
    try:
        known = oidc.finish_sign_in(
            _provider(),
            kept,
            came,
            redirect_uri=_back(request),
            is_again=purpose == "again",
        )
    except oidc.IdentityRefused as error:
        return _provider_failed(request, str(error))
    if purpose:
        return _known_again(request, known, purpose, kept["to"])
    try:
        user = project_signing_in.enter_by_identity(known, at=clock.now())
    except Forbidden as error:
        logger.warning("a sign-in by OpenID Connect was refused: %s", error)
        problem = _texts(request).not_let_in.format(provider=_provider().name)
        return _page(request, problem, status=HTTPStatus.FORBIDDEN)
    return _go_on(request, user, "the identity provider")


def _known_again(
    request: HttpRequest, known: oidc.ProviderIdentity, purpose: str, to: str
) -> HttpResponse:
    """Connect an account to the signed-in person, or accept it as proof of who they are."""
    problem = _texts(request).not_yours.format(provider=_provider().name)
    if not request.user.is_authenticated:
        return HttpResponseRedirect("/login/")
    if purpose == "again":
        mine = credentials.identity_of(request.user)
        if mine is None or mine.subject != known.subject:
            return _page(request, problem, status=HTTPStatus.FORBIDDEN)
        request.session.cycle_key()
        credentials.record_proof(request.session, at=clock.now())
        return HttpResponseRedirect(to)
    # Checked here too: the page that offers it may have been open since yesterday.
    if credentials.methods_to_prove_again(request.user, request.session, at=clock.now()):
        return HttpResponseRedirect(to)
    try:
        project_signing_in.connect(request.user, known, at=clock.now())
    except Forbidden:
        return _page(request, problem, status=HTTPStatus.FORBIDDEN)
    request.session.cycle_key()
    return HttpResponseRedirect(to)


def _go_on(request: HttpRequest, user: User, way: str) -> HttpResponse:
    """Sign in a person with one factor; ask a person with two for the other."""
    if not credentials.has_factor(user):
        return _enter(request, user, way)
    request.session.cycle_key()
    # The session key has changed: whoever planted a session here is not half-way in with it.
    until = clock.now().timestamp() + HALF_WAY_S
    request.session[HALF_WAY] = {"user": user.pk, "way": way, "until": until}
    return HttpResponseRedirect("/login/by/second")


def _half_way(request: HttpRequest) -> tuple[User | None, str]:
    """Return who has shown the first of two factors here within ten minutes, and which."""
    half = request.session.get(HALF_WAY)
    if half is None or half["until"] < clock.now().timestamp():
        return None, ""
    return User.objects.filter(pk=half["user"], is_active=True).first(), half["way"]


def _enter(request: HttpRequest, user: User, way: str) -> HttpResponse:
    request.session.pop(HALF_WAY, None)
    browser = sign_in_links.begin_session(request, user)
    access.record_entry(browser, way=way, at=clock.now())
    response = HttpResponseRedirect(sign_in_links.HOME)
    sign_in_links.keep_browser(response, browser)
    return response


def _count(request: HttpRequest, account: str) -> int:
    """Count a try; return how many there were in a row.

    Raises:
        TooManyRequests: one too many, for this account from here, or from this address.
    """
    here, at = origin.client_address_of(request), clock.now()
    TRIES.acquire(here, at=at)
    return rate_limits.count_sign_in_attempt(account, here, at=at)


def _note_failure(request: HttpRequest, user: User, tries: int) -> None:
    """Record a failure once a wait was imposed; a single typing error concerns nobody."""
    if tries >= FREE_ATTEMPTS and NOTED.try_acquire(str(user.pk), at=clock.now()):
        where = origin.client_address_of(request)
        what = f"somebody at {where} failed to sign in {tries} times in a row"
        access.record_of_person(user, what, at=clock.now(), by="guard")


def _second_page(
    request: HttpRequest, user: User, problem: str = "", *, wait: TooManyRequests | None = None
) -> HttpResponse:
    kinds = {row.type for row in credentials.factors_of(user)}
    status = HTTPStatus.FORBIDDEN if problem else HTTPStatus.OK
    asks_code = bool(kinds - {credentials.FactorKind.PASSKEY})
    asks_passkey = credentials.FactorKind.PASSKEY in kinds
    context = {"is_second": True, "asks_code": asks_code, "asks_passkey": asks_passkey}
    return _page(request, problem, status=status, wait=wait, **context)


def _too_many(request: HttpRequest, error: TooManyRequests, **context: Any) -> HttpResponse:
    return _page(request, _waits(request, error), wait=error, **context)


def _waits(request: HttpRequest, error: TooManyRequests) -> str:
    t, minutes = _texts(request), -(-error.wait_s // 60)
    is_long = error.wait_s > 90  # noqa: PLR2004 - seconds that nobody counts
    counted = t.minutes.format(count=minutes) if is_long else t.seconds.format(count=error.wait_s)
    return t.too_many.format(wait=counted)


def _provider_failed(request: HttpRequest, why: str) -> HttpResponse:
    logger.warning("the identity provider's answer was refused: %s", why)
    problem = _texts(request).provider_failed.format(provider=_provider().name)
    return _page(request, problem, status=HTTPStatus.FORBIDDEN)


def _refused(code: str, *, status: HTTPStatus = HTTPStatus.FORBIDDEN) -> HttpResponse:
    return JsonResponse({"code": code}, status=status)


def _page(
    request: HttpRequest,
    problem: str = "",
    *,
    status: HTTPStatus = HTTPStatus.OK,
    wait: TooManyRequests | None = None,
    **more: Any,
) -> HttpResponse:
    t = _texts(request)
    context = {
        "problem": problem,
        "methods": settings.SIGN_IN,
        "asks_passkey": "passkey" in settings.SIGN_IN,
        "provider": t.with_provider.format(provider=settings.OIDC.name) if settings.OIDC else "",
        **pages.PAIR,
        **more,
    }
    return pages.page(
        request,
        "accounts/credentials.html",
        SIGN_IN_TEXTS,
        context,
        status=status,
        wait=wait,
        calls=True,
    )


def _provider() -> IdentityProvider:
    if settings.OIDC is None:
        raise Http404
    return settings.OIDC


def _back(request: HttpRequest) -> str:
    """Return the address that browsers come back to, as it is registered with the provider."""
    base = settings.PUBLIC_URL.rstrip("/") or request.build_absolute_uri("/").rstrip("/")
    return f"{base}{BACK}"


def _texts(request: HttpRequest) -> SignInTexts:
    return pages.texts_for(request, SIGN_IN_TEXTS)


# Each view by its name after `/login/by/`.
PAGES: Mapping[str, View] = MappingProxyType(
    {
        "password": by_password,
        "second": by_second_factor,
        "passkey/begin": begin_passkey,
        "passkey": by_passkey,
        "oidc": to_provider,
        "oidc/back": from_provider,
    }
)
