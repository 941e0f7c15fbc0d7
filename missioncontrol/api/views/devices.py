"""Your browsers: which take pushes, and how a phone joins them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

import segno
from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol import extras
from missioncontrol.accounts import browsers, certificates, pairing, ways
from missioncontrol.accounts.models import Browser
from missioncontrol.accounts.pace import Pace
from missioncontrol.api import auth
from missioncontrol.api.rest import read_body, row_of
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, InvalidRequest, NotFound, Unavailable
from missioncontrol.notify import devices, services, vapid
from missioncontrol.notify.devices import Tried
from missioncontrol.notify.models import Device
from missioncontrol.projects import access
from missioncontrol.wire.devices import DeviceRow, PairingRow, PushRow, Reach

DOORS = Pace("the way in for phones", most=10, in_all=30)
PAIRINGS = Pace("pairings", most=10, in_all=100)
TESTS = Pace("test notifications", most=6, in_all=60)
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PushKeys:
    """The browser's half: what a push to it is encrypted with."""

    p256dh: str
    auth: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPush:
    """A browser's push subscription, as `PushSubscription.toJSON()` tells it."""

    endpoint: str
    keys: PushKeys
    vapid_key: str
    """The key it subscribed with: `devices/reach/` says which."""
    time_zone: str = "UTC"
    language: str | None = None
    """Absent: as it was."""
    name: str | None = None
    """What the device calls itself, where it tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePatch:
    """What is absent stays; quiet hours end with both set to an empty text."""

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


class Devices(APIView):
    @described("devices_list")
    def get(self, request: Request) -> list[DeviceRow]:
        """List the browsers in which you are signed in, the latest seen first."""
        this = _this(request)
        mine = list(browsers.browsers_of(auth.person_of(request)).select_related("device"))
        # One query for all of them.
        tried = devices.last_tried([push for browser in mine if (push := _push_of(browser))])
        return [_row(browser, this, tried) for browser in mine]


class ReachView(APIView):
    @described("devices_reach")
    def get(self, request: Request) -> Reach:
        """Say where a phone reaches this installation, and what it can do there."""
        return _reach(request)

    @described("devices_open", takes=ReachPatch)
    def patch(self, request: Request) -> Reach:
        """Open HTTPS to the local network of this machine, or close it; owners only."""
        asked = read_body(request, ReachPatch)
        auth.check_by_hand(request)
        if not auth.owned_projects(request):
            raise Forbidden("Only who owns a project opens this machine to its network.")
        # Where the operator chose the way in, it is not for a page to open another.
        if not _has_door():
            raise Unavailable("How phones reach this installation was decided when it was started.")
        # Closing takes a way in away: it needs no proof.
        if asked.is_open:
            auth.check_recent(request)
        # Opening and closing restarts a listener: not as often as somebody can tap.
        DOORS.check(str(request.user.pk), at=now())
        extras.ask_for_phone(settings.DATA_DIR, on=asked.is_open)
        access.record_phones(
            auth.person_of(request), on=asked.is_open, by=auth.name_of(request), at=now()
        )
        return _reach(request)


class Certificate(APIView):
    @described("devices_certificate", files=("application/x-x509-ca-cert",))
    def get(self, request: Request) -> HttpResponse:
        """Fetch the certificate a phone may be told to trust: the one this machine made."""
        found = certificates.authority(settings.DATA_DIR)
        if found is None:
            raise NotFound("A certificate of this machine")
        response = HttpResponse(found, content_type="application/x-x509-ca-cert")
        response["Content-Disposition"] = 'attachment; filename="mission-control.crt"'
        return response


class OneDevice(APIView):
    @described("devices_change", takes=DevicePatch)
    def patch(self, request: Request, device_id: UUID) -> DeviceRow:
        """Name a browser, or change how pushes reach it."""
        browser = _find(request, device_id)
        asked = asdict(read_body(request, DevicePatch))
        changes = {name: value for name, value in asked.items() if value is not None}
        access.change_device(browser, changes, by=auth.name_of(request), at=now())
        # Read anew: its push may have changed with it.
        return _row(_find(request, device_id), _this(request))

    @described("devices_sign_out")
    def delete(self, request: Request, device_id: UUID) -> None:
        """Sign a browser out, wherever it is; its notifications close, and no more reach it."""
        auth.check_by_hand(request)
        browser = _find(request, device_id)
        access.sign_out(browser, by=auth.name_of(request), at=now())


class ThisPush(APIView):
    @described("devices_subscribe", takes=NewPush, status=201)
    def post(self, request: Request) -> DeviceRow:
        """Have the browser that asks take pushes."""
        browser = _this(request)
        if browser is None:
            raise InvalidRequest("Only a signed-in browser takes pushes, not a token.")
        asked = read_body(request, NewPush)
        # A phone's own name says more than its kind, which is all that its User-Agent tells.
        if asked.name and browser.name in {"Android", "iPhone", "iPad"}:
            browsers.rename(browser, asked.name)
        # Said to the browser: else it would show a switch that does nothing.
        if not settings.VAPID_PRIVATE_KEY:
            raise Unavailable(str(vapid.NoKey()))
        # A browser renews its subscription by itself: that is nothing for the record.
        is_first = _push_of(browser) is None
        devices.subscribe(
            browser,
            endpoint=asked.endpoint,
            p256dh=asked.keys.p256dh,
            auth=asked.keys.auth,
            vapid_key=asked.vapid_key,
            time_zone=asked.time_zone,
            language=asked.language,
            at=now(),
        )
        if is_first:
            access.record_push(browser, on=True, at=now())
        return _row(_find(request, browser.id), browser)

    @described("devices_unsubscribe")
    def delete(self, request: Request) -> None:
        """Have the browser that asks take no more pushes."""
        browser = _this(request)
        if browser and Device.objects.filter(browser=browser).delete()[0]:
            access.record_push(browser, on=False, at=now())


class TryDevice(APIView):
    @described("devices_test", status=202)
    def post(self, request: Request, device_id: UUID) -> None:
        """Send a browser a test notification, quiet hours or not."""
        device = _push_of(_find(request, device_id))
        # A notice is of a project, a test too: any of theirs will do.
        project = ways.open_memberships_of(auth.person_of(request)).first()
        if device is None or project is None:
            raise NotFound("A browser that takes pushes")
        TESTS.check(str(request.user.pk), at=now())
        services.send_test(device, project=project.project_id, by=auth.name_of(request), at=now())


class Pairings(APIView):
    @described("pairings_offer", status=201)
    def post(self, request: Request) -> PairingRow:
        """Make a link and a code that sign one phone in, once, within ten minutes."""
        auth.check_by_hand(request)
        auth.check_recent(request)
        PAIRINGS.check(str(request.user.pk), at=now())
        base = address_for_phones(request)
        if not base:
            raise Unavailable(
                "Only who is at this machine reaches it: start with --https or --lan."
            )
        made = pairing.offer(user=auth.person_of(request), at=now())
        url = f"{base}/login/{made.secret}/"
        # As an address of data: the secret in it goes through no second request.
        picture = segno.make(url, error="m", micro=False).svg_data_uri(border=2)
        # Here alone: of what is kept, neither link nor code can be shown again.
        return PairingRow(
            id=made.id,
            status="waiting",
            expires_at=made.expires_at,
            url=url,
            code=made.code,
            code_url=f"{base}/pair",
            qr=picture,
        )


class OnePairing(APIView):
    @described("pairings_read")
    def get(self, request: Request, pairing_id: UUID) -> PairingRow:
        """Say whether the phone has come."""
        link = pairing.find(pairing=pairing_id, user=auth.person_of(request))
        if link is None:
            raise NotFound("The pairing")
        if link.used_at is not None:
            device = _row(link.browser, _this(request)) if link.browser else None
            return PairingRow(
                id=link.id, status="paired", expires_at=link.expires_at, device=device
            )
        # Told apart from *waiting*, so that the page offers a new one by itself.
        is_over = link.expires_at <= now()
        status: Literal["expired", "waiting"] = "expired" if is_over else "waiting"
        return PairingRow(id=link.id, status=status, expires_at=link.expires_at)


def _this(request: Request) -> Browser | None:
    """Return the browser that asks; None: it is a script with a token."""
    if request.auth is not None:
        return None
    return browsers.present(
        request.session,
        user=auth.person_of(request),
        # Only to name it: a browser is known by its session.
        agent=request.headers.get("User-Agent", ""),
        at=now(),
    )


def _find(request: Request, device_id: UUID) -> Browser:
    mine = browsers.browsers_of(auth.person_of(request)).select_related("device")
    found = mine.filter(pk=device_id).first()
    if found is None:
        raise NotFound("The device")
    return found


def _push_of(browser: Browser) -> Device | None:
    return getattr(browser, "device", None)


def _row(
    browser: Browser, this: Browser | None, tried: dict[UUID, Tried] | None = None
) -> DeviceRow:
    push = None
    if device := _push_of(browser):
        # A list reads them for all its browsers at once.
        if tried is None:
            tried = devices.last_tried([device])
        last = tried.get(device.id, Tried())
        push = row_of(
            PushRow,
            device,
            quiet_from=device.quiet_from.strftime("%H:%M") if device.quiet_from else None,
            quiet_to=device.quiet_to.strftime("%H:%M") if device.quiet_to else None,
            last_sent_at=last.sent_at,
            last_failed_at=last.failed_at,
            last_error=last.error or None,
            # With another key each push is refused; the page then subscribes anew.
            is_current=device.vapid_key == _push_key(),
        )
    kind = "phone" if browser.kind == "phone" else "desktop"
    is_this = this is not None and this.id == browser.id
    return row_of(DeviceRow, browser, kind=kind, is_this=is_this, push=push)


def _reach(request: Request) -> Reach:
    door: Literal["closed", "opening", "open", "failed"] | None = None
    if auth.owned_projects(request) and _has_door():
        status = extras.phone_status(settings.DATA_DIR)
        if not extras.phone_asked(settings.DATA_DIR):
            door = "failed" if status.problem else "closed"
        else:
            door = "open" if status.url else "opening"
    url = address_for_phones(request)  # read later: whoever hears that it is open hears where
    is_secure = url.startswith("https://")
    # A proxy in front of us shows a certificate of its own.
    is_own = is_secure and url != settings.PUBLIC_URL.rstrip("/")
    return Reach(
        url=url,
        is_secure=is_secure,
        certificate=certificates.fingerprint(settings.DATA_DIR) if is_own else None,
        push_key=_push_key(),
        door=door,
        door_port=settings.HTTPS_PORT,
        door_problem=extras.phone_status(settings.DATA_DIR).problem,
    )


def _has_door() -> bool:
    """HTTPS opens on request: `up` runs us, and gave phones no way in when it started."""
    return settings.IS_SUPERVISED and not settings.PHONE_URL


def _push_key() -> str | None:
    return vapid.public_key() if settings.VAPID_PRIVATE_KEY else None


def base_of_links(request: Request) -> tuple[str, bool]:
    """Return what a link for others begins with, and whether it opens on this machine alone."""
    reached = settings.PUBLIC_URL.rstrip("/") or address_for_phones(request)
    return reached or request.build_absolute_uri("/").rstrip("/"), not reached


def address_for_phones(request: Request) -> str:
    """Return where a phone comes in; else what this page was reached by, if not loopback."""
    if settings.PHONE_URL:
        return str(settings.PHONE_URL).rstrip("/")
    if _has_door() and extras.phone_asked(settings.DATA_DIR):
        return extras.phone_status(settings.DATA_DIR).url
    here = request.build_absolute_uri("/").rstrip("/")
    # Browsers find every name under `localhost` on this machine; a phone finds none.
    name = urlsplit(here).hostname or ""
    return "" if name in LOOPBACK or name.endswith(".localhost") else here
