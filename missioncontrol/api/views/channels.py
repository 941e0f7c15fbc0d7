"""How people are notified: a project's channels, and the result of each delivery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from rest_framework.request import Request

from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.api import auth
from missioncontrol.api.auth import By, Projects, ReadableProjects
from missioncontrol.api.rest import Depends, Page, changes_in, get_or_404, page_of
from missioncontrol.api.routing import Router
from missioncontrol.api.views.pages import preferred_language
from missioncontrol.clock import now
from missioncontrol.notify import channels, services
from missioncontrol.notify.channels import NewChannel
from missioncontrol.notify.models import Channel, Delivery
from missioncontrol.wire.projects import (
    ChannelHears,
    ChannelRow,
    DeliveryRow,
    DeliveryStatus,
    Language,
)
from missioncontrol.wire.rows import StrictInt

api = Router()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPatch:
    """Absent fields stay as they are; empty texts end the quiet hours."""

    name: str | None = None
    address: str | None = None
    enabled: bool | None = None
    step_minutes: StrictInt | None = None
    quiet_from: str | None = None
    quiet_to: str | None = None
    hears: tuple[ChannelHears, ...] | None = None
    language: Language | None = None


TEST_LIMIT = RateLimit("test messages", per_caller=10, total=60)
# Each retry is up to eight calls to somebody else's server.
RETRY_LIMIT = RateLimit("messages sent again", per_caller=20, total=120)


def _find_channel(channel_id: UUID, projects: ReadableProjects) -> Channel:
    return get_or_404(Channel.objects.filter(project__in=projects), channel_id, "The channel")


FoundChannel = Annotated[Channel, Depends(_find_channel)]


def _find_owned_channel(request: Request, channel: FoundChannel) -> Channel:
    _check_owns(request, channel.project_id)
    return channel


OwnedChannel = Annotated[Channel, Depends(_find_owned_channel)]


def _find_delivery(delivery_id: UUID, projects: ReadableProjects) -> Delivery:
    return get_or_404(channels.find_deliveries(projects=projects), delivery_id, "The delivery")


FoundDelivery = Annotated[Delivery, Depends(_find_delivery)]


def _check_owns(request: Request, project: UUID) -> None:
    auth.check_owner(request, project, "Only an owner changes how people are reached.")
    # A fresh proof, because cards are sent there: a stolen session must not redirect them.
    auth.check_fresh_proof(request)


@api.get("channels/")
def channels_list(projects: Projects) -> list[ChannelRow]:
    """List notification channels, in the order in which they are used."""
    return channels.list_channels(projects=projects)


@api.post("channels/", status=201)
def channels_add(request: Request, body: NewChannel, by: By) -> ChannelRow:
    """Add a channel; owners only."""
    project = auth.resolve_writable_project(request, body.project)
    # A person could add an address of their own, which would be sent every card.
    _check_owns(request, project)
    return channels.show_channel(channels.add_channel(project, body, by=by, at=now()))


@api.get("channels/<uuid:channel_id>/")
def channels_read(channel: FoundChannel) -> ChannelRow:
    """Show a channel."""
    # Viewers too: the address is shown without its secret parts.
    return channels.show_channel(channel)


@api.patch("channels/<uuid:channel_id>/")
def channels_change(channel: OwnedChannel, body: ChannelPatch, by: By) -> ChannelRow:
    """Change a channel; owners only."""
    # An empty text is a change: it ends quiet hours.
    changes = changes_in(body)
    return channels.show_channel(channels.change_channel(channel, changes, by=by, at=now()))


@api.delete("channels/<uuid:channel_id>/")
def channels_remove(channel: OwnedChannel, by: By) -> None:
    """Remove a channel; owners only."""
    channels.remove_channel(channel, by=by, at=now())


@api.post("channels/<uuid:channel_id>/test/", status=202)
def channels_test(request: Request, channel: FoundChannel, by: By) -> DeliveryRow:
    """Send a test to a channel, even in quiet hours; the delivery shows the result."""
    # Whoever may answer may test: at night they need to know whether messages arrive.
    auth.check_may_act(request, channel.project_id)
    # Each test is a call to somebody else's server.
    TEST_LIMIT.acquire(str(request.user.pk), at=now())
    made = services.send_test(channel, project=channel.project_id, by=by, at=now())
    return _delivery_row(made, request)


@api.get("deliveries/")
def deliveries_list(
    request: Request,
    projects: Projects,
    status: list[DeliveryStatus],
    kind: list[str],
    channel: UUID | None,
    decision: UUID | None,
    run: UUID | None,
) -> Page[DeliveryRow]:
    """List notifications that were sent or are due, newest first; `?status=failed,waiting`."""
    found = channels.find_deliveries(
        projects=projects,
        statuses=status,
        kinds=kind,
        channel=channel,
        decision=decision,
        run=run,
    )
    return page_of(request, found, lambda delivery: _delivery_row(delivery, request))


@api.get("deliveries/<uuid:delivery_id>/")
def deliveries_read(request: Request, delivery: FoundDelivery) -> DeliveryRow:
    """Show a delivery."""
    return _delivery_row(delivery, request)


@api.post("deliveries/<uuid:delivery_id>/retry/", status=202)
def deliveries_retry(request: Request, delivery: FoundDelivery) -> DeliveryRow:
    """Retry a failed delivery, as often as a new one."""
    auth.check_may_act(request, delivery.project_id)
    RETRY_LIMIT.acquire(str(request.user.pk), at=now())
    channels.retry_delivery(delivery, at=now())
    delivery.refresh_from_db()  # it is waiting now
    return _delivery_row(delivery, request)


def _delivery_row(delivery: Delivery, request: Request) -> DeliveryRow:
    return channels.delivery_row(delivery, language=preferred_language(request))
