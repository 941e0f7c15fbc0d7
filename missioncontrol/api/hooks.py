"""Agents' own hooks: an event's body is stored as turns and calls, and answered, after any hold.

An outcome without an id is matched with the call it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any
from uuid import UUID

from django.conf import settings

from guard.adapters import ADAPTERS, adapter_of
from guard.adapters.base import Adapter
from guard.adapters.hook import HOOK_HEADER, REPEAT_HEADER, HookEvent, HookWiring
from guard.errors import UnreadableHook
from guard.sdk.lineage import parent_of
from guard.wire import CallAction, Directive
from guard.wire import Message as WireMessage
from missioncontrol.accounts.models import Project
from missioncontrol.accounts.selectors import KeyHolder
from missioncontrol.api import hook_waits
from missioncontrol.api.agents import check_key_again, delivery_callback, fault_of, unreleased_seq
from missioncontrol.api.endpoint import Request, Response, json_response, read_json_object
from missioncontrol.api.web_process import dispatcher, writer
from missioncontrol.clock import now
from missioncontrol.costs import telemetry
from missioncontrol.costs.ledger import Call
from missioncontrol.decisions import allowlist, directives, sessions
from missioncontrol.decisions.directives import ControlState
from missioncontrol.errors import (
    InvalidRequest,
    NotFound,
    NotSignedIn,
    ProjectArchived,
    ensure_found,
)
from missioncontrol.redaction import Redaction
from missioncontrol.runs import selectors
from missioncontrol.runs import services as runs
from missioncontrol.runs.ingest import Arrival, IngestResult, offload_large
from missioncontrol.runs.lifecycle import Source, Status
from missioncontrol.runs.models import Run
from missioncontrol.runs.sanitizing import masked_text

# How long a hook waits for detection before it lets the call run.
DETECTION_TIMEOUT_S = 25.0
# The project's `hold_limit` ends a hold; this only bounds a hold that was forgotten.
MAX_HOLD_S = 24 * 3600.0


async def handle_hook(request: Request) -> Response:
    """Store one hook event and answer it in its agent's format."""
    size = len(request.body)
    adapter, event = await offload_large(lambda: _read_event(request), size=size)
    if event.is_probe:
        # What its project sets for whoever connects an agent to it; no run is opened.
        project = await dispatcher.run(lambda: Project.objects.get(pk=request.key.project))
        about = {"fail": project.fail, "hold_limit": project.hold_limit}
        return json_response({"missioncontrol": {**about, "version": settings.VERSION}})
    if request.key.reports_only:  # nothing that requires an answer
        event = replace(
            event, holds=False, waits_for_message=False, permission_call=None, takes_messages=False
        )
    run = await dispatcher.run(lambda: _open_run(adapter, event, request.key))
    await request.record_key_use(run.id)
    # Before anything is stored: a witness reports no turn.
    if event.is_from_watcher:
        return await hook_waits.wait_as_witness(run, request)
    own = request.key.redaction
    stored = await store_event(event, run, size=size, own=own)
    await hook_waits.close_permissions(event, stored)
    if event.waits_for_message:
        return await hook_waits.wait_for_message(run, request)
    if event.ends_session:
        await dispatcher.run(lambda: sessions.end_session(run.id, at=now()))
        return json_response({})
    control = await _wait_while_held(request, event, run, stored.obs)
    if event.permission_call is not None:
        event = await dispatcher.run(lambda: _with_allowlist_grant(event, run, own))
        if event.permission_grant is None and (for_s := adapter.permission_wait_s(event)):
            asked = await hook_waits.ask_permission(adapter, event, run.id, for_s=for_s, own=own)
            await check_key_again(request, run.id)
            return asked
    # A key that only reports is answered as if nothing had been found.
    directive = directives.proceed_directive(control)
    if not request.key.reports_only:
        directive = await _directive(event, control, stored)
    answer = adapter.answer(event, directive)
    if answer.get("continue") is False:  # it ends the turn, and no hook reports that
        await store_event(replace(event, turns=(), calls=(), presence="idle"), run, size=0, own=own)
    asked_by = None if event.call is None else stored.asked_seq
    message_ids = [message.id for message in directive.messages]
    callback = delivery_callback(run.id, control, asked_by=asked_by, message_ids=message_ids)
    after_send = None if request.key.reports_only else callback
    return json_response(answer, after_send=after_send)


def _with_allowlist_grant(event: HookEvent, run: Run, own: Redaction) -> HookEvent:
    """Note on a call whose permission is asked for whether people allowlisted it."""
    call = allowlist.grant_pattern(event.permission_call, own) if event.permission_call else ""
    return replace(event, permission_grant=allowlist.find_grant(run, call, at=now()))


async def _wait_while_held(request: Request, event: HookEvent, run: Run, obs: int) -> ControlState:
    """Wait for detection if the event can hold its agent, and for a person while it is held."""
    run_id = run.id
    if not event.holds:
        dispatcher.dispatch(run_id, root=run.root)
        return await _control_state(run_id)
    judged = await dispatcher.wait_for_verdict(
        run_id, obs=obs, timeout_s=DETECTION_TIMEOUT_S, root=run.root
    )
    # If it is not judged in time, the call runs, and what is found later holds the next one.
    control = judged or await _control_state(run_id)
    until = monotonic() + (event.parks_after_s or MAX_HOLD_S)
    while control.on_hold:
        # With nobody at its terminal, the client is put off and ends; when resumed, it asks again.
        if event.parks_after_s is not None and monotonic() >= until:
            await dispatcher.run(lambda: sessions.park_session(run_id, at=now()))
            return await _control_state(run_id)
        # At least a second: a wait of zero would query the database over and over.
        moved = await dispatcher.wait_for_move(
            run_id, after=control.version, timeout_s=max(until - monotonic(), 1.0)
        )
        control = ensure_found(moved, "The run")
    try:
        await check_key_again(request, run_id)
    except (NotSignedIn, ProjectArchived) as error:
        # What a person said is no longer meant for it; refused, the call would run where its agent
        # fails open.
        return replace(control, status=Status.TERMINATED, reason=str(error), unconfirmed=None)
    return control


async def _control_state(run_id: UUID) -> ControlState:
    # The run may have been deleted while its agent waited.
    return ensure_found(await dispatcher.control_state(run_id), "The run")


async def _directive(event: HookEvent, control: ControlState, stored: IngestResult) -> Directive:
    """Claim the queued messages for this one answer, if the model reads it."""
    run_id, is_repeat = stored.run.id, stored.duplicates > 0
    seq = await unreleased_seq(run_id, control, stored.asked_seq if event.holds else None)
    directive = directives.make_directive(control, asked_seq=seq)
    skipped = event.denial_is_read and directive.call is CallAction.SKIP
    is_read = (event.takes_messages or skipped) and not control.must_stop
    if not ((control.queued_messages or is_repeat) and is_read):
        return directive
    # An answer about a call reaches only the agent that made it; at rest, it is read for all
    # agents.
    readers = None if event.call is None else {event.subagent or event.client}
    claimed = await hook_waits.claim_messages(
        run_id, agents=readers, obs=stored.asked_obs, is_repeat=is_repeat
    )
    messages = (WireMessage(id=str(m.id), text=m.text, agent=m.agent) for m in claimed)
    return replace(directive, messages=tuple(messages))


def _read_event(request: Request) -> tuple[Adapter, HookEvent]:
    client = request.params["client"]
    if client not in ADAPTERS:
        raise NotFound(f"A hook address for {client}")
    adapter = adapter_of(client)
    wiring = HookWiring.read("; ".join(request.headers(HOOK_HEADER.lower().encode())))
    try:
        body = read_json_object(request.body)
        parent, relation = parent_of(body)
        event = adapter.read(body)
        # Masked before the run's name is cut from it: half a number would not be recognised as one.
        prompt = masked_text(event.prompt, request.key.redaction)
        return adapter, replace(
            event,
            wiring=wiring,
            prompt=prompt,
            parent_key=parent,
            relation=relation,
            is_repeat=bool(request.headers(REPEAT_HEADER.lower().encode())),
        )
    except UnreadableHook as error:
        raise InvalidRequest(str(error)) from None


def _open_run(adapter: Adapter, event: HookEvent, key: KeyHolder) -> Run:
    """Return the session's run, opened by whichever hook comes first."""
    project = Project.objects.get(pk=key.project)
    request = runs.OpenRun(
        name=event.run_name,
        key=event.run_key,
        agent=event.client,
        goal=event.prompt or "",
        workspace=event.workspace,
        capabilities=adapter.capabilities(event),
        parent_key=event.parent_key,
        relation=event.relation,
    )
    run, is_new = runs.open_run(project, request, by="agent", at=now(), opener=key)
    if is_new or event.is_from_watcher or key.reports_only:
        return run
    # A later hook may know what the first did not: a task, a folder, how the session waits.
    capabilities, own = request.capabilities, key.redaction
    known = run.capabilities
    if run.source != Source.TELEMETRY:
        capabilities = _changed_capabilities(capabilities, known)
    if capabilities:
        sessions.store_capabilities(run.id, capabilities, at=now())
    if run.parked and not event.ends_session:
        sessions.unpark_session(run.id, at=now())
    if event.workspace and runs.masked_workspace(event.workspace, own) != run.workspace:
        runs.set_workspace(run.id, event.workspace, own)
    if event.prompt and not run.goal:
        runs.describe_run(run.id, name=event.run_name, goal=event.prompt, redaction=own, at=now())
    return run


def _changed_capabilities(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return how this session waits and when it takes texts, where a hook shows it anew.

    How it can be ended stays as it is: the owner of its process knows better.
    """
    news = {
        name: given[name]
        for name in ("away", "patience_s")
        if name in given and known.get(name) != given[name]
    }
    moments, more = known.get("inject"), given.get("inject") or ()
    if isinstance(moments, list) and not set(more) <= set(moments):
        news["inject"] = [*moments, *(one for one in more if one not in moments)]
    return news


FORKED = "forked"
# Equal calls made at once, whose outcomes may race for their proposals.
MAX_EQUAL_CALLS = 16


async def store_event(event: HookEvent, run: Run, *, size: int, own: Redaction) -> IngestResult:
    """Store an event's turns; one that cannot be stored is left out. `size`: that of its body.

    Usage is counted first, so that a budget sees it together with the turn. `own`: what the
    project masks besides secrets.
    """
    if event.calls:
        await dispatcher.run(lambda: _count_new_calls(event, run))
    turns = tuple(turn for turn in event.turns if fault_of(turn) is None)
    arrival = Arrival(
        run=run.id, project=run.project_id, turns=turns, presence=event.presence, redaction=own
    )
    if not event.proposal_prefix or not turns:
        return await writer.put(arrival, size=size)
    # Outcomes of equal calls that ran at once may find the same proposal: the later one sees that
    # it was completed, and looks again. If none is left, the outcome is a turn by itself.
    for _ in range(MAX_EQUAL_CALLS):
        key = await dispatcher.run(lambda: selectors.find_open_call(run.id, event.proposal_prefix))
        if key is None and event.is_repeat:
            # It has completed its call already, unless that report never arrived.
            find_last = partial(selectors.find_last_call, run.id, event.proposal_prefix)
            last = replace(turns[0], key=await dispatcher.run(find_last) or turns[0].key)
            return await writer.put(replace(arrival, turns=(last,), presence=None), size=size)
        outcome = replace(turns[0], key=key or turns[0].key)
        stored = await writer.put(replace(arrival, turns=(outcome,), presence=None), size=size)
        if stored.accepted or key is None:
            break
    return stored


def _count_new_calls(event: HookEvent, run: Run) -> None:
    """Count the calls not counted yet: each hook reports the last calls again."""
    known = telemetry.counted_call_ids(run.id, [call.call_id for call in event.calls])
    new = [
        Call(
            call_id=used.call_id,
            source=used.source,
            agent=used.agent or event.subagent or event.client,
            model=used.model,
            provider=used.provider,
            usage=used.usage,
            made_at=used.made_at,
            turn_key=used.turn_key,
        )
        for used in event.calls
        if used.call_id not in known
    ]
    # Leave out what another session paid: a fork's transcript begins with a copy.
    copied = {call.call_id for call in new if call.made_at and call.made_at < run.started_at}
    if copied and run.relation != FORKED:
        copied = telemetry.call_ids_counted_elsewhere(run, copied)
    new = [call for call in new if call.call_id not in copied]
    if new:
        telemetry.count_calls({run.id: new}, at=now())
        # Placed now: the turn of this hook may be the result of the call.
        telemetry.attach_calls_to_turns([run.id], at=now())
