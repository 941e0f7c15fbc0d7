"""A session at rest: keep its question open until there is a message for it.

What the forwarder asks beside a resting session (`guard hook AGENT --idle`), and our own
answer to it: `{"wake": text or null, "over": the session goes on or has ended, "since": n}`.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from django.db.models import Q

from missioncontrol.api.agents import once_sent
from missioncontrol.api.endpoint import Request, Response, read_json_object, wait_seconds
from missioncontrol.api.web_process import dispatcher
from missioncontrol.clock import now
from missioncontrol.decisions import sessions
from missioncontrol.decisions.directives import ControlState
from missioncontrol.errors import NotFound
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run, Turn


async def wait_for_message(run: Run, request: Request) -> Response:
    """Answer with the run's queued messages, or when it no longer rests, or in time."""
    asked = read_json_object(request.body)
    # From where the first of its questions stood: what came between two of them counts.
    since = asked["since"] if isinstance(asked.get("since"), int) else run.meters.last_obs
    until = asyncio.get_running_loop().time() + wait_seconds(str(asked.get("wait", 0)))

    def look(control: ControlState) -> dict[str, Any]:
        # A session that spoke to itself still rests; one that
        # was told something or called a tool does not.
        activity = Q(role__in=["user", "system"]) | Q(tool__isnull=False)
        later = Turn.objects.filter(activity, run=run, obs__gt=since)
        if control.forbidden or control.status in ENDED or later.exists():
            return {"over": True}
        claimed = sessions.claim_messages(run.id, at=now()) if control.queued_messages else []
        return {"wake": "\n\n".join(message.text for message in claimed)} if claimed else {}

    control = await dispatcher.control_state(run.id)
    while control is not None:
        news = await dispatcher.run(partial(look, control))
        left_s = until - asyncio.get_running_loop().time()
        if news or left_s <= 0:
            body = json.dumps({"wake": None, "over": False, "since": since} | news).encode()
            return Response(
                200, body, sent=once_sent(run.id, control) if news.get("wake") else None
            )
        control = await dispatcher.rested(run.id, after=control.version, timeout_s=left_s)
    raise NotFound("The run")
