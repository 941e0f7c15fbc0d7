"""Your browsers: which of them receive pushes, and how a phone joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from missioncontrol import extras
from missioncontrol.accounts import credentials, services, sessions
from missioncontrol.accounts.models import Browser
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.api import auth
from missioncontrol.api.auth import By, Person
from missioncontrol.api.rest import Depends, changes_in, file_response, get_or_404, qr_code
from missioncontrol.api.routing import Router
from missioncontrol.clock import now
from missioncontrol.errors import InvalidRequest, NotFound, Unavailable, ensure_found
from missioncontrol.notify import devices, vapid
from missioncontrol.notify import services as notices
from missioncontrol.notify.devices import NewPush, PushResults
from missioncontrol.notify.models import Device
from missioncontrol.notify.quiet_hours import format_time
from missioncontrol.projects import access
from missioncontrol.wire.access import DeviceRow, PairingRow, PushRow, Reach
from missioncontrol.wire.rows import row_of

api = Router()

PHONE_ACCESS_LIMIT = RateLimit("the way in for phones", per_caller=10, total=30)
PAIRING_LIMIT = RateLimit("pairings", per_caller=10, total=100)
TEST_LIMIT = RateLimit("test notifications", per_caller=6, total=60)
CERTIFICATE_TYPE = "application/x-x509-ca-cert"
LOOPBACK_HOSTS = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePatch:
    """Absent fields stay as they are; set both times to an empty text to end the quiet hours."""

    name: str | None = None
    enabled: bool | None = None
    show_details: bool | None = None
    hears_reports: bool | None = None
    quiet_from: str | None = None
    quiet_to: str | None = None
    time_zone: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachPatch:
    is_open: bool


def _requesting_browser(request: Request, person: Person) -> Browser | None:
    """Return the browser that asks; None if it is a script with a token."""
    if request.auth is not None:
        return None
    return sessions.ensure_browser(
        request.session,
        user=person,
        # Only for its name: a browser is known by its session.
        agent=request.headers.get("User-Agent", ""),
        at=now(),
    )


def _find_browser(device_id: UUID, person: Person) -> Browser:
    mine = sessions.browsers_of(person).select_related("device")
    return get_or_404(mine, device_id, "The device")


RequestingBrowser = Annotated[Browser | None, Depends(_requesting_browser)]
FoundBrowser = Annotated[Browser, Depends(_find_browser)]
check_may_open = auth.require_owner_of_any(
    "Only a project owner can open this machine to its network."
)


@api.get("devices/")
def devices_list(this: RequestingBrowser, person: Person) -> list[DeviceRow]:
    """List the browsers in which you are signed in, most recently seen first."""
    mine = list(sessions.browsers_of(person).select_related("device"))
    # One query for all browsers.
    tried = devices.last_push_results([push for browser in mine if (push := _device_of(browser))])
    return [_browser_row(browser, this, tried) for browser in mine]


@api.get("devices/reach/")
def devices_reach(request: Request) -> Reach:
    """Get the addresses at which a phone reaches this installation, and what it can do there."""
    return _show_reach(request)


@api.patch("devices/reach/", checks=(auth.check_signed_in_session, check_may_open))
def devices_open(request: Request, body: ReachPatch, person: Person, by: By) -> Reach:
    """Turn HTTPS for this machine's local network on or off; owners only."""
    # If the operator chose how phones get in, a page must not open another way.
    if not _can_open_https():
        raise Unavailable("The command that started this installation sets how phones reach it.")
    # Closing needs no proof, because it removes a way in.
    if body.is_open:
        auth.check_fresh_proof(request)
    # Opening and closing restarts a listener, so it must not follow every tap.
    PHONE_ACCESS_LIMIT.acquire(str(person.pk), at=now())
    extras.request_phone(settings.DATA_DIR, on=body.is_open)
    access.record_phone_access(person, on=body.is_open, by=by, at=now())
    return _show_reach(request)


@api.get("devices/certificate/", files=(CERTIFICATE_TYPE,))
def devices_certificate() -> HttpResponse:
    """Download the certificate that a phone has to trust, made by this machine."""
    found = ensure_found(
        extras.authority_certificate(settings.DATA_DIR), "A certificate of this machine"
    )
    return file_response(found, kind=CERTIFICATE_TYPE, name="mission-control.crt")


@api.patch("devices/<uuid:device_id>/")
def devices_change(
    browser: FoundBrowser, body: DevicePatch, person: Person, by: By, this: RequestingBrowser
) -> DeviceRow:
    """Rename a browser, or change how it receives pushes."""
    access.change_device(browser, changes_in(body), by=by, at=now())
    # Read again, because its push may have changed with it.
    return _browser_row(_find_browser(browser.id, person), this)


@api.delete("devices/<uuid:device_id>/", checks=(auth.check_signed_in_session,))
def devices_sign_out(browser: FoundBrowser, by: By) -> None:
    """Sign out a browser; its notifications close and it receives no more."""
    access.sign_out_browser(browser, by=by, at=now())


@api.post("devices/this/push/", status=201)
def devices_subscribe(browser: RequestingBrowser, body: NewPush, person: Person) -> DeviceRow:
    """Subscribe the requesting browser to pushes."""
    if browser is None:
        raise InvalidRequest("Only a signed-in browser can receive pushes, not a token.")
    # A phone's own name says more than its type, which is all that its User-Agent contains.
    if body.name and browser.name in {"Android", "iPhone", "iPad"}:
        sessions.rename_browser(browser, body.name)
    # An error, because the browser would otherwise show a switch that does nothing.
    if not settings.VAPID_PRIVATE_KEY:
        raise Unavailable(str(vapid.NoKey()))
    # Only the first is recorded: a browser renews its subscription by itself.
    is_first = _device_of(browser) is None
    devices.subscribe(browser, body, at=now())
    if is_first:
        access.record_push_change(browser, on=True, at=now())
    return _browser_row(_find_browser(browser.id, person), browser)


@api.delete("devices/this/push/")
def devices_unsubscribe(browser: RequestingBrowser) -> None:
    """Unsubscribe the requesting browser from pushes."""
    if browser and Device.objects.filter(browser=browser).delete()[0]:
        access.record_push_change(browser, on=False, at=now())


@api.post("devices/<uuid:device_id>/test/", status=202)
def devices_test(browser: FoundBrowser, person: Person, by: By) -> None:
    """Send a test notification to a browser, even in quiet hours."""
    device = _device_of(browser)
    # Every notice, even a test, belongs to a project: any of theirs will do.
    project = credentials.open_memberships_of(person).first()
    if device is None or project is None:
        raise NotFound("A browser that takes pushes")
    TEST_LIMIT.acquire(str(person.pk), at=now())
    notices.send_test(device, project=project.project_id, by=by, at=now())


@api.post("pairings/", status=201, checks=auth.FRESH_PROOF)
def pairings_offer(request: Request, person: Person) -> PairingRow:
    """Make a link and a code that sign in one phone, once, within ten minutes."""
    PAIRING_LIMIT.acquire(str(person.pk), at=now())
    base = phone_url(request)
    if not base:
        raise Unavailable("Reachable from this machine only: start with --https or --lan.")
    made, code = services.create_pairing(user=person, at=now())
    url = f"{base}/login/{made.secret}/"
    # Only in this answer: neither link nor code can be recovered from what is stored.
    return PairingRow(
        id=made.row.id,
        status="waiting",
        expires_at=made.row.expires_at,
        url=url,
        code=code,
        code_url=f"{base}/pair",
        qr=qr_code(url),
    )


@api.get("pairings/<uuid:pairing_id>/")
def pairings_read(pairing_id: UUID, person: Person, this: RequestingBrowser) -> PairingRow:
    """Get whether the phone has signed in."""
    link = ensure_found(services.find_pairing(pairing=pairing_id, user=person), "The pairing")
    if link.used_at is not None:
        device = _browser_row(link.browser, this) if link.browser else None
        return PairingRow(id=link.id, status="paired", expires_at=link.expires_at, device=device)
    # Distinct from *waiting*, so that the page offers a new one by itself.
    is_over = link.expires_at <= now()
    status: Literal["expired", "waiting"] = "expired" if is_over else "waiting"
    return PairingRow(id=link.id, status=status, expires_at=link.expires_at)


def _device_of(browser: Browser) -> Device | None:
    return getattr(browser, "device", None)


def _browser_row(
    browser: Browser, this: Browser | None, tried: dict[UUID, PushResults] | None = None
) -> DeviceRow:
    push = None
    if device := _device_of(browser):
        # A list reads them for all its browsers at once.
        if tried is None:
            tried = devices.last_push_results([device])
        last = tried.get(device.id, PushResults())
        push = row_of(
            PushRow,
            device,
            quiet_from=format_time(device.quiet_from),
            quiet_to=format_time(device.quiet_to),
            last_sent_at=last.sent_at,
            last_failed_at=last.failed_at,
            last_error=last.error or None,
            # With another key each push is refused; the page then subscribes again.
            is_current=device.vapid_key == _push_key(),
        )
    kind = "phone" if browser.kind == "phone" else "desktop"
    is_this = this is not None and this.id == browser.id
    return row_of(DeviceRow, browser, kind=kind, is_this=is_this, push=push)


def _show_reach(request: Request) -> Reach:
    door: Literal["closed", "opening", "open", "failed"] | None = None
    if auth.owned_projects(request) and _can_open_https():
        status = extras.phone_status(settings.DATA_DIR)
        if not extras.is_phone_requested(settings.DATA_DIR):
            door = "failed" if status.problem else "closed"
        else:
            door = "open" if status.url else "opening"
    url = phone_url(request)  # after the status: when that is open, there is an address
    is_secure = url.startswith("https://")
    # A proxy in front shows a certificate of its own.
    is_own = is_secure and url != settings.PUBLIC_URL.rstrip("/")
    return Reach(
        url=url,
        is_secure=is_secure,
        certificate=extras.authority_fingerprint(settings.DATA_DIR) if is_own else None,
        push_key=_push_key(),
        door=door,
        door_port=settings.HTTPS_PORT,
        door_problem=extras.phone_status(settings.DATA_DIR).problem,
    )


def _can_open_https() -> bool:
    """HTTPS can be opened on request: `up` runs us, and gave phones no way in when it started."""
    return settings.IS_SUPERVISED and not settings.PHONE_URL


def _push_key() -> str | None:
    return vapid.public_key() if settings.VAPID_PRIVATE_KEY else None


def link_base(request: Request) -> tuple[str, bool]:
    """Return the base of a link for others, and whether it opens only on this machine."""
    reached = settings.PUBLIC_URL.rstrip("/") or phone_url(request)
    return reached or request.build_absolute_uri("/").rstrip("/"), not reached


def phone_url(request: Request) -> str:
    """Return the address for phones, or else the one this page was reached at, if not loopback."""
    if settings.PHONE_URL:
        return str(settings.PHONE_URL).rstrip("/")
    if _can_open_https() and extras.is_phone_requested(settings.DATA_DIR):
        return extras.phone_status(settings.DATA_DIR).url
    here = request.build_absolute_uri("/").rstrip("/")
    # Browsers resolve every name under `localhost` to their own machine, so a phone cannot use it.
    name = urlsplit(here).hostname or ""
    return "" if name in LOOPBACK_HOSTS or name.endswith(".localhost") else here
