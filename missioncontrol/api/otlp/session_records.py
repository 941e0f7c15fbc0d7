"""From a request's records to what each one says, and the session it belongs to."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from guard.adapters.parsing import max_session_chars
from guard.turn import Role, Turn
from missioncontrol.api.agents import fault_of
from missioncontrol.api.otlp import coding_agents, conventions
from missioncontrol.api.otlp.record import CLIENTS, Batch, Record, SessionRecord
from missioncontrol.redaction import NO_REDACTION, Redaction
from missioncontrol.runs.sanitizing import masked_text

logger = logging.getLogger(__name__)

# The first dialect that recognises a record reads it; the coding agents' own come first.
DIALECTS: tuple[tuple[Callable[[Record], bool], Callable[[Record], SessionRecord | None]], ...] = (
    (coding_agents.is_from_claude_code, coding_agents.read_claude_code),
    (coding_agents.is_from_codex, coding_agents.read_codex),
    (coding_agents.is_from_gemini, coding_agents.read_gemini),
    (conventions.is_openinference, conventions.read_openinference),
    (conventions.is_genai, conventions.read_genai),
)
# More spans can still be expected for the newest traces.
MAX_TRACES = 10_000
KNOWN_CLIENTS = frozenset(CLIENTS.values())
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


class TraceSessions:
    """The session that a trace belongs to, where only some of its spans name it.

    Kept for the newest traces of this process: spans that end before the one that
    names the session come in an earlier request.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[UUID, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, project: UUID, read: Iterable[SessionRecord]) -> None:
        """Note what these records say."""
        with self._lock:
            for one in read:
                if one.record.trace and one.session:
                    # By project too: two of them may use the same trace id.
                    self._sessions.setdefault((project, one.record.trace), one.session)
            while len(self._sessions) > MAX_TRACES:
                self._sessions.popitem(last=False)

    def session_of(self, project: UUID, one: SessionRecord) -> str:
        """Return a record's session, or else its trace's; an empty text if neither is known."""
        with self._lock:
            return one.session or self._sessions.get((project, one.record.trace), "")


def read_session_records(
    batch: Batch, *, project: UUID, sessions: TraceSessions, own: Redaction = NO_REDACTION
) -> list[SessionRecord]:
    """Return what the records say, oldest first; an error refuses only its own record.

    `own` is what the project masks besides secrets.
    """
    read = [one for record in batch.records if (one := _read_record(batch, record))]
    # All of them first: the span that names the session may come after others of its trace.
    sessions.remember(project, read)
    agents = _agents_by_span(read)
    sessions_by_client = defaultdict[str, set[str]](set)
    for one in read:
        sessions_by_client[one.client] |= {one.session} - {""}
    session_records = []
    for one in sorted(read, key=lambda one: (one.record.ended_at or EARLIEST, one.record.index)):
        record, is_known = one.record, one.client in KNOWN_CLIENTS
        session = sessions.session_of(project, one)
        if not session and not is_known:
            # For an unknown client, only the trace holds its spans together.
            session = record.trace
        elif not session:
            # Known clients name the session in most records: take it if the request has only one.
            named = sessions_by_client[one.client]
            session = next(iter(named)) if len(named) == 1 else ""
        if not session:
            continue  # an event of no session, such as a program's start
        # With its client it is the run's key, whose column has a limited length.
        if len(session) > (max_chars := max_session_chars(one.client)):
            batch.refuse(record.index, f"a session's id has at most {max_chars} characters")
            continue
        agent = masked_text(one.agent or agents.get(record.span, ""), own) or ""
        turns = tuple(replace(turn, agent=turn.agent or agent or None) for turn in one.turns)
        of_session = replace(one, session=session, agent=agent, turns=turns)
        if record.signal == "traces" and not record.parent and not is_known:
            # If the trace is the session, its outermost span ends it.
            of_session = replace(of_session, ends=True, failed=record.failure is not None)
        session_records.append(of_session)
    return session_records


def _read_record(batch: Batch, record: Record) -> SessionRecord | None:
    read = next((read for recognises, read in DIALECTS if recognises(record)), None)
    try:
        one = read(record) if read else None
    except Exception:  # a bug of ours: otherwise the request would be sent again for ever
        logger.exception("a record named %r could not be understood", record.name)
        batch.refuse(record.index, "it could not be understood; the server's log says why")
        return None
    if one is None:
        return None
    turns = [*one.turns]
    if one.use is not None:
        # A model call has no turn of its own: check it as if it were one, against the same limits.
        use = one.use
        turns.append(
            Turn(
                role=Role.ASSISTANT,
                content="",
                call_id=use.call_id,
                agent=one.agent,
                model=use.model,
                provider=use.provider,
                usage=use.usage,
                cost_usd=use.cost_usd,
            )
        )
    fault = next((fault for turn in turns if (fault := fault_of(turn))), None)
    if fault:
        batch.refuse(record.index, fault)
        return None
    return one


def _agents_by_span(read: Iterable[SessionRecord]) -> dict[str, str]:
    """Return the agent of each span: its own, or else that of the span around it."""
    spans = {one.record.span: (one.record.parent, one.agent) for one in read if one.record.span}
    named: dict[str, str] = {}
    for span in spans:
        path, at = {span: None}, span
        # Up to the first span that names an agent; the spans on the way belong to it too.
        while at in spans and at not in named and not spans[at][1]:
            at = spans[at][0]
            if at in path:  # a circle
                break
            path[at] = None
        agent = named.get(at) or (spans[at][1] if at in spans else "")
        # Set for all on the way at once, so that no span is visited twice.
        named |= dict.fromkeys(path, agent)
    return named
