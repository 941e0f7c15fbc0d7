"""How people are reached: a project's channels, and what became of each delivery."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.accounts.pace import Pace
from missioncontrol.api import auth
from missioncontrol.api.rest import Page, identity, page_of, read_body, words
from missioncontrol.api.schema import described
from missioncontrol.api.views.signing_in import preferred_language
from missioncontrol.clock import now
from missioncontrol.notify import channels, selectors, services
from missioncontrol.notify.models import Channel, Delivery
from missioncontrol.wire.notices import (
    ChannelHears,
    ChannelKind,
    ChannelRow,
    DeliveryRow,
    Language,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChannel:
    """A way to reach people; `project` where the person has several."""

    kind: ChannelKind
    name: str
    address: str
    """Kept sealed, and never shown again."""
    project: UUID | None = None
    enabled: bool = True
    step_minutes: int = 0
    """0: told at once; else only if nobody answered so long."""
    quiet_from: str | None = None
    """"22:00", in the project's time zone."""
    quiet_to: str | None = None
    hears: tuple[ChannelHears, ...] = ("decisions", "budgets")
    language: Language = "en"
    """What it is told in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPatch:
    """What is absent stays; quiet hours are ended by empty texts."""

    name: str | None = None
    address: str | None = None
    enabled: bool | None = None
    step_minutes: int | None = None
    quiet_from: str | None = None
    quiet_to: str | None = None
    hears: tuple[ChannelHears, ...] | None = None
    language: Language | None = None


TESTS = Pace("test messages", most=10, in_all=60)
# Each is up to eight calls to somebody else's server.
RETRIES = Pace("messages sent again", most=20, in_all=120)
# One list for adding and changing: an option that one of them forgot would be lost.
RULES = ("enabled", "step_minutes", "quiet_from", "quiet_to", "hears", "language")


class Channels(APIView):
    @described("channels_list", query=("project",))
    def get(self, request: Request) -> list[ChannelRow]:
        """List how people are reached, in the order they are told."""
        return selectors.channels(projects=auth.projects_of(request))

    @described("channels_add", takes=NewChannel, status=201)
    def post(self, request: Request) -> ChannelRow:
        """Add a channel; owners only."""
        asked = read_body(request, NewChannel)
        project = auth.writable_project(request, asked.project)
        # An address of their own would be told of every card.
        _check_owns(request, project)
        channel = channels.add_channel(
            project,
            kind=asked.kind,
            name=asked.name,
            address=asked.address,
            rules={name: getattr(asked, name) for name in RULES},
            by=auth.name_of(request),
            at=now(),
        )
        return selectors.show_channel(channel)


class OneChannel(APIView):
    @described("channels_read")
    def get(self, request: Request, channel_id: UUID) -> ChannelRow:
        """Show a channel."""
        # Viewers too: the address is shown without what is secret in it.
        found = selectors.channel(channel_id, projects=auth.projects_of(request))
        return selectors.show_channel(found)

    @described("channels_change", takes=ChannelPatch)
    def patch(self, request: Request, channel_id: UUID) -> ChannelRow:
        """Change a channel; owners only."""
        channel = _owned(request, channel_id)
        asked = read_body(request, ChannelPatch)
        given = {name: getattr(asked, name) for name in ("name", "address", *RULES)}
        # An empty text is a change: it ends quiet hours.
        changes = {name: value for name, value in given.items() if value is not None}
        changed = channels.change_channel(channel, changes, by=auth.name_of(request), at=now())
        return selectors.show_channel(changed)

    @described("channels_remove")
    def delete(self, request: Request, channel_id: UUID) -> None:
        """Remove a channel; owners only."""
        channels.remove_channel(_owned(request, channel_id), by=auth.name_of(request), at=now())


class ChannelTest(APIView):
    @described("channels_test", status=202)
    def post(self, request: Request, channel_id: UUID) -> DeliveryRow:
        """Send a channel a test, quiet hours or not; the delivery says what comes of it."""
        channel = selectors.channel(channel_id, projects=auth.projects_of(request))
        # Who may answer may test: whether it arrives is what they need to know at night.
        auth.check_may_act(request, channel.project_id)
        # Each is a call to somebody else's server.
        TESTS.check(str(request.user.pk), at=now())
        made = services.send_test(
            channel, project=channel.project_id, by=auth.name_of(request), at=now()
        )
        return _row(made, request)


class Deliveries(APIView):
    @described("deliveries_list", query=("status", "kind", "channel", "decision", "run", "project"))
    def get(self, request: Request) -> Page[DeliveryRow]:
        """List what people were told or are to be, newest first; `?status=failed,waiting`."""
        found = selectors.deliveries(
            projects=auth.projects_of(request),
            statuses=words(request, "status"),
            kinds=words(request, "kind"),
            channel=identity(request, "channel"),
            decision=identity(request, "decision"),
            run=identity(request, "run"),
        )
        return page_of(request, found, lambda delivery: _row(delivery, request))


class OneDelivery(APIView):
    @described("deliveries_read")
    def get(self, request: Request, delivery_id: UUID) -> DeliveryRow:
        """Show a delivery."""
        found = selectors.delivery(delivery_id, projects=auth.projects_of(request))
        return _row(found, request)


class DeliveryRetry(APIView):
    @described("deliveries_retry", status=202)
    def post(self, request: Request, delivery_id: UUID) -> DeliveryRow:
        """Try a failed delivery again, as often as a new one."""
        mine = auth.projects_of(request)
        delivery = selectors.delivery(delivery_id, projects=mine)
        auth.check_may_act(request, delivery.project_id)
        RETRIES.check(str(request.user.pk), at=now())
        channels.try_again(delivery, at=now())
        # Read anew: it is another now.
        return _row(selectors.delivery(delivery_id, projects=mine), request)


def _row(delivery: Delivery, request: Request) -> DeliveryRow:
    return selectors.delivery_row(delivery, language=preferred_language(request))


def _owned(request: Request, channel_id: UUID) -> Channel:
    channel = selectors.channel(channel_id, projects=auth.projects_of(request))
    _check_owns(request, channel.project_id)
    return channel


def _check_owns(request: Request, project: UUID) -> None:
    auth.check_owns(request, project, "Only an owner changes how people are reached.")
    # Where cards go is a way out for what stands on them: a stolen session does not move it.
    auth.check_recent(request)
