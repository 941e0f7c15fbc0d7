"""What an agent calls in its loop: post turns, ask for the directive."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from guard.wire import Directive, Refusal, TurnsReply
from missioncontrol.api.bell import doorbell, writer
from missioncontrol.api.endpoint import Answer, Request, wait_seconds
from missioncontrol.api.reading import read_turns
from missioncontrol.clock import now
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.oversight import directives, services
from missioncontrol.oversight.directives import Standing
from missioncontrol.runs.ingest import Arrival, Stored
from missioncontrol.runs.models import Run, Turn

_replies: TypeAdapter[TurnsReply] = TypeAdapter(TurnsReply)
_directives: TypeAdapter[Directive] = TypeAdapter(Directive)

WAIT = re.compile(r'(?i)(?:^|[,;])\s*wait\s*=\s*"?(\d+(?:\.\d+)?)')

Sent = Callable[[], Awaitable[None]]


async def post_turns(request: Request) -> Answer:
    """Store turns; with `Prefer: wait=S`, answer once they have been judged."""
    run_id = run_of(request)
    turns, refused = read_turns(request.body)
    stored = await writer.put(Arrival(run=run_id, project=request.project, turns=turns))
    wait_s = _preferred_wait(request)
    if wait_s is None:
        doorbell.ring(run_id)
        return await _reply(stored, refused, directives.standing_of(stored.run), judged=False)
    standing = await doorbell.judged(run_id, obs=stored.obs, timeout_s=wait_s)
    if standing is None:
        standing = await doorbell.standing(run_id) or directives.standing_of(stored.run)
    judged = standing.detected_obs >= stored.obs
    return await _reply(stored, refused, standing, judged=judged, waited=wait_s)


async def get_directive(request: Request) -> Answer:
    """Answer the directive now, or the next one newer than `after`; 204: none."""
    run_id = run_of(request)
    asked_seq = await doorbell.read(lambda: _asked(run_id, request))
    after, wait_s = _after(request), wait_seconds(request.query("wait"))
    as_agent = request.query("keeper") is None
    standing = await doorbell.moved(
        run_id, after=-1 if after is None else after, as_agent=as_agent,
        timeout_s=wait_s if after is not None else 0,
    )  # fmt: skip
    if standing is None:
        raise NotFound("The run")
    if after is not None and standing.version <= after:
        return Answer(204)
    directive = await build(run_id, standing, asked_seq=asked_seq)
    sent = told(run_id, standing) if as_agent or standing.forbidden else None
    return Answer(200, _directives.dump_json(directive), sent=sent)


async def build(run_id: UUID, standing: Standing, *, asked_seq: int | None) -> Directive:
    """Return the directive with the messages that wait."""
    queued: Any = ()
    if standing.queued_messages:
        queued = await doorbell.read(lambda: directives.queued(run_id))
    return directives.directive(standing, asked_seq=asked_seq, messages=queued)


def told(run_id: UUID, standing: Standing) -> Sent | None:
    """Return what notes that a person's answer left, if one is on its way."""
    if standing.unconfirmed is None or standing.on_hold:
        return None

    async def note() -> None:
        await doorbell.run(lambda: services.note_answered(run_id, at=now()))

    return note


def run_of(request: Request) -> UUID:
    """Read the run's id from the path.

    Raises:
        NotFound: it is not an id.
    """
    try:
        return UUID(request.params["run"])
    except ValueError:
        raise NotFound("The run") from None


async def _reply(
    stored: Stored, refused: tuple[Refusal, ...], standing: Standing, *, judged: bool,
    waited: float | None = None,
) -> Answer:  # fmt: skip
    directive = await build(stored.run.id, standing, asked_seq=stored.asked_seq)
    reply = TurnsReply(
        accepted=stored.accepted, duplicates=stored.duplicates, refused=refused,
        last_seq=stored.last_seq, judged=judged, directive=directive,
        policy_version=stored.run.policy_version,
    )  # fmt: skip
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if waited is not None:
        headers = ((b"preference-applied", f"wait={waited:g}".encode()),)
    sent = told(stored.run.id, standing) if waited is not None else None
    return Answer(200, _replies.dump_json(reply), headers=headers, sent=sent)


def _preferred_wait(request: Request) -> float | None:
    """Read `Prefer: wait=S` (RFC 7240: several preferences, several headers)."""
    found = WAIT.search(", ".join(request.headers(b"prefer")))
    return wait_seconds(found[1]) if found else None


def _after(request: Request) -> int | None:
    text = request.query("after")
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidRequest("`after` must be a version, a whole number.") from None


def _asked(run_id: UUID, request: Request) -> int | None:
    """Return the `seq` of the turn asked about: `call` names its key, else the last."""
    last_seq = (
        Run.objects.filter(pk=run_id, project_id=request.project)
        .values_list("last_seq", flat=True)
        .first()
    )
    if last_seq is None:
        raise NotFound("The run")
    key = request.query("call")
    named = Turn.objects.filter(run_id=run_id, key=key) if key else Turn.objects.none()
    return named.values_list("seq", flat=True).first() if key else last_seq
