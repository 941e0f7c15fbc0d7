"""Sign in by a password, a passkey or an identity provider, with a second factor if one is set up.

None of this exists unless `MISSIONCONTROL_SIGN_IN` names it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from missioncontrol import clock, origin
from missioncontrol.accounts import credentials, oidc, people, rate_limits
from missioncontrol.accounts.rate_limits import FREE_ATTEMPTS, RateLimit
from missioncontrol.api.endpoint import read_json_object
from missioncontrol.api.problems import allow_methods
from missioncontrol.api.views import sign_in_links
from missioncontrol.api.views.pages import PublicPage
from missioncontrol.env import IdentityProvider
from missioncontrol.errors import Forbidden, MissionControlError, TooManyRequests
from missioncontrol.projects import access
from missioncontrol.projects import sign_in_methods as project_methods

logger = logging.getLogger(__name__)

# Per address, whatever accounts it tries; in total, far more than a machine can hash.
ADDRESS_LIMIT = RateLimit("sign-in", per_caller=60, total=6_000)
# How often failed attempts are recorded, so that a flood of them does not flood the record.
FAILURE_RECORD_LIMIT = RateLimit("failures on record", per_caller=1, total=10)
FIRST_FACTOR_KEY = "half_way_in"
FIRST_FACTOR_VALID_S = 600
OIDC_STATE_KEY = "oidc"
OIDC_REDIRECT_PATH = "/login/by/oidc/back"
ACCOUNT_PATH = "/settings/account"
METHODS_PAGE = PublicPage(
    template="accounts/sign_in_methods.html",
    texts="sign_in",
    referrer="same-origin",
    calls=True,
)

View = Callable[[HttpRequest], HttpResponse]


def _if_enabled(*wanted: str) -> Callable[[View], View]:
    """Answer only where one of these methods is on; a method that is off does not exist."""

    def decorate(view: View) -> View:
        @never_cache
        @wraps(view)
        def wrapped(request: HttpRequest) -> HttpResponse:
            # Answered as `/login` is when all are off: nobody learns which methods there could be.
            if not settings.SIGN_IN & set(wanted or settings.SIGN_IN):
                return sign_in_links.how_to_sign_in(request)
            return view(request)

        return wrapped

    return decorate


@_if_enabled()
@allow_methods("GET", "HEAD")
def show_methods(request: HttpRequest) -> HttpResponse:
    """Show the methods that are on to a person who is not signed in."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(sign_in_links.HOME_PATH)
    # Going back to the first page starts over.
    request.session.pop(FIRST_FACTOR_KEY, None)
    return _methods_page(request)


@_if_enabled("password")
@allow_methods("POST")
def sign_in_by_password(request: HttpRequest) -> HttpResponse:
    """Check a name and a password; the time it takes reveals nothing about which was wrong."""
    t = METHODS_PAGE.texts_for(request)
    # No NUL: internal names that begin with one are counted beside those typed.
    name = request.POST.get("name", "").replace("\0", "").strip()
    password = request.POST.get("password", "")
    try:
        attempts = _count_attempt(request, name)
    except TooManyRequests as error:
        return _too_many_page(request, error, name=name)
    user = people.find_person(name) if name else None
    if user is None or "\0" in password:
        # Takes as long as a check, so that measuring it reveals no name.
        make_password(password)
        return _methods_page(request, t.wrong, name=name)
    # The password first: a deactivated account must not answer sooner than a wrong password.
    if not (user.check_password(password) and user.is_active):
        _record_failure(request, user, attempts)
        return _methods_page(request, t.wrong, name=name)
    # A correct first factor clears its own count; the second has another.
    rate_limits.clear_sign_in_attempts(name, origin.client_address_of(request))
    return _accept_first_factor(request, user, "a password")


@_if_enabled()
@allow_methods("GET", "HEAD", "POST")
def check_second_factor(request: HttpRequest) -> HttpResponse:
    """Check a code of the app, or a recovery code, as the second factor."""
    user, method = _first_factor(request)
    if user is None:
        return HttpResponseRedirect("/login/")
    if request.method != "POST":
        return _second_factor_page(request, user)
    # The codes of an account are counted apart from names typed at sign-in, which contain no NUL.
    account = f"\0{user.pk}"
    try:
        attempts = _count_attempt(request, account)
    except TooManyRequests as error:
        return _second_factor_page(request, user, _wait_text(request, error), wait=error)
    kind = credentials.verify_code(user, request.POST.get("code", "").strip())
    if kind is None:
        _record_failure(request, user, attempts)
        return _second_factor_page(request, user, METHODS_PAGE.texts_for(request).wrong_code)
    rate_limits.clear_sign_in_attempts(account, origin.client_address_of(request))
    code = "a code" if kind == credentials.FactorKind.APP else "a recovery code"
    return _sign_in(request, user, f"{method} and {code}")


@_if_enabled()
@allow_methods("POST")
def begin_passkey(request: HttpRequest) -> HttpResponse:
    """Return the challenge that a passkey must answer."""
    user, _ = _first_factor(request)
    if user is None and "passkey" not in settings.SIGN_IN:
        return _refuse_passkey("no_passkey")
    return JsonResponse(credentials.begin_passkey_check(user))


@_if_enabled()
@allow_methods("POST")
def sign_in_by_passkey(request: HttpRequest) -> HttpResponse:
    """Check a passkey's answer; it is both factors, or the second after a first one."""
    first, method = _first_factor(request)
    if not ADDRESS_LIMIT.try_acquire(origin.client_address_of(request), at=clock.now()):
        return _refuse_passkey("too_many_requests", status=HTTPStatus.TOO_MANY_REQUESTS)
    if first is None and "passkey" not in settings.SIGN_IN:
        return _refuse_passkey("no_passkey")
    try:
        credential = read_json_object(request.body)
    except MissionControlError:
        return _refuse_passkey("no_passkey", status=HTTPStatus.BAD_REQUEST)
    # Made and requested with user verification: a passkey is both factors at once.
    user = credentials.verify_passkey(credential, user=first)
    if user is None:
        return _refuse_passkey("no_passkey")
    entered = _sign_in(request, user, f"{method} and a passkey" if first else "a passkey")
    response = JsonResponse({"to": entered["Location"]})
    # A script asked, and opens the page by itself; the session's cookies come with this answer.
    response.cookies = entered.cookies
    return response


@_if_enabled("oidc")
@allow_methods("GET")
def redirect_to_provider(request: HttpRequest) -> HttpResponse:
    """Send a browser to the identity provider: to sign in, to connect, or to prove who it is."""
    # Only if signed in: a stranger's browser must neither connect nor prove an account.
    purpose = request.GET.get("for", "") if request.user.is_authenticated else ""
    if request.user.is_authenticated and purpose not in {"connect", "again"}:
        return HttpResponseRedirect(sign_in_links.HOME_PATH)
    try:
        ADDRESS_LIMIT.acquire(origin.client_address_of(request), at=clock.now())
    except TooManyRequests as error:
        return _too_many_page(request, error)
    try:
        begun = oidc.begin_sign_in(
            _provider(),
            redirect_uri=_redirect_uri(request),
            is_again=purpose == "again",
            at=clock.now(),
        )
    except oidc.IdentityRefused as error:
        return _provider_failed_page(request, str(error))
    # Only a path of ours, whatever was asked for: `//` and `/\` lead a browser to another host.
    to = request.GET.get("to", ACCOUNT_PATH)
    if not (to.startswith("/") and url_has_allowed_host_and_scheme(to, allowed_hosts=None)):
        to = sign_in_links.HOME_PATH
    request.session[OIDC_STATE_KEY] = {**begun.session_data, "for": purpose, "to": to}
    return HttpResponseRedirect(begun.url)


@_if_enabled("oidc")
@allow_methods("GET")
def return_from_provider(request: HttpRequest) -> HttpResponse:
    """Read what the identity provider says of the browser that was sent there."""
    # Removed, because an answer of the provider is valid for one return.
    kept = request.session.pop(OIDC_STATE_KEY, None)
    if kept is None:
        return HttpResponseRedirect("/login/")
    purpose, parameters = kept["for"], request.GET.dict()
    try:
        known = oidc.finish_sign_in(
            _provider(),
            kept,
            parameters,
            redirect_uri=_redirect_uri(request),
            is_again=purpose == "again",
        )
    except oidc.IdentityRefused as error:
        return _provider_failed_page(request, str(error))
    if purpose:
        return _connect_or_prove(request, known, purpose, kept["to"])
    try:
        user = project_methods.sign_in_by_identity(known, at=clock.now())
    except Forbidden as error:
        logger.warning("a sign-in by OpenID Connect was refused: %s", error)
        problem = METHODS_PAGE.texts_for(request).not_let_in.format(provider=_provider().name)
        return _methods_page(request, problem)
    return _accept_first_factor(request, user, "the identity provider")


def _connect_or_prove(
    request: HttpRequest, known: oidc.ProviderIdentity, purpose: str, to: str
) -> HttpResponse:
    """Connect an account to the signed-in person, or accept it as proof of who they are."""
    problem = METHODS_PAGE.texts_for(request).not_yours.format(provider=_provider().name)
    if not request.user.is_authenticated:
        return HttpResponseRedirect("/login/")
    if purpose == "again":
        mine = credentials.identity_of(request.user)
        if mine is None or mine.subject != known.subject:
            return _methods_page(request, problem)
        request.session.cycle_key()
        credentials.record_proof(request.session, at=clock.now())
        return HttpResponseRedirect(to)
    # Checked here too: the page that offers it may have been open since yesterday.
    if credentials.methods_to_prove_again(request.user, request.session, at=clock.now()):
        return HttpResponseRedirect(to)
    try:
        project_methods.connect_identity(request.user, known, at=clock.now())
    except Forbidden:
        return _methods_page(request, problem)
    request.session.cycle_key()
    return HttpResponseRedirect(to)


def _accept_first_factor(request: HttpRequest, user: User, method: str) -> HttpResponse:
    """Sign in a person with one factor; ask a person with two for the other."""
    if not credentials.has_factor(user):
        return _sign_in(request, user, method)
    request.session.cycle_key()
    # The session key has changed: whoever planted a session here has shown no factor in it.
    until = clock.now().timestamp() + FIRST_FACTOR_VALID_S
    request.session[FIRST_FACTOR_KEY] = {"user": user.pk, "way": method, "until": until}
    return HttpResponseRedirect("/login/by/second")


def _first_factor(request: HttpRequest) -> tuple[User | None, str]:
    """Return who has shown the first of two factors here within ten minutes, and which."""
    shown = request.session.get(FIRST_FACTOR_KEY)
    if shown is None or shown["until"] < clock.now().timestamp():
        return None, ""
    return User.objects.filter(pk=shown["user"], is_active=True).first(), shown["way"]


def _sign_in(request: HttpRequest, user: User, method: str) -> HttpResponse:
    request.session.pop(FIRST_FACTOR_KEY, None)
    browser = sign_in_links.begin_session(request, user)
    access.record_sign_in(browser, method=method, at=clock.now())
    response = HttpResponseRedirect(sign_in_links.HOME_PATH)
    sign_in_links.set_browser_cookie(response, browser)
    return response


def _count_attempt(request: HttpRequest, account: str) -> int:
    """Count an attempt; return how many there were in a row.

    Raises:
        TooManyRequests: one too many, for this account from here, or from this address.
    """
    here, at = origin.client_address_of(request), clock.now()
    ADDRESS_LIMIT.acquire(here, at=at)
    return rate_limits.count_sign_in_attempt(account, here, at=at)


def _record_failure(request: HttpRequest, user: User, attempts: int) -> None:
    """Record a failure once a wait was imposed; a single typing error concerns nobody."""
    if attempts >= FREE_ATTEMPTS and FAILURE_RECORD_LIMIT.try_acquire(str(user.pk), at=clock.now()):
        where = origin.client_address_of(request)
        what = f"somebody at {where} failed to sign in {attempts} times in a row"
        access.record_for_person(user, what, at=clock.now(), by="guard")


def _second_factor_page(
    request: HttpRequest, user: User, problem: str = "", *, wait: TooManyRequests | None = None
) -> HttpResponse:
    kinds = {row.type for row in credentials.factors_of(user)}
    asks_code = bool(kinds - {credentials.FactorKind.PASSKEY})
    asks_passkey = credentials.FactorKind.PASSKEY in kinds
    context = {"is_second": True, "asks_code": asks_code, "asks_passkey": asks_passkey}
    return _methods_page(request, problem, wait=wait, **context)


def _too_many_page(request: HttpRequest, error: TooManyRequests, **context: Any) -> HttpResponse:
    return _methods_page(request, _wait_text(request, error), wait=error, **context)


def _wait_text(request: HttpRequest, error: TooManyRequests) -> str:
    t, minutes = METHODS_PAGE.texts_for(request), -(-error.wait_s // 60)
    is_long = error.wait_s > 90  # noqa: PLR2004 - seconds that nobody counts
    counted = t.minutes.format(count=minutes) if is_long else t.seconds.format(count=error.wait_s)
    return t.too_many.format(wait=counted)


def _provider_failed_page(request: HttpRequest, why: str) -> HttpResponse:
    logger.warning("the identity provider's answer was refused: %s", why)
    problem = METHODS_PAGE.texts_for(request).provider_failed.format(provider=_provider().name)
    return _methods_page(request, problem)


def _refuse_passkey(code: str, *, status: HTTPStatus = HTTPStatus.FORBIDDEN) -> HttpResponse:
    return JsonResponse({"code": code}, status=status)


def _methods_page(
    request: HttpRequest,
    problem: str = "",
    *,
    wait: TooManyRequests | None = None,
    **more: Any,
) -> HttpResponse:
    status = HTTPStatus.FORBIDDEN if problem else HTTPStatus.OK
    with_provider = METHODS_PAGE.texts_for(request).with_provider
    shown = {
        "problem": problem,
        "methods": settings.SIGN_IN,
        "asks_passkey": "passkey" in settings.SIGN_IN,
        "provider": with_provider.format(provider=settings.OIDC.name) if settings.OIDC else "",
        **more,
    }
    return METHODS_PAGE.render(request, status=status, wait=wait, **shown)


def _provider() -> IdentityProvider:
    if settings.OIDC is None:
        raise Http404
    return settings.OIDC


def _redirect_uri(request: HttpRequest) -> str:
    """Return the address that browsers come back to, as it is registered with the provider."""
    base = settings.PUBLIC_URL.rstrip("/") or request.build_absolute_uri("/").rstrip("/")
    return f"{base}{OIDC_REDIRECT_PATH}"


# Each view by its name after `/login/by/`.
VIEWS: Mapping[str, View] = {
    "password": sign_in_by_password,
    "second": check_second_factor,
    "passkey/begin": begin_passkey,
    "passkey": sign_in_by_passkey,
    "oidc": redirect_to_provider,
    "oidc/back": return_from_provider,
}
