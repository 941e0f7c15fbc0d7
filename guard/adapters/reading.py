"""What the hook bodies of all agents have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from guard.adapters.base import Body
from guard.adapters.fields import text
from guard.adapters.hook import PROBE
from guard.errors import UnreadableHook
from guard.turn import Role, Turn

Reader = Callable[[Body], Turn | None]
"""Reads the turn that one kind of event tells of, if it does."""


def read_head(body: Body, *, agent: str, session: str = "session_id") -> tuple[str, str]:
    """Return the event's name and the session it belongs to; a probe has none.

    Raises:
        UnreadableHook: It has no `hook_event_name`, or no field `session`.
    """
    name, told = text(body, "hook_event_name"), text(body, session) or text(body, "session_id")
    if not name or not (told or name == PROBE):
        raise UnreadableHook(f"A {agent} hook body has hook_event_name and {session}.")
    return name, told


def read_turns(readers: Mapping[str, Reader], name: str, body: Body) -> tuple[Turn, ...]:
    """Return what an event of this name tells of: one turn or none."""
    reader = readers.get(name)
    turn = reader(body) if reader else None
    return (turn,) if turn else ()


def read_call(body: Body, **more: Any) -> Turn | None:
    """Read the tool call a body tells of; `more` are the turn's other fields."""
    tool, args = text(body, "tool_name"), body.get("tool_input")
    if not tool:
        return None
    told = args if isinstance(args, dict) else {"input": args}
    return Turn(role=Role.ASSISTANT, tool=tool, args=told, **more)


def named_subagent(body: Body) -> str | None:
    """Name who speaks: a subagent has an id, and a type people know it by; else None."""
    agent_id, kind = text(body, "agent_id"), text(body, "agent_type")
    if not agent_id:
        return None
    return f"{kind}:{agent_id}" if kind else agent_id
