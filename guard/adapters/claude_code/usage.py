"""What Claude Code's model calls used, from its transcript: our forwarder reads it.

Its hooks carry no token counts, and where it is connected for one project it takes no
telemetry settings from there (2.1.330). The transcript has a record for each block of
an answer, all with the answer's id and its usage; a subagent's stands in a file of its
own. When a tool has run, the call that asked for it is there; the last one is there at
the session's end. A forked session's file begins with a copy of the one it left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guard.adapters.hook import ModelCall
from guard.adapters.reading import mapping, rows_at_end, text
from guard.formats.claude_code import usage_of
from guard.formats.fields import read_time

EVENT = "Usage"
"""Our own event: what was used, and nothing else."""
PROVIDER = "anthropic"
MADE_UP = "<synthetic>"
"""The model of what Claude Code says itself, such as an error."""
TAIL_BYTES = 1024 * 1024
MOST_CALLS = 16
"""Told again with each hook, so that one that got lost is made good."""
MOST_SUBAGENTS = 8

Body = Mapping[str, Any]


def usage_body(body: Body) -> dict[str, Any]:
    """Return what a hook that is there for the money alone sends of its body."""
    kept = ("session_id", "cwd", "transcript_path")
    return {"hook_event_name": EVENT, **{name: body[name] for name in kept if name in body}}


def look_up(body: Body) -> dict[str, Any]:
    """Return what our forwarder adds to a body: the transcript's last model calls."""
    path = Path(text(body, "transcript_path"))
    if not path.is_file():
        return {}
    folder = path.with_suffix("") / "subagents"
    files = sorted(folder.glob("agent-*.jsonl"), key=_changed_at)[-MOST_SUBAGENTS:]
    calls = [call for file in (*files, path) for call in _last_calls(file)]
    return {"guard": {"model_calls": calls}} if calls else {}


def calls_of(body: Body) -> tuple[ModelCall, ...]:
    """Return the model calls that a forwarded body tells of, oldest first."""
    told = mapping(body.get("guard")).get("model_calls")
    rows = told if isinstance(told, list) else []
    return tuple(call for row in rows if (call := _call(mapping(row))))


def _call(row: Body) -> ModelCall | None:
    name, usage = text(row, "id"), usage_of(row.get("usage"))
    if not name or usage is None or not usage.total:
        return None
    return ModelCall(
        call_id=name[:200],
        source="transcript",
        agent=text(row, "agent")[:100],
        turn_key=text(row, "tool")[:200] or None,
        model=text(row, "model")[:100] or None,
        provider=PROVIDER,
        usage=usage,
        made_at=read_time(row.get("timestamp")),
    )


def _last_calls(path: Path) -> list[dict[str, Any]]:
    """Return the last answers of the model, each once, without what they said."""
    calls: dict[str, dict[str, Any]] = {}
    for row in rows_at_end(path, most_bytes=TAIL_BYTES):
        message = mapping(row.get("message"))
        name, model = text(message, "id"), text(message, "model")
        if name and model != MADE_UP and message.get("usage"):
            calls[name] = {
                "id": name,
                "model": model,
                "agent": _agent(path, row),
                "tool": calls.get(name, {}).get("tool") or _tool(message),
                "usage": message["usage"],
                "timestamp": row.get("timestamp"),
            }
    return list(calls.values())[-MOST_CALLS:]


def _tool(message: Body) -> str:
    """Name the tool call in a record, which holds one block of the answer."""
    blocks = message.get("content")
    for block in blocks if isinstance(blocks, list) else ():
        if text(mapping(block), "type") == "tool_use":
            return text(mapping(block), "id")
    return ""


def _agent(path: Path, row: Body) -> str:
    """Name a subagent as its hooks do: its kind and its id."""
    agent_id = text(row, "agentId")
    if not agent_id:
        return ""
    try:
        kind = text(mapping(json.loads(path.with_suffix(".meta.json").read_bytes())), "agentType")
    except (OSError, ValueError):
        kind = ""
    return f"{kind}:{agent_id}" if kind else agent_id


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
