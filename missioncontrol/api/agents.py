"""What an agent calls in its loop: post turns, ask for the directive.

Of posted turns, valid ones are kept and invalid ones are refused one by one.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from guard.turn import Turn as GuardTurn
from guard.wire import Directive, Message, Refusal, TurnsReply
from missioncontrol.api.endpoint import (
    AfterSend,
    Request,
    Response,
    first_fault,
    json_response,
    read_json_object,
    read_wait_s,
)
from missioncontrol.api.web_process import dispatcher, writer
from missioncontrol.clock import now
from missioncontrol.decisions import directives, sessions
from missioncontrol.decisions.directives import ControlState
from missioncontrol.errors import (
    InvalidRequest,
    NotFound,
    NotSignedIn,
    ProjectArchived,
    ensure_found,
)
from missioncontrol.runs import selectors
from missioncontrol.runs.ingest import Arrival, offload_large
from missioncontrol.runs.models import Turn
from missioncontrol.runs.sanitizing import storable_text

_replies: TypeAdapter[TurnsReply] = TypeAdapter(TurnsReply)
_directives: TypeAdapter[Directive] = TypeAdapter(Directive)

# It may stand among other preferences, with or without quotes. RFC 7240 has whole seconds;
# fractions are accepted too.
WAIT_PREFERENCE = re.compile(r'(?i)(?:^|[,;])\s*wait\s*=\s*"?(\d+(?:\.\d+)?)')
MINIMAL_PREFERENCE = re.compile(r'(?i)(?:^|[,;])\s*return\s*=\s*"?minimal\b')

# The gap allowed between two requests of a keeper, including a restart of its server.
KEEPER_GRACE_S = 20.0


async def post_turns(request: Request) -> Response:
    """Store turns; with `Prefer: wait=S`, answer once they have been judged."""
    run_id = run_id_of(request)
    size = len(request.body)
    turns, refused = await offload_large(lambda: read_turns(request.body), size=size)
    arrival = Arrival(
        run=run_id,
        project=request.key.project,
        turns=turns,
        key=request.key,
        redaction=request.key.redaction,
    )
    # Stored first, whatever follows: the turns of an agent that hangs up are kept, and it is told
    # of duplicates when it sends them again.
    stored = await writer.put(arrival, size=size)
    await request.record_key_use(run_id)
    # RFC 7240: there may be several preferences, in several headers.
    preferred = ", ".join(request.headers(b"prefer"))
    wait = WAIT_PREFERENCE.search(preferred)
    wait_s = read_wait_s(wait[1]) if wait else None
    control = None
    if wait_s is None:
        dispatcher.dispatch(run_id, root=stored.run.root)
    else:
        # After the wait the agent gets the state known so far: a missing detector never stops it.
        control = await dispatcher.wait_for_verdict(
            run_id, obs=stored.obs, timeout_s=wait_s, root=stored.run.root
        ) or await dispatcher.control_state(run_id)
    # If nothing was waited for, or the run is gone, answer the state as it was stored.
    control = control or directives.control_state_of(stored.run)
    # A client that sends turns of several agents reaches all of them.
    asked_by = stored.asked_seq if len({turn.agent for turn in turns}) == 1 else None
    # An outbox reports what was done long ago: whether somebody is there to read is asked later.
    is_read = not MINIMAL_PREFERENCE.search(preferred) and not request.key.reports_only
    control, directive = await _directive(
        request, run_id, control, asked_seq=stored.asked_seq, asked_by=asked_by, is_read=is_read
    )
    reply = TurnsReply(
        accepted=stored.accepted,
        duplicates=stored.duplicates,
        refused=refused,
        last_seq=stored.last_seq,
        judged=wait_s is not None and control.detected_obs >= stored.obs,
        directive=directive,
        policy_version=stored.run.policy_version,
    )
    body = _replies.dump_json(reply)
    if wait_s is None:
        return Response(200, body)
    applied = ((b"preference-applied", f"wait={wait_s:g}".encode()),)
    after_send = delivery_callback(run_id, control, asked_by=asked_by) if is_read else None
    return Response(200, body, headers=applied, after_send=after_send)


async def get_directive(request: Request) -> Response:
    """Answer the directive now, or the next one newer than `after`; 204 if there is none."""
    run_id = run_id_of(request)
    asked_seq = await dispatcher.read(lambda: _asked_seq(run_id, request))
    await request.record_key_use(run_id)
    text = request.query("after")
    try:
        after = None if text is None else int(text)
    except ValueError:
        raise InvalidRequest("`after` must be a version, a whole number.", field="after") from None
    wait_s = read_wait_s(request.query("wait"))
    # A keeper's question is not its agent's: only the agent's shows that it waits at a held call.
    as_agent = request.query("keeper") is None and not request.key.reports_only
    if request.query("keeper") is not None and wait_s:
        for_s = wait_s + KEEPER_GRACE_S  # its open request shows that it is alive
        await dispatcher.run(
            lambda: sessions.record_heartbeat(run_id, witness="keeper", for_s=for_s, at=now())
        )
    control = await dispatcher.wait_for_move(
        run_id,
        # No version is below 0: without `after` the current one answers at once.
        after=-1 if after is None else after,
        as_agent=as_agent,
        timeout_s=wait_s if after is not None else 0,
    )
    await (check_key_again(request, run_id) if as_agent else request.check_key())
    control = ensure_found(control, "The run")
    if after is not None and control.version <= after:
        return Response(204)
    # A caller that names no call may be any of the run's agents.
    asked_by = asked_seq if request.query("call") else None
    control, directive = await _directive(
        request, run_id, control, asked_seq=asked_seq, asked_by=asked_by, as_agent=as_agent
    )
    # A keeper ends its agent and does nothing else: anything else it is told is not delivered yet.
    is_delivered = as_agent or (control.must_stop and not request.key.reports_only)
    after_send = delivery_callback(run_id, control, asked_by=asked_by) if is_delivered else None
    return Response(200, _directives.dump_json(directive), after_send=after_send)


async def post_presence(request: Request) -> Response:
    """Note that an agent's process is alive; it counts as gone when it stops reporting."""
    run_id = run_id_of(request)
    await dispatcher.read(lambda: selectors.find_run_for_key(run_id, request.key))
    await request.record_key_use(run_id)
    for_s = sessions.HEARTBEAT_TIMEOUT_S
    await dispatcher.run(
        lambda: sessions.record_heartbeat(run_id, witness="sdk", for_s=for_s, at=now())
    )
    return json_response({"again_within_s": for_s})


async def _directive(
    request: Request,
    run_id: UUID,
    control: ControlState,
    *,
    asked_seq: int | None,
    asked_by: int | None,
    is_read: bool = True,
    as_agent: bool = True,
) -> tuple[ControlState, Directive]:
    """Return the state that an answer reports, and its directive with the queued messages.

    `is_read`: the messages leave with it. A key that only reports is told to go on.
    """
    if request.key.reports_only:
        return control, directives.proceed_directive(control)
    messages: tuple[Message, ...] = ()
    # No text leaves with a hold; its agent reads the texts when it goes on.
    while is_read and control.queued_messages and not control.on_hold:
        if not as_agent:
            messages = await dispatcher.read(lambda: directives.queued_messages(run_id, at=now()))
            break
        # A person's text is noted before it leaves: once the agent may have it, nobody can take it
        # back.
        take = partial(
            sessions.take_texts, run_id, version=control.version, asked_by=asked_by, at=now()
        )
        if (taken := await dispatcher.run(take)) is not None:
            messages = taken
            break
        control = ensure_found(await dispatcher.control_state(run_id), "The run")
    asked_seq = await unreleased_seq(run_id, control, asked_seq)
    return control, directives.make_directive(control, asked_seq=asked_seq, messages=messages)


async def unreleased_seq(run_id: UUID, control: ControlState, asked_seq: int | None) -> int | None:
    """Return the turn asked about; None if it was released while other turns are held."""
    if asked_seq is None or not directives.is_in_skipped_range(control, asked_seq):
        return asked_seq
    is_running = await dispatcher.read(lambda: directives.still_runs(run_id, asked_seq))
    return None if is_running else asked_seq


def delivery_callback(
    run_id: UUID,
    control: ControlState,
    *,
    asked_by: int | None = None,
    message_ids: Collection[str] = (),
) -> AfterSend | None:
    """Return what records that a person's answer was sent, if one is on its way.

    `message_ids`: of the messages that it carries, where they were claimed for it.
    """
    # If it was held again meanwhile, the agent reads the hold, not the answer.
    answer = UUID(control.unconfirmed) if control.unconfirmed and not control.on_hold else None
    if answer is None and not message_ids:
        return None
    carried = [UUID(message_id) for message_id in message_ids]

    async def record_delivery() -> None:
        await dispatcher.persist(
            lambda: sessions.record_answer_sent(
                run_id, answer, texts=carried, asked_by=asked_by, at=now()
            )
        )

    return record_delivery


async def check_key_again(request: Request, run_id: UUID) -> None:
    """Look the key up again after a wait: a revoked key gets no answer.

    Raises:
        NotSignedIn: it was revoked or has expired.
        ProjectArchived: its project takes nothing in.
    """
    try:
        await request.check_key()
    except (NotSignedIn, ProjectArchived):
        await dispatcher.run(lambda: sessions.record_answer_missed(run_id, at=now()))
        raise


def run_id_of(request: Request) -> UUID:
    """Read the run's id from the path.

    Raises:
        NotFound: it is not an id.
    """
    try:
        return UUID(request.params["run"])
    except ValueError:
        raise NotFound("The run") from None


def _asked_seq(run_id: UUID, request: Request) -> int | None:
    """Return the `seq` of the turn asked about: the one whose key is `call`, or else the last."""
    last_seq = selectors.find_run_for_key(run_id, request.key).meters.last_seq
    # Cleaned as the turn's own key was: PostgreSQL accepts no NUL in a text, not even in a query.
    key = storable_text(request.query("call") or "")
    keyed = Turn.objects.filter(run_id=run_id, key=key) if key else Turn.objects.none()
    return keyed.values_list("seq", flat=True).first() if key else last_seq


MAX_TURNS = 500
MAX_LENGTHS = {
    "key": 200,
    "agent": 100,
    "tool": 200,
    "state": 200,
    "action_class": 50,
    "call_id": 200,
    "model": 100,
    "provider": 50,
}
# Far above what a call costs or uses, and within the range of the columns.
MAX_COST = Decimal(1_000_000)
MAX_TOKENS = 10**10


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsBody:
    """The body of `POST runs/{id}/turns/`."""

    turns: tuple[GuardTurn, ...]


# Traces of values that may need mending before they are stored; rare, so the slow path will do.
UNSTORABLE_MARKS = (b"\\u0000", b"\\ud", b"\\uD", b"NaN", b"Infinity")

_turns_body: TypeAdapter[TurnsBody] = TypeAdapter(TurnsBody)
_turn: TypeAdapter[GuardTurn] = TypeAdapter(GuardTurn)


def read_turns(body: bytes) -> tuple[tuple[GuardTurn, ...], tuple[Refusal, ...]]:
    """Return the turns that can be taken and a refusal for each that cannot.

    Raises:
        InvalidRequest: no turn could be read, or there are too many.
    """
    # All at once is many times faster, and right for nearly every body.
    if any(trace in body for trace in UNSTORABLE_MARKS):
        return _read_turns_one_by_one(body)
    try:
        turns = _turns_body.validate_json(body).turns
    except ValidationError:
        return _read_turns_one_by_one(body)
    # One bad turn must not cost the good ones: an agent's outbox would resend them for ever.
    if any(fault_of(turn) for turn in turns) or not 0 < len(turns) <= MAX_TURNS:
        return _read_turns_one_by_one(body)
    return turns, ()


def _read_turns_one_by_one(body: bytes) -> tuple[tuple[GuardTurn, ...], tuple[Refusal, ...]]:
    given = read_json_object(body).get("turns")
    if not isinstance(given, list) or not 0 < len(given) <= MAX_TURNS:
        raise InvalidRequest(f"`turns` must be a list of 1 to {MAX_TURNS} turns.", field="turns")
    accepted: list[GuardTurn] = []
    refused: list[Refusal] = []
    for index, value in enumerate(given):
        if isinstance(value, dict):  # the server numbers turns: a client's number is ignored
            value.pop("seq", None)
        try:
            turn = _turn.validate_python(value)
            fault = fault_of(turn)
        except ValidationError as error:
            where, words, _ = first_fault(error)
            fault = f"{where or 'turn'}: {words}"
        if fault:
            refused.append(Refusal(index=index, code="invalid_turn", detail=fault))
        else:
            accepted.append(turn)
    if not accepted:
        raise InvalidRequest(
            f"No turn could be read. The first: {refused[0].detail}",
            refused=[{"index": r.index, "code": r.code, "detail": r.detail} for r in refused],
        )
    return tuple(accepted), tuple(refused)


def fault_of(turn: GuardTurn) -> str | None:
    """Say what is wrong with a turn whose fields have the right types."""
    if turn.tool is None and turn.content is None:
        return "a turn needs `tool` or `content`"
    # The lengths of the columns: one longer value would make PostgreSQL refuse all the turns.
    for name, limit in MAX_LENGTHS.items():
        text = getattr(turn, name)
        if text is not None and len(text) > limit:
            return f"{name}: at most {limit} characters, got {len(text)}"
    cost = turn.cost_usd
    if cost is not None and not (cost.is_finite() and 0 <= cost <= MAX_COST):
        return f"cost_usd: expected 0 to {MAX_COST}, got {cost}"
    if turn.usage is not None:
        for name in turn.usage.__slots__:
            count = getattr(turn.usage, name)
            if not 0 <= count <= MAX_TOKENS:
                return f"usage.{name}: expected 0 to {MAX_TOKENS}, got {count}"
    return None
