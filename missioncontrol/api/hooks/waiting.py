"""Requests of hooks that stay open: until people answer a permission, or while a session rests.

An agent asks for its own person's permission. If nobody answers here, or anything goes wrong, the
answer is empty: the agent's dialog stays open at its terminal all the while.

The forwarder waits beside a session at rest (`guard hook AGENT --idle`), and is answered
`{"wake": text or null, "over": the session goes on or has ended, "since": n}`.

A witness (`guard.hooks.watcher`) vouches for the client and passes texts to it. It sends
`{"witness", "wait", "carries", "gone", "stopped"}`, and is answered
`{"over": no witness is needed any more, "stop": reason or null, "text": or null}`.
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
from missioncontrol.api.agents import AfterSend, delivery_callback
from missioncontrol.api.endpoint import (
    CLIENT_DISCONNECTED,
    Request,
    Response,
    read_json_object,
    read_wait_s,
)
from missioncontrol.api.web_process import dispatcher
from missioncontrol.clock import now
from missioncontrol.decisions import directives, permissions, sessions
from missioncontrol.decisions.directives import ControlState
from missioncontrol.decisions.models import Message
from missioncontrol.decisions.permissions import Outcome
from missioncontrol.errors import NotFound, ensure_found
from missioncontrol.redaction import Redaction
from missioncontrol.runs.ingest import IngestResult
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import Run, Turn


async def ask(
    adapter: Adapter, event: HookEvent, run_id: UUID, *, for_s: float, own: Redaction
) -> Response:
    """Ask people about the call, and return their answer if it comes within the time allowed."""
    card = None
    if event.asks is not None:
        call = replace(event.asks, agent=event.subagent or event.client)
        keeps = event.wiring.is_headless
        # In a task: once asked for, the card opens, whatever happens to the request.
        opening = asyncio.create_task(
            dispatcher.run(
                lambda: permissions.ask(run_id, call, for_s=for_s, at=now(), keeps=keeps, own=own)
            )
        )
        try:
            card = await asyncio.shield(opening)
        except asyncio.CancelledError as ended:
            # If the caller hangs up meanwhile, the card opens all the same and must be left.
            if CLIENT_DISCONNECTED in ended.args and (left := await opening):
                await dispatcher.run(lambda: permissions.leave(run_id, left, at=now()))
            raise
    outcome = await _outcome(run_id, card, for_s=for_s) if card else None
    # Read last: a run that was stopped meanwhile is allowed nothing.
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


async def follow(event: HookEvent, stored: IngestResult) -> None:
    """Close what was answered at the terminal, as the agent's next action shows."""
    if not stored.run.meters.open_permissions or event.asks is not None:
        return
    turn = event.turns[0] if event.turns else None
    done = turn is not None and turn.tool is not None and not turn.is_proposed
    # A session that rests, or is given a new task, no longer waits for a permission.
    starts_over = event.presence == "idle" or event.prompt is not None
    # Only for that agent: another one of the session may still wait.
    rests = (event.subagent or event.client) if starts_over else ""
    if done or rests:
        seq = stored.asked_seq if done else None
        await dispatcher.run(
            lambda: permissions.follow(stored.run.id, done_seq=seq, rests=rests, at=now())
        )


async def _outcome(run_id: UUID, card: UUID, *, for_s: float) -> Outcome | None:
    """Wait until the question is settled, or time is up; check whenever the run changes."""
    last_seen, until, version = monotonic(), monotonic() + for_s, -1
    try:
        while (left_s := until - monotonic()) > 0:
            settled = dispatcher.read(lambda: permissions.outcome_of(card), outlasts=True)
            if outcome := await settled:
                return outcome
            # Keep it open: a question that no server has waited for lately counts as closed.
            if monotonic() - last_seen >= permissions.SEEN_EVERY_S:
                last_seen = monotonic()
                await dispatcher.run(lambda: permissions.hear(card, at=now()))
            control = await dispatcher.rested(run_id, after=version, timeout_s=left_s)
            if control is None:
                return Outcome(resolution="ended")
            version = control.version
    except asyncio.CancelledError as ended:
        if CLIENT_DISCONNECTED in ended.args:
            await dispatcher.run(lambda: permissions.leave(run_id, card, at=now()))
        raise
    await dispatcher.run(lambda: permissions.settle(run_id, card, resolution="timed_out", at=now()))
    # Somebody may have answered since the last check; the request can still return it.
    return await dispatcher.read(lambda: permissions.outcome_of(card), outlasts=True)


def _respond(body: dict[str, Any], *, sent: AfterSend | None = None) -> Response:
    return Response(200, json.dumps(body).encode(), sent=sent)


async def claim_texts(
    run_id: UUID, *, agents: Collection[str | None] | None = None
) -> list[Message]:
    """Claim the queued texts for this one answer."""
    while True:
        # The clock is read once a thread is free: from then on an answer counts as about to leave.
        claimed = await dispatcher.run(
            lambda: sessions.claim_messages(run_id, at=now(), agents=agents)
        )
        if claimed is not None:
            return claimed
        # They leave with another answer, within milliseconds. If that answer's process was killed,
        # they go with this one: its call may get no other answer.
        await asyncio.sleep(SETTLES_WITHIN_S)


# The wait before texts that another answer is taking are looked at again.
SETTLES_WITHIN_S = 0.2
WITNESS_CHARS = 32
# A hook that held a call delivers first; what it left is passed on after this.
HOOKS_FIRST_S = 1.0


async def wait_for_message(run: Run, request: Request) -> Response:
    """Answer with the run's queued messages, or when it no longer rests, or when time is up."""
    asked = read_json_object(request.body)
    # Count from where its first question stood, so that what happened between two of them counts.
    since = asked["since"] if isinstance(asked.get("since"), int) else run.meters.last_obs
    until = monotonic() + read_wait_s(str(asked.get("wait", 0)))

    def look(control: ControlState) -> tuple[bool, list[Message]]:
        # A session that spoke to itself still rests; one that
        # was told something or called a tool does not.
        activity = Q(role__in=["user", "system"]) | Q(tool__isnull=False)
        later = Turn.objects.filter(activity, run=run, obs__gt=since)
        if control.forbidden or control.status in ENDED or later.exists():
            return True, []
        # Texts that another answer carries are claimed at the next look, if that answer never
        # leaves.
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
    """Note that a client is alive; with `wait`, answer when its witness has something to do."""
    asked = read_json_object(request.body)
    witness = str(asked.get("witness", ""))[:WITNESS_CHARS]
    if asked.get("gone") is True:
        await dispatcher.run(lambda: sessions.lose_process(run.id, witness=witness, at=now()))
        return _tell(over=True)
    # Its client was stopped on purpose, so it is not reported as gone.
    if asked.get("stopped") is True:
        await dispatcher.run(lambda: sessions.end_session(run.id, at=now()))
        return _tell(over=False)
    is_live = await dispatcher.run(
        lambda: sessions.vouch(run.id, witness=witness, for_s=sessions.PROMISE_S, at=now())
    )
    if not is_live or asked.get("carries") is not True or request.key.reports_only:
        return _tell(over=not is_live)
    until = monotonic() + read_wait_s(str(asked.get("wait", 0)))
    while True:
        control = ensure_found(await dispatcher.control_state(run.id), "The run")
        left_s = until - monotonic()
        # A stop before texts: an agent that is to end is told nothing more.
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


def _once_carried(
    run_id: UUID, control: ControlState, texts: Collection[Message]
) -> AfterSend | None:
    return (
        delivery_callback(run_id, control, texts=[str(text.id) for text in texts])
        if texts
        else None
    )


def _tell(
    *,
    over: bool = False,
    stop: str | None = None,
    text: str | None = None,
    sent: AfterSend | None = None,
) -> Response:
    return _respond({"over": over, "stop": stop, "text": text}, sent=sent)
