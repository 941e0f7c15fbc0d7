"""What both kinds of session say, and how they begin: the parts without a network."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from guard.events import Emit, Emitter
from guard.nature import ToolNature
from guard.sdk.conversation import Conversation, Fail, new_key
from guard.sdk.delivery import Send
from guard.sdk.lineage import OWN_VARIABLE, environment_under, opening_under
from guard.sdk.offline import Offline
from guard.sdk.outbox import outbox_root, project_folder
from guard.sdk.wording import MOST_CHARS, text_of
from guard.turn import Phase, Role, Turn, Usage
from guard.wire import Escalation, Mode

logger = logging.getLogger("guard")

# What can truly be done to an agent that asks before each call.
CAPABILITIES: Mapping[str, Any] = {
    "hold": True,
    "inject": ["now", "at_next_tool"],
    "terminate": "sdk",
    "cost": "turns",
    # Over a restart of the server a held call waits on: this very process asks again.
    "away": "waits",
}

Outboxes = Path | str | bool | None

DEFAULT_URL = "http://127.0.0.1:8765"


TransportT = TypeVar("TransportT")


class BaseSession(Generic[TransportT]):
    """How a session of either kind begins, and what it is called by."""

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
        outbox: Outboxes = None,
        ask: bool = True,
        heartbeat: bool = True,
        **opening: Any,
    ) -> None:
        self.agent = agent
        # As it was given, not as it was found: a child looks into the environment by itself.
        self._address: dict[str, Any] = {"url": url, "key": key, "outbox": outbox}
        self.unread: list[str] = []
        self._outer: Any = None
        self._on_escalation = on_escalation
        where = address(url, key)
        send, beats = self._connect(where, transport)
        body = {
            # By its key opening again after a failure is harmless.
            "key": run_key or os.environ.get(OWN_VARIABLE) or new_key(),
            "name": name,
            "agent": agent,
            "mode": str(mode) if mode else None,
            "goal": goal,
            "workspace": list(workspace) or None,
            "capabilities": dict(CAPABILITIES),
        }
        # Absent, not null: the server's own defaults hold then, and an older one knows no other.
        given = {field: value for field, value in body.items() if value is not None}
        # What started this process may name its parent; what the caller says wins over all.
        own = opening_under(given, os.environ) | opening
        emitter, root = Emitter(emit), outbox_root(outbox)
        offline = Offline(
            opening=own,
            folder=project_folder(root, *where) if root else None,
            send=send,
            emit=emitter,
            beats=beats if heartbeat else None,
        )
        self._conversation = Conversation(
            opening=own, offline=offline, fail=fail, asks=ask, emit=emitter
        )

    def _connect(self, where: tuple[str, str], transport: TransportT | None) -> tuple[Send, Send]:
        """Make the transport; answers what carries the background's requests, and the beats."""
        raise NotImplementedError

    @property
    def run_id(self) -> str | None:
        """The run's id on the server; None while it was never reached."""
        return self._conversation.run_id

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the environment of a process that this agent starts.

        An agent in it, ours or Claude Code, then links its run to this one.
        """
        return environment_under(self._conversation.opening["key"])

    def _opening_of_child(self, opening: Mapping[str, Any]) -> dict[str, Any]:
        # By key, not by id: the parent may have begun while the server was away, and has no id
        # yet. A key of its own, or `$MISSIONCONTROL_RUN_KEY` would join the child to its
        # parent's run.
        belongs = {"parent_key": self._conversation.opening["key"], "run_key": new_key()}
        return {**self._address, **belongs, **opening}


def hand_over(escalation: Escalation, callback: Callable[[Escalation], object] | None) -> object:
    """Call the host's callback, if there is one; what it raises is logged."""
    if callback is None:
        return None
    try:
        return callback(escalation)
    # The host's own code: it must not cost the agent the answer that it waits for.
    except Exception:
        logger.exception("the on_escalation callback failed")
        return None


def address(url: str | None, key: str | None) -> tuple[str, str]:
    """Where the server is and who we are, from arguments, then environment."""
    return (
        url or os.environ.get("MISSIONCONTROL_URL") or DEFAULT_URL,
        key or os.environ.get("MISSIONCONTROL_KEY") or "",
    )


def proposed(
    tool: str, args: Mapping[str, Any] | None, *, agent: str, facts: Mapping[str, Any]
) -> Turn:
    """A call before it runs."""
    return Turn(
        role=Role.ASSISTANT,
        key=new_key(),
        agent=agent,
        phase=Phase.PROPOSED,
        tool=tool,
        args=_as_json(args or {}),
        **known(facts),
    )


def done(turn: Turn, result: Any, error: Any, facts: Mapping[str, Any]) -> Turn:
    """The same call with its outcome: same key, so that it completes it."""
    return replace(
        turn,
        phase=Phase.DONE,
        result=None if result is None else text_of(result),
        error=None if error is None else text_of(error),
        **known(facts),
    )


def message_turn(content: str, *, role: Role | str, agent: str, facts: Mapping[str, Any]) -> Turn:
    """A message as a turn; a person's has no agent."""
    # Whose words they are is who says them: a person is no agent of the run.
    speaker = None if Role(role) is Role.USER else agent
    return Turn(role=Role(role), key=new_key(), agent=speaker, content=content, **known(facts))


def known(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Further fields of a turn; `usage` and `nature` may be mappings."""
    read = dict(facts)
    # Mappings too, so that what a framework answered can be handed on as it is.
    if isinstance(usage := facts.get("usage"), Mapping):
        read["usage"] = Usage(**usage)
    if isinstance(nature := facts.get("nature"), Mapping):
        read["nature"] = ToolNature.from_mapping(nature)
    return read


def _as_json(args: Mapping[str, Any]) -> dict[str, Any]:
    """Copy arguments as JSON has them: what was asked must stand, whatever the tool does to it."""
    try:
        written = json.dumps(args, default=str)
        if len(written) <= MOST_ARGS_CHARS:
            return dict(json.loads(written))
    # A circle, keys of no JSON, an object that cannot be told as text: the host's own code may
    # raise anything, and the agent must not hear of it.
    except Exception:
        logger.debug("arguments that JSON cannot say are told in part", exc_info=True)
    from guard.sdk.capture import plain_data

    return dict(plain_data(dict(args), MOST_CHARS))


# Of all arguments of a call; a request may have 8 MB.
MOST_ARGS_CHARS = 1_000_000


def with_messages(result: Any, messages: Sequence[str]) -> str:
    """One text for the model: the result, then what Mission Control adds."""
    notes = (f"[Mission Control] {message}" for message in messages)
    return "\n\n".join([str(result), *notes])
