"""The demo: three agents to look at, started and removed by a tap."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol import extras
from missioncontrol.accounts.pace import Pace
from missioncontrol.api import auth
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, Unavailable
from missioncontrol.projects import demo

STARTS = Pace("demos", most=10, in_all=30)


class Demo(APIView):
    @described("demo_start", status=202)
    def post(self, request: Request) -> None:
        """Start three agents in projects of their own; for who owns a project."""
        _check_owner(request)
        STARTS.check(str(request.user.pk), at=now())
        # A web process starts no program; without `up` nobody would read what it asks.
        if not settings.IS_SUPERVISED:
            raise Unavailable("Only `manage.py up` starts the demo's agents.")
        demo.start_demo(auth.person_of(request), at=now())

    @described("demo_remove")
    def delete(self, request: Request) -> None:
        """End the demo's agents and archive their projects."""
        _check_owner(request)
        demo.remove_demo(auth.person_of(request), at=now())


def demo_state(request: Request) -> Literal["off", "running"] | None:
    """Say whether the caller's demo runs; None: they cannot start or remove one."""
    if not settings.IS_SUPERVISED or not auth.owned_projects(request):
        return None
    running = extras.demo_asked(settings.DATA_DIR)
    if running is None:
        return "off"
    # Somebody else's runs: it is theirs to end.
    return "running" if running.owner == auth.person_of(request).get_username() else None


def _check_owner(request: Request) -> None:
    if not auth.owned_projects(request):
        raise Forbidden("Only who owns a project starts and removes the demo.")
