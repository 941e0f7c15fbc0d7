"""Requests of hooks that stay open: until people answer a permission, or while a session rests.

An agent asks for its own person's permission. If nobody answers here, or anything goes wrong, the
answer is empty: the agent's dialog stays open at its terminal all the while.

The forwarder waits beside a session at rest (`guard hook AGENT --idle`), and is answered
`{"wake": text or null, "over": the session goes on or has ended, "since": n}`.

A witness (`guard.hooks.watcher`) says that the client is alive, and passes messages to it. It sends
`{"witness", "wait", "carries", "gone", "stopped"}`, and is answered
`{"over": no witness is needed any more, "stop": reason or null, "text": or null}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, cast
from uuid import UUID

from django.db.models import Q

from guard.adapters.base import Adapter
from guard.adapters.hook import HookEvent
from missioncontrol.api.agents import delivery_callback
from missioncontrol.api.endpoint import (
    CLIENT_DISCONNECTED,
    AfterSend,
    Request,
    Response,
    json_response,
    read_json_object,
    read_wait_s,
)
from missioncontrol.api.web_process import dispatcher
from missioncontrol.clock import now
from missioncontrol.decisions import directives, permissions, sessions
from missioncontrol.decisions.directives import ControlState
from missioncontrol.decisions.models import Message
from missioncontrol.decisions.permissions import PermissionOutcome
from missioncontrol.errors import NotFound, ensure_found
from missioncontrol.redaction import Redaction
from missioncontrol.runs.ingest import IngestResult
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import Run, Turn


async def ask_permission(
    adapter: Adapter, event: HookEvent, run_id: UUID, *, for_s: float, own: Redaction
) -> Response:
    """Ask people about the call, and return their answer if it comes within the time allowed."""
    card = outcome = None
    if event.permission_call is not None:
        call = replace(event.permission_call, agent=event.subagent or event.client)
        keeps = event.wiring.is_headless
        # In a task: once asked for, the card opens, whatever happens to the request.
        opening = asyncio.create_task(
            dispatcher.run(
                lambda: permissions.ask_permission(
                    run_id, call, for_s=for_s, at=now(), has_no_dialog=keeps, redaction=own
                )
            )
        )
        try:
            if card := await asyncio.shield(opening):
                outcome = await _wait_for_outcome(run_id, card, for_s=for_s)
        except asyncio.CancelledError as ended:
            # If the caller hung up before the card was open, it is open now and must be left.
            if CLIENT_DISCONNECTED in ended.args and (left := await opening):
                await dispatcher.run(lambda: permissions.withdraw_request(run_id, left, at=now()))
            raise
    # Read last: a run that was stopped meanwhile is allowed nothing.
    control = await dispatcher.control_state(run_id)
    if control is None:
        return json_response({})
    after_send: AfterSend | None = None
    if card and outcome and outcome.is_answer and not control.must_stop:
        answer, record = cast(Any, outcome.resolution), permissions.record_delivered
        event = replace(event, permission_answer=answer, answer_text=outcome.message)
        after_send = partial(dispatcher.persist, lambda: record(run_id, card, at=now()))
    reply = adapter.answer(event, directives.make_directive(control, asked_seq=None))
    return json_response(reply, after_send=after_send)


async def close_permissions(event: HookEvent, stored: IngestResult) -> None:
    """Close what was answered at the terminal, as the agent's next action shows."""
    if not stored.run.meters.open_permissions or event.permission_call is not None:
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
            lambda: permissions.close_answered_cards(
                stored.run.id, done_seq=seq, resting_agent=rests, at=now()
            )
        )


async def _wait_for_outcome(run_id: UUID, card: UUID, *, for_s: float) -> PermissionOutcome | None:
    """Wait until the question is settled, or time is up; check whenever the run changes."""
    seen_at, until, version = monotonic(), monotonic() + for_s, -1
    while (left_s := until - monotonic()) > 0:
        settled = dispatcher.read(lambda: permissions.outcome_of(card), retry=True)
        if outcome := await settled:
            return outcome
        # Keep it open: a question that no server has waited for lately counts as closed.
        if monotonic() - seen_at >= permissions.REFRESH_EVERY_S:
            seen_at = monotonic()
            await dispatcher.run(lambda: permissions.refresh_request(card, at=now()))
        control = await dispatcher.wait_at_rest(run_id, after=version, timeout_s=left_s)
        if control is None:
            return PermissionOutcome(resolution="ended")
        version = control.version
    await dispatcher.run(
        lambda: permissions.close_request(run_id, card, resolution="timed_out", at=now())
    )
    # Somebody may have answered since the last check; the request can still return it.
    return await dispatcher.read(lambda: permissions.outcome_of(card), retry=True)


async def claim_messages(
    run_id: UUID,
    *,
    agents: Collection[str | None] | None = None,
    obs: int | None = None,
    is_repeat: bool = False,
) -> list[Message]:
    """Claim the queued messages for this one answer, as `sessions.claim_messages` says."""
    while True:
        # The clock is read once a thread is free: from then on an answer counts as about to leave.
        claimed = await dispatcher.run(
            lambda: sessions.claim_messages(
                run_id, at=now(), agents=agents, obs=obs, is_repeat=is_repeat
            )
        )
        if claimed is not None:
            return claimed
        # They leave with another answer, within milliseconds. If that answer's process was killed,
        # they go with this one: its call may get no other answer.
        await asyncio.sleep(CLAIM_RETRY_S)


# The wait before messages that another answer is taking are looked at again.
CLAIM_RETRY_S = 0.2
MAX_WITNESS_CHARS = 32
# A hook that held a call delivers first; what it left is passed on after this.
HOOK_GRACE_S = 1.0


async def wait_for_message(run: Run, request: Request) -> Response:
    """Answer with the run's queued messages, or when it no longer rests, or when time is up."""
    body = read_json_object(request.body)
    # Count from where its first question stood, so that what happened between two of them counts.
    since = body["since"] if isinstance(body.get("since"), int) else run.meters.last_obs
    until = monotonic() + read_wait_s(str(body.get("wait", 0)))

    def check_messages(control: ControlState) -> tuple[bool, list[Message]]:
        # A session that spoke to itself still rests; one that
        # was told something or called a tool does not.
        activity = Q(role__in=["user", "system"]) | Q(tool__isnull=False)
        later = Turn.objects.filter(activity, run=run, obs__gt=since)
        if control.must_stop or control.status in ENDED or later.exists():
            return True, []
        # Messages that another answer carries are claimed at the next check, if that answer never
        # leaves.
        messages = sessions.claim_messages(run.id, at=now()) if control.queued_messages else None
        return False, messages or []

    control = await dispatcher.control_state(run.id)
    while control is not None:
        is_over, messages = await dispatcher.run(partial(check_messages, control))
        left_s = until - monotonic()
        if is_over or messages or left_s <= 0:
            reply = {"wake": _joined_texts(messages), "over": is_over, "since": since}
            after_send = _message_callback(run.id, control, messages)
            return json_response(reply, after_send=after_send)
        control = await dispatcher.wait_at_rest(run.id, after=control.version, timeout_s=left_s)
        await request.check_key()
    raise NotFound("The run")


async def wait_as_witness(run: Run, request: Request) -> Response:
    """Note that a client is alive; with `wait`, answer when its witness has something to do."""
    body = read_json_object(request.body)
    witness = str(body.get("witness", ""))[:MAX_WITNESS_CHARS]
    if body.get("gone") is True:
        await dispatcher.run(lambda: sessions.record_process_end(run.id, witness=witness, at=now()))
        return _witness_response(over=True)
    # Its client was stopped on purpose, so it is not reported as gone.
    if body.get("stopped") is True:
        await dispatcher.run(lambda: sessions.end_session(run.id, at=now()))
        return _witness_response(over=False)
    is_live = await dispatcher.run(
        lambda: sessions.record_heartbeat(
            run.id, witness=witness, for_s=sessions.HEARTBEAT_TIMEOUT_S, at=now()
        )
    )
    if not is_live or body.get("carries") is not True or request.key.reports_only:
        return _witness_response(over=not is_live)
    until = monotonic() + read_wait_s(str(body.get("wait", 0)))
    while True:
        control = ensure_found(await dispatcher.control_state(run.id), "The run")
        left_s = until - monotonic()
        # A stop before messages: an agent that is to end is told nothing more.
        if control.status == Status.STOPPING:
            return _witness_response(stop=control.reason)
        if control.queued_messages and not control.on_hold:
            await asyncio.sleep(HOOK_GRACE_S)
            if messages := await claim_messages(run.id):
                after_send = _message_callback(run.id, control, messages)
                return _witness_response(text=_joined_texts(messages), after_send=after_send)
        if left_s <= 0:
            return _witness_response()
        await dispatcher.wait_at_rest(run.id, after=control.version, timeout_s=left_s)
        await request.check_key()


def _joined_texts(messages: Collection[Message]) -> str | None:
    return "\n\n".join(message.text for message in messages) or None


def _message_callback(
    run_id: UUID, control: ControlState, messages: Collection[Message]
) -> AfterSend | None:
    ids = [str(message.id) for message in messages]
    return delivery_callback(run_id, control, message_ids=ids) if ids else None


def _witness_response(
    *,
    over: bool = False,
    stop: str | None = None,
    text: str | None = None,
    after_send: AfterSend | None = None,
) -> Response:
    body = {"over": over, "stop": stop, "text": text}
    return json_response(body, after_send=after_send)
