"""Agents' own hooks: their body in, their answer out, held while held."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings

from guard.adapters import ADAPTERS, adapter_of
from guard.adapters.base import Adapter
from guard.adapters.hook import HookEvent
from guard.adapters.said import HEADER, HookSaid
from guard.errors import UnreadableHook
from guard.kin import kin_of
from guard.normalize import call_text
from guard.wire import CallAction, Directive
from guard.wire import Message as WireMessage
from missioncontrol.accounts.models import Project
from missioncontrol.api.agents import told
from missioncontrol.api.bell import doorbell
from missioncontrol.api.endpoint import Answer, Request, read_json_object
from missioncontrol.api.hooks import resting
from missioncontrol.api.hooks.storing import store
from missioncontrol.clock import now
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.oversight import allowlist, directives, services
from missioncontrol.oversight.directives import Standing
from missioncontrol.runs import services as runs
from missioncontrol.runs.models import Run

JUDGED_WITHIN_S = 25.0
"""How long a hook waits for detection before it lets the call run."""
LONGEST_HOLD_S = 24 * 3600.0
"""The project's `hold_limit` ends a hold; this only bounds a forgotten one."""


async def hook(request: Request) -> Answer:
    """Take one hook event and answer it in its agent's words."""
    adapter = _adapter(request.params["client"])
    event = _read(adapter, request)
    if event.is_probe:
        return await doorbell.run(lambda: _about(request.project))
    run = await doorbell.run(lambda: _run_of(adapter, event, request.project))
    stored = await store(event, run)
    if event.idles:
        return await resting.wait_for_message(run, request)
    if event.ends:
        await doorbell.run(lambda: services.end_session(run.id, at=now()))
        return Answer(200, b"{}")
    standing = await _ruling(event, run.id, stored.obs)
    directive = await _directive(event, run.id, standing, asked_seq=stored.asked_seq)
    if event.asks is not None:
        event = await doorbell.run(lambda: _with_grant(event, run))
    body = json.dumps(adapter.answer(event, directive)).encode()
    return Answer(200, body, sent=told(run.id, standing))


def _about(project_id: UUID) -> Answer:
    """Tell a probe what its project asks of whoever connects an agent to it."""
    project = Project.objects.get(pk=project_id)
    about = {"fail": project.fail, "hold_limit": project.hold_limit, "version": settings.VERSION}
    return Answer(200, json.dumps({"missioncontrol": about}).encode())


def _with_grant(event: HookEvent, run: Run) -> HookEvent:
    """Say of a call whose permission is asked for whether people allowlisted it."""
    call = call_text(event.asks) if event.asks else ""
    return replace(event, grant=allowlist.grant_of(run, call, at=now()))


def _adapter(client: str) -> Adapter:
    if client not in ADAPTERS:
        raise NotFound(f"A hook address for {client}")
    return adapter_of(client)


async def _ruling(event: HookEvent, run_id: UUID, obs: int) -> Standing:
    """Wait for detection where the event can hold, and for a person while held."""
    if not event.holds:
        doorbell.ring(run_id)
        return await _standing(run_id)
    judged = await doorbell.judged(run_id, obs=obs, timeout_s=JUDGED_WITHIN_S)
    standing = judged or await _standing(run_id)
    until = _now() + (event.parks_after_s or LONGEST_HOLD_S)
    while standing.on_hold:
        if event.parks_after_s is not None and _now() >= until:
            await doorbell.run(lambda: services.park(run_id, at=now()))
            return await _standing(run_id)
        moved = await doorbell.moved(
            run_id, after=standing.version, timeout_s=max(until - _now(), 1.0)
        )
        standing = _still_there(moved)
    return standing


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _standing(run_id: UUID) -> Standing:
    return _still_there(await doorbell.standing(run_id))


def _still_there(standing: Standing | None) -> Standing:
    """Stop waiting for a run that was deleted meanwhile."""
    if standing is None:
        raise NotFound("The run")
    return standing


async def _directive(
    event: HookEvent, run_id: UUID, standing: Standing, *, asked_seq: int
) -> Directive:
    """Claim the queued messages for this one answer, where the model reads it."""
    directive = directives.directive(standing, asked_seq=asked_seq if event.holds else None)
    skipped = event.denial_is_read and directive.call is CallAction.SKIP
    is_read = (event.takes_messages or skipped) and not standing.forbidden
    if not (standing.queued_messages and is_read):
        return directive
    claimed = await doorbell.run(
        lambda: services.claim_messages(run_id, at=now(), agents=_readers(event))
    )
    told = (WireMessage(id=str(m.id), text=m.text, agent=m.agent) for m in claimed)
    return replace(directive, messages=tuple(told))


def _readers(event: HookEvent) -> set[str | None] | None:
    """Whose messages this answer carries: the speaker's; at a rest, everyone's."""
    is_about_a_call = event.call is not None
    return {event.subagent or event.client} if is_about_a_call else None


def _read(adapter: Adapter, request: Request) -> HookEvent:
    said = HookSaid.read("; ".join(request.headers(HEADER.lower().encode())))
    try:
        told = read_json_object(request.body)
        parent, relation = kin_of(told)
        event = adapter.read(told)
        return replace(event, said=said, parent_key=parent, relation=relation)
    except UnreadableHook as error:
        raise InvalidRequest(str(error)) from None


def _run_of(adapter: Adapter, event: HookEvent, project_id: UUID) -> Run:
    """Return the session's run, opened by whichever hook comes first."""
    project = Project.objects.get(pk=project_id)
    request = runs.OpenRun(
        name=event.run_name, key=event.run_key, agent=event.client,
        goal=event.prompt or "", workspace=event.workspace,
        capabilities=adapter.capabilities(event), parent_key=event.parent_key,
        relation=event.relation,
    )  # fmt: skip
    run, is_new = runs.open_run(project, request, by="agent", at=now())
    if not is_new:
        _learn(run, adapter, event)
    return run


def _learn(run: Run, adapter: Adapter, event: HookEvent) -> None:
    """Take in what a later hook tells of the session."""
    told = adapter.capabilities(event)
    learned = told if run.observed_only else _news(told, run.capabilities)
    if learned:
        services.learn_capabilities(run.id, learned, at=now())
    if run.parked and not event.ends:
        services.unpark(run.id, at=now())
    if event.workspace and list(event.workspace) != run.workspace:
        runs.set_workspace(run.id, event.workspace)
    if event.prompt and not run.goal:
        runs.describe_run(run.id, name=event.run_name, goal=event.prompt, at=now())


def _news(told: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return how this session waits and when it takes texts, where a hook shows it anew.

    How it can be ended is left as it stands: whoever owns its process knows better.
    """
    news = {
        name: told[name]
        for name in ("away", "patience_s")
        if name in told and known.get(name) != told[name]
    }
    moments, more = known.get("inject"), told.get("inject") or ()
    if isinstance(moments, list) and not set(more) <= set(moments):
        news["inject"] = [*moments, *(one for one in more if one not in moments)]
    return news
