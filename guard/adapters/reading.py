"""Reading what agents send and write: hook bodies, and records of their own.

Nobody promised their shape: a field of another kind is read as absent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from guard.adapters.base import Body
from guard.adapters.hook import PROBE
from guard.errors import UnreadableHook
from guard.turn import Role, Turn

Reader = Callable[[Body], Turn | None]
"""Reads the turn that one kind of event tells of, if it does."""


def text(body: Body, name: str) -> str:
    """Return a text field; empty where it is none."""
    value = body.get(name)
    return value if isinstance(value, str) else ""


def names(listing: Any) -> tuple[str, ...]:
    """Return the texts of a list."""
    if not isinstance(listing, list):
        return ()
    return tuple(name for name in listing if isinstance(name, str))


def whole(value: Any) -> int | None:
    """Return a whole number of 0 or more; None where it is none."""
    counts = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if counts else None


def mapping(value: Any) -> dict[str, Any]:
    """Return an object; empty where it is none."""
    return value if isinstance(value, dict) else {}


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


def rows_at_end(path: Path, *, most_bytes: int) -> Iterator[dict[str, Any]]:
    """Read the objects in the last bytes of a file; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most_bytes))
            lines = file.read(most_bytes).splitlines()
    except OSError:
        lines = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:  # the first one is cut, the last may be half written
            continue
        if isinstance(row, dict):
            yield row
