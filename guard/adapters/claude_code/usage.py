"""What Claude Code's model calls used, from its transcript: our forwarder reads it.

Its hooks carry no token counts, and where it is connected for one project it takes no
telemetry settings from there (2.1.330). The transcript has a record for each block of
an answer, all with the answer's id and its usage; a subagent's stands in a file of its
own. When a tool has run, the call that asked for it is there; the last one is there at
the session's end. A forked session's file begins with a copy of the one it left.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from guard.adapters.base import Body
from guard.adapters.hook import ModelCall
from guard.adapters.reading import forwarded_calls, mapping, newest, rows_at_end, text
from guard.formats.claude_code import usage_of

# Our own event: what was used, and nothing else.
EVENT = "Usage"
PROVIDER = "anthropic"
# The model of what Claude Code says itself, such as an error.
MADE_UP = "<synthetic>"
TAIL_BYTES = 1024 * 1024
# Told again with each hook, so that one that got lost is made good.
MOST_CALLS = 16
MOST_SUBAGENTS = 8


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
    files = [*newest(folder, "agent-*.jsonl", most=MOST_SUBAGENTS), path]
    calls = [call for file in files for call in _last_calls(file)]
    return {"guard": {"model_calls": calls}} if calls else {}


def calls_of(body: Body) -> tuple[ModelCall, ...]:
    """Return the model calls that a forwarded body tells of, oldest first."""
    return forwarded_calls(body, usage_of, provider=PROVIDER) or ()


def _last_calls(path: Path) -> list[dict[str, Any]]:
    """Return the last answers of the model, each once, without what they said."""
    calls: dict[str, dict[str, Any]] = {}
    # A subagent's kind stands beside its file, not in it; the session's own has no such file.
    try:
        kind = text(mapping(json.loads(path.with_suffix(".meta.json").read_bytes())), "agentType")
    except (OSError, ValueError):
        kind = ""
    for row in rows_at_end(path, most_bytes=TAIL_BYTES):
        message = mapping(row.get("message"))
        name, model = text(message, "id"), text(message, "model")
        # Each block of an answer is a record with the answer's id and usage: the last one counts.
        if not name or model == MADE_UP or not message.get("usage"):
            continue
        # A record holds one block of the answer: the first that calls a tool names its turn.
        content = message.get("content")
        blocks = [mapping(block) for block in content] if isinstance(content, list) else []
        tools = [text(block, "id") for block in blocks if text(block, "type") == "tool_use"]
        agent = text(row, "agentId")
        calls[name] = {
            "id": name,
            "model": model,
            "agent": f"{kind}:{agent}" if kind and agent else agent,
            "tool": calls.get(name, {}).get("tool") or (tools[0] if tools else ""),
            "usage": message["usage"],
            "timestamp": row.get("timestamp"),
        }
    return list(calls.values())[-MOST_CALLS:]
