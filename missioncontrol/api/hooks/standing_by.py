"""Our own processes beside a session: their questions stay open until there is something to do.

The forwarder asks beside a session at rest (`guard hook AGENT --idle`), and is answered
`{"wake": text or null, "over": the session goes on or has ended, "since": n}`.

A witness (`guard.hooks.watcher`) vouches for the client and carries to it. It asks `{"witness",
"wait", "carries", "gone", "stopped"}`, and is answered
`{"over": nobody need stand by any more, "stop": reason or null, "text": or null}`.
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
from missioncontrol.errors import NotFound, existing
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import Run, Turn

WITNESS_CHARS = 32
# A hook that held a call has the first word; what it left is carried after this.
HOOKS_FIRST_S = 1.0


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
        await request.check_key()
    raise NotFound("The run")


async def stand_by(run: Run, request: Request) -> Response:
    """Take a process's word for its client; with `wait`, answer when there is a deed for it."""
    asked = read_json_object(request.body)
    witness = str(asked.get("witness", ""))[:WITNESS_CHARS]
    if asked.get("gone") is True:
        await dispatcher.run(lambda: sessions.lose_process(run.id, witness=witness, at=now()))
        return _respond(over=True)
    # Its client was stopped on purpose: no one is missed.
    if asked.get("stopped") is True:
        await dispatcher.run(lambda: sessions.end_session(run.id, at=now()))
        return _respond(over=False)
    is_live = await dispatcher.run(
        lambda: sessions.vouch(run.id, witness=witness, for_s=sessions.PROMISE_S, at=now())
    )
    if not is_live or asked.get("carries") is not True or request.key.reports_only:
        return _respond(over=not is_live)
    until = asyncio.get_running_loop().time() + wait_seconds(str(asked.get("wait", 0)))
    while True:
        control = existing(await dispatcher.control_state(run.id), "The run")
        left_s = until - asyncio.get_running_loop().time()
        # A stop before texts: whoever is to end is told nothing more.
        if control.status == Status.STOPPING:
            return _respond(stop=control.reason)
        if control.queued_messages and not control.on_hold:
            await asyncio.sleep(HOOKS_FIRST_S)
            claimed = await dispatcher.run(partial(sessions.claim_messages, run.id, at=now()))
            text = "\n\n".join(message.text for message in claimed)
            if text:
                return _respond(text=text)
        if left_s <= 0:
            return _respond()
        await dispatcher.rested(run.id, after=control.version, timeout_s=left_s)
        await request.check_key()


def _respond(*, over: bool = False, stop: str | None = None, text: str | None = None) -> Response:
    body: dict[str, Any] = {"over": over, "stop": stop, "text": text}
    return Response(200, json.dumps(body).encode())
