"""What both kinds of session share: how they begin and what they send, without a network."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from guard.events import Emit, Emitter
from guard.nature import ToolNature
from guard.pricing import read_dollars
from guard.sdk.conversation import Conversation, Fail, new_key
from guard.sdk.delivery import Send
from guard.sdk.lineage import RUN_KEY_VARIABLE, child_environment, opening_with_parent
from guard.sdk.offline import Offline
from guard.sdk.outbox import outbox_root, project_folder
from guard.sdk.turn_json import MAX_CHARS, text_of
from guard.turn import Phase, Role, Turn, Usage
from guard.wire import Escalation, Mode

logger = logging.getLogger("guard")

# What can be done to an agent that asks before each call.
CAPABILITIES: Mapping[str, Any] = {
    "hold": True,
    "inject": ["now", "at_next_tool"],
    "terminate": "sdk",
    "cost": "turns",
    # Across a restart of the server, a held call keeps waiting: this process asks again.
    "away": "waits",
}

OutboxOption = Path | str | bool | None

DEFAULT_URL = "http://127.0.0.1:8765"


TransportT = TypeVar("TransportT")


class BaseSession(Generic[TransportT]):
    """How a session of either kind begins, and the names of its run.

    Raises:
        ValueError: `fail` is neither "open" nor "closed", or the address or the key is invalid.
    """

    def __init__(
        self,
        name: str,
        *,
        url: str | None = None,
        key: str | None = None,
        agent: str = "agent",
        goal: str | None = None,
        workspace: Sequence[str] = (),
        run_key: str | None = None,
        mode: Mode | str | None = None,
        fail: Fail = "open",
        transport: TransportT | None = None,
        on_escalation: Callable[[Escalation], object] | None = None,
        emit: Emit | None = None,
        outbox: OutboxOption = None,
        ask: bool = True,
        heartbeat: bool = True,
        **opening: Any,
    ) -> None:
        if fail not in get_args(Fail):
            # Now, not in the first outage.
            raise ValueError(f"fail is 'open' or 'closed', not {fail!r}")
        self.agent = agent
        # What a child's session begins with. As given, not as found: it looks into the environment
        # itself.
        self._inherited: dict[str, Any] = {
            "url": url,
            "key": key,
            "outbox": outbox,
            "fail": fail,
            "ask": ask,
        }
        self.unread: list[str] = []
        self._outer: Any = None
        self._on_escalation = on_escalation
        server = server_address(url, key)
        send, heartbeat_send = self._connect(server, transport)
        body = {
            # The key makes it safe to open the run again after a failure.
            "key": run_key or os.environ.get(RUN_KEY_VARIABLE) or new_key(),
            "name": name,
            "agent": agent,
            "mode": str(mode) if mode else None,
            "goal": goal,
            "workspace": list(workspace) or None,
            "capabilities": dict(CAPABILITIES),
        }
        # Absent, not null: then the server's defaults apply; older servers know nothing else.
        given = {field: value for field, value in body.items() if value is not None}
        # The process that started this one may name a parent; the caller's arguments win.
        run_opening = opening_with_parent(given, os.environ) | opening
        emitter, root = Emitter(emit), outbox_root(outbox)
        offline = Offline(
            opening=run_opening,
            folder=project_folder(root, *server) if root else None,
            send=send,
            emit=emitter,
            heartbeat_send=heartbeat_send if heartbeat else None,
        )
        self._conversation = Conversation(
            opening=run_opening, offline=offline, fail=fail, asks_person=ask, emit=emitter
        )

    def _connect(self, server: tuple[str, str], transport: TransportT | None) -> tuple[Send, Send]:
        """Create the transport; return the senders of background requests and of heartbeats."""
        raise NotImplementedError

    @property
    def run_id(self) -> str | None:
        """The run's id on the server; None until the server was first reached."""
        return self._conversation.run_id

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the environment of a process that this agent starts.

        An agent in that process, ours or Claude Code, then links its run to this one.
        """
        return child_environment(self._conversation.opening["key"])

    def _opening_of_child(self, opening: Mapping[str, Any]) -> dict[str, Any]:
        # By key, not by id: if the parent began while the server was away, it has no id yet. The
        # child needs a key of its own: `$MISSIONCONTROL_RUN_KEY` would join it to its parent's run.
        links = {"parent_key": self._conversation.opening["key"], "run_key": new_key()}
        return {**self._inherited, **links, **opening}


def call_on_escalation(
    escalation: Escalation, callback: Callable[[Escalation], object] | None
) -> object:
    """Call the host's callback, if there is one; log what it raises."""
    if callback is None:
        return None
    try:
        return callback(escalation)
    # The host's own code: its errors must not cost the agent its answer.
    except Exception:
        logger.exception("the on_escalation callback failed")
        return None


def server_address(url: str | None, key: str | None) -> tuple[str, str]:
    """Return the server's address and the agent key, from arguments, then environment."""
    return (
        url or os.environ.get("MISSIONCONTROL_URL") or DEFAULT_URL,
        key or os.environ.get("MISSIONCONTROL_KEY") or "",
    )


def proposed_turn(
    tool: str, args: Mapping[str, Any] | None, *, agent: str, facts: Mapping[str, Any]
) -> Turn:
    """A call before it runs."""
    return Turn(
        role=Role.ASSISTANT,
        key=new_key(),
        agent=agent,
        phase=Phase.PROPOSED,
        tool=tool,
        args=_json_copy(args or {}),
        **turn_fields(facts),
    )


def completed_turn(turn: Turn, result: Any, error: Any, facts: Mapping[str, Any]) -> Turn:
    """The same call with its outcome; the same key shows that it completes the call."""
    return replace(
        turn,
        phase=Phase.DONE,
        result=None if result is None else text_of(result),
        error=None if error is None else text_of(error),
        **turn_fields(facts),
    )


def message_turn(
    content: object, *, role: Role | str, agent: str, facts: Mapping[str, Any]
) -> Turn:
    """A message as a turn; a person's message has no agent."""
    # The words are the speaker's: a person is not an agent of the run.
    speaker = None if Role(role) is Role.USER else agent
    # A model that only calls tools says nothing, and some frameworks have messages in parts.
    text = "" if content is None else text_of(content)
    return Turn(role=Role(role), key=new_key(), agent=speaker, content=text, **turn_fields(facts))


def turn_fields(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Further fields of a turn, as the API writes them or as `Turn` has them.

    `usage` and `nature` may be mappings, `cost_usd` a decimal string or a number, `ts` RFC 3339.
    """
    read = dict(facts)
    # Mappings are accepted, so that a framework's answer can be passed on unchanged.
    if isinstance(usage := facts.get("usage"), Mapping):
        # Frameworks write None for a count that the endpoint did not report.
        read["usage"] = Usage(**{name: count or 0 for name, count in usage.items()})
    # The engine adds dollars up while the server is away: a text would break it.
    if "cost_usd" in facts:
        read["cost_usd"] = read_dollars(facts["cost_usd"])
    if isinstance(ts := facts.get("ts"), str):
        # A text that is no time counts as absent: the host is never broken.
        read.pop("ts")
        with suppress(ValueError):
            read["ts"] = datetime.fromisoformat(ts)
    if isinstance(nature := facts.get("nature"), Mapping):
        read["nature"] = ToolNature.from_mapping(nature)
    return read


def _json_copy(args: object) -> dict[str, Any]:
    """Copy arguments as JSON: the record must not change, whatever the tool does to them."""
    if not isinstance(args, Mapping):
        # A model may write any JSON as arguments; as `input` they still tell calls apart.
        args = {"input": args}
    try:
        written = json.dumps(args, default=str)
        if len(written) <= MAX_ARGS_CHARS:
            return dict(json.loads(written))
    # A cycle, keys that JSON does not know, an object without a text form: the host's own code may
    # raise anything, and the agent must not see it.
    except Exception:
        logger.debug("arguments that JSON cannot say are told in part", exc_info=True)
    from guard.sdk.capture import plain_data

    return dict(plain_data(dict(args), MAX_CHARS))


# For all arguments of a call; a request may have 8 MB.
MAX_ARGS_CHARS = 1_000_000


def with_messages(result: Any, messages: Sequence[str]) -> str:
    """Join the texts for the model: the result, then Mission Control's messages."""
    notes = (f"[Mission Control] {message}" for message in messages)
    return "\n\n".join([str(result), *notes])
