"""Requests of hooks that stay open: for people's answer to a permission, or beside a session.

An agent asks its own person's permission. What nobody answers here, and whatever goes wrong, is
answered with nothing: the agent's dialog stands at its terminal all the while.

The forwarder asks beside a session at rest (`guard hook AGENT --idle`), and is answered
`{"wake": text or null, "over": the session goes on or has ended, "since": n}`.

A witness (`guard.hooks.watcher`) vouches for the client and carries to it. It asks `{"witness",
"wait", "carries", "gone", "stopped"}`, and is answered
`{"over": nobody need stand by any more, "stop": reason or null, "text": or null}`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, cast
from uuid import UUID

from django.db.models import Q

from guard.adapters.base import Adapter
from guard.adapters.hook import HookEvent
from missioncontrol.api.agents import Sent, once_sent
from missioncontrol.api.endpoint import HUNG_UP, Request, Response, read_json_object, wait_seconds
from missioncontrol.api.web_process import dispatcher
from missioncontrol.clock import now
from missioncontrol.decisions import directives, permissions, sessions
from missioncontrol.decisions.directives import ControlState
from missioncontrol.decisions.models import Message
from missioncontrol.decisions.permissions import Outcome
from missioncontrol.errors import NotFound, existing
from missioncontrol.redaction import Redaction
from missioncontrol.runs.ingest import Stored
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import Run, Turn


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
            sent=lambda: dispatcher.note(
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
    last_seen, until, version = monotonic(), monotonic() + for_s, -1
    try:
        while (left_s := until - monotonic()) > 0:
            settled = dispatcher.read(lambda: permissions.outcome_of(card), outlasts=True)
            if outcome := await settled:
                return outcome
            # One that nobody heard of for long counts as closed: its server went away under it.
            if monotonic() - last_seen >= permissions.SEEN_EVERY_S:
                last_seen = monotonic()
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
    # Somebody may have answered since the last look; the request is still open to take it.
    return await dispatcher.read(lambda: permissions.outcome_of(card), outlasts=True)


def _respond(body: dict[str, Any], *, sent: Sent | None = None) -> Response:
    return Response(200, json.dumps(body).encode(), sent=sent)


async def claim_texts(
    run_id: UUID, *, agents: Collection[str | None] | None = None
) -> list[Message]:
    """Take the queued texts for this one answer."""
    while True:
        # By the clock once a thread is free: from then on an answer counts as about to leave.
        claimed = await dispatcher.run(
            lambda: sessions.claim_messages(run_id, at=now(), agents=agents)
        )
        if claimed is not None:
            return claimed
        # They leave with another answer, within milliseconds; or its process was killed, and they
        # are for this one, whose call may be answered by nothing else.
        await asyncio.sleep(SETTLES_WITHIN_S)


# Until those who take texts at once are looked at again.
SETTLES_WITHIN_S = 0.2
WITNESS_CHARS = 32
# A hook that held a call has the first word; what it left is carried after this.
HOOKS_FIRST_S = 1.0


async def wait_for_message(run: Run, request: Request) -> Response:
    """Answer with the run's queued messages, or when it no longer rests, or in time."""
    asked = read_json_object(request.body)
    # From where the first of its questions stood: what came between two of them counts.
    since = asked["since"] if isinstance(asked.get("since"), int) else run.meters.last_obs
    until = monotonic() + wait_seconds(str(asked.get("wait", 0)))

    def look(control: ControlState) -> tuple[bool, list[Message]]:
        # A session that spoke to itself still rests; one that
        # was told something or called a tool does not.
        activity = Q(role__in=["user", "system"]) | Q(tool__isnull=False)
        later = Turn.objects.filter(activity, run=run, obs__gt=since)
        if control.forbidden or control.status in ENDED or later.exists():
            return True, []
        # What another answer carries comes to this one at the next look, if that never leaves.
        texts = sessions.claim_messages(run.id, at=now()) if control.queued_messages else None
        return False, texts or []

    control = await dispatcher.control_state(run.id)
    while control is not None:
        is_over, texts = await dispatcher.run(partial(look, control))
        left_s = until - monotonic()
        if is_over or texts or left_s <= 0:
            body = {"wake": _joined(texts), "over": is_over, "since": since}
            return _respond(body, sent=_once_carried(run.id, control, texts))
        control = await dispatcher.rested(run.id, after=control.version, timeout_s=left_s)
        await request.check_key()
    raise NotFound("The run")


async def stand_by(run: Run, request: Request) -> Response:
    """Take a process's word for its client; with `wait`, answer when there is a deed for it."""
    asked = read_json_object(request.body)
    witness = str(asked.get("witness", ""))[:WITNESS_CHARS]
    if asked.get("gone") is True:
        await dispatcher.run(lambda: sessions.lose_process(run.id, witness=witness, at=now()))
        return _tell(over=True)
    # Its client was stopped on purpose: no one is missed.
    if asked.get("stopped") is True:
        await dispatcher.run(lambda: sessions.end_session(run.id, at=now()))
        return _tell(over=False)
    is_live = await dispatcher.run(
        lambda: sessions.vouch(run.id, witness=witness, for_s=sessions.PROMISE_S, at=now())
    )
    if not is_live or asked.get("carries") is not True or request.key.reports_only:
        return _tell(over=not is_live)
    until = monotonic() + wait_seconds(str(asked.get("wait", 0)))
    while True:
        control = existing(await dispatcher.control_state(run.id), "The run")
        left_s = until - monotonic()
        # A stop before texts: whoever is to end is told nothing more.
        if control.status == Status.STOPPING:
            return _tell(stop=control.reason)
        if control.queued_messages and not control.on_hold:
            await asyncio.sleep(HOOKS_FIRST_S)
            if texts := await claim_texts(run.id):
                return _tell(text=_joined(texts), sent=_once_carried(run.id, control, texts))
        if left_s <= 0:
            return _tell()
        await dispatcher.rested(run.id, after=control.version, timeout_s=left_s)
        await request.check_key()


def _joined(texts: Collection[Message]) -> str | None:
    return "\n\n".join(message.text for message in texts) or None


def _once_carried(run_id: UUID, control: ControlState, texts: Collection[Message]) -> Sent | None:
    return once_sent(run_id, control, texts=[str(text.id) for text in texts]) if texts else None


def _tell(
    *,
    over: bool = False,
    stop: str | None = None,
    text: str | None = None,
    sent: Sent | None = None,
) -> Response:
    return _respond({"over": over, "stop": stop, "text": text}, sent=sent)
