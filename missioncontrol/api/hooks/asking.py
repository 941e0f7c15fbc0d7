"""An agent asks its own person's permission: keep its request open for people's answer.

What nobody answers here, and whatever goes wrong, is answered with nothing: the agent's
dialog stands at its terminal all the while.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from guard.adapters.base import Adapter
from guard.adapters.hook import HookEvent
from missioncontrol.api.endpoint import HUNG_UP, Response
from missioncontrol.api.web_process import dispatcher
from missioncontrol.clock import now
from missioncontrol.decisions import directives, permissions
from missioncontrol.decisions.permissions import Outcome
from missioncontrol.redaction import Redaction
from missioncontrol.runs.ingest import Stored


async def ask(
    adapter: Adapter, event: HookEvent, run_id: UUID, *, for_s: float, own: Redaction
) -> Response:
    """Ask people about the call, and answer what they say within some seconds."""
    card = None
    if event.asks is not None:
        call = replace(event.asks, agent=event.subagent or event.client)
        keeps = event.wiring.is_headless
        # A task: once it is asked the card opens, whatever becomes of the request.
        opening = asyncio.create_task(
            dispatcher.run(
                lambda: permissions.ask(run_id, call, for_s=for_s, at=now(), keeps=keeps, own=own)
            )
        )
        try:
            card = await asyncio.shield(opening)
        except asyncio.CancelledError as ended:
            # Who hangs up meanwhile has left a card that opens all the same.
            if HUNG_UP in ended.args and (left := await opening):
                await dispatcher.run(lambda: permissions.leave(run_id, left, at=now()))
            raise
    outcome = await _outcome(run_id, card, for_s=for_s) if card else None
    # Looked at last: a run that was stopped meanwhile is allowed nothing.
    control = await dispatcher.control_state(run_id)
    if control is None:
        return _respond({})
    if card and outcome and outcome.is_answer and not control.forbidden:
        answer, shown = cast(Any, outcome.resolution), card
        event = replace(event, answered=answer, answer_text=outcome.message)
        return _respond(
            adapter.answer(event, directives.directive(control, asked_seq=None)),
            sent=lambda: dispatcher.run(
                lambda: permissions.note_delivered(run_id, shown, at=now())
            ),
        )
    return _respond(adapter.answer(event, directives.directive(control, asked_seq=None)))


async def follow(event: HookEvent, stored: Stored) -> None:
    """Close what was answered at the terminal, as the agent's next deed tells."""
    if not stored.run.meters.open_permissions or event.asks is not None:
        return
    turn = event.turns[0] if event.turns else None
    done = turn is not None and turn.tool is not None and not turn.is_proposed
    # A session that rests, or is given a new task, waits for no permission any more.
    starts_over = event.presence == "idle" or event.prompt is not None
    # That agent's alone: another one of the session may still wait.
    rests = (event.subagent or event.client) if starts_over else ""
    if done or rests:
        seq = stored.asked_seq if done else None
        await dispatcher.run(
            lambda: permissions.follow(stored.run.id, done_seq=seq, rests=rests, at=now())
        )


async def _outcome(run_id: UUID, card: UUID, *, for_s: float) -> Outcome | None:
    """Wait until the question is settled, or time is up; look whenever the run moves."""
    last_seen, until, version = _now(), _now() + for_s, -1
    try:
        while (left_s := until - _now()) > 0:
            settled = dispatcher.read(lambda: permissions.outcome_of(card), outlasts=True)
            if outcome := await settled:
                return outcome
            # One that nobody heard of for long counts as closed: its server went away under it.
            if _now() - last_seen >= permissions.HEARD_EVERY_S:
                last_seen = _now()
                await dispatcher.run(lambda: permissions.hear(card, at=now()))
            control = await dispatcher.rested(run_id, after=version, timeout_s=left_s)
            if control is None:
                return Outcome(resolution="ended")
            version = control.version
    except asyncio.CancelledError as ended:
        if HUNG_UP in ended.args:
            await dispatcher.run(lambda: permissions.leave(run_id, card, at=now()))
        raise
    await dispatcher.run(lambda: permissions.settle(run_id, card, resolution="timed_out", at=now()))
    return None


def _respond(
    body: dict[str, Any], *, sent: Callable[[], Awaitable[None]] | None = None
) -> Response:
    return Response(200, json.dumps(body).encode(), sent=sent)


def _now() -> float:
    return asyncio.get_running_loop().time()
