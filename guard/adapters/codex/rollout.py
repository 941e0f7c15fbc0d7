"""What Codex's rollout file tells and its hooks do not: exit codes and token counts.

A rollout is the session's record, one JSON object a line, written as it goes. When
a command's `PostToolUse` hook is called, the rollout has its exit code and the
token counts of the model call that made it (0.169.0; ordinals 10 and 11 before the
hook, the model's view of the output after it).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from guard.adapters.base import Body
from guard.adapters.hook import ModelCall
from guard.adapters.reading import forwarded_calls, mapping, rows_at_end, text
from guard.formats.codex import PROVIDER, usage_of

# Read from a rollout's end: a few turns, whatever the session's length.
TAIL_BYTES = 512 * 1024

MOST_CALLS = 16

# At these no model has been called since the last hook.
_BEGINNINGS = frozenset({"SessionStart", "UserPromptSubmit"})


def look_up(body: dict[str, Any]) -> dict[str, Any]:
    """Look up what the rollout tells of the event in a hook body.

    Returns:
        `exit_code` of the command that ran, where it is told, and `model_calls`:
        the last ones, oldest first. They are told again with each hook, so that
        one that was asked for by a call that never ran is made good.
    """
    path = text(body, "transcript_path")
    if not path or body.get("hook_event_name") in _BEGINNINGS:
        return {}
    records = list(rows_at_end(Path(path), most_bytes=TAIL_BYTES))
    payloads = [mapping(record.get("payload")) for record in records]
    found: dict[str, Any] = {}
    call = text(body, "tool_use_id")
    # From the end: the record of the call that has just ended is among the last.
    for item in (mapping(payload.get("item")) for payload in reversed(payloads)):
        if call and item.get("id") == call and isinstance(item.get("exit_code"), int):
            found["exit_code"] = int(item["exit_code"])
            break
    # What each answer of the model used, without what it said.
    calls = [
        {
            "id": payload.get("response_id"),
            "usage": payload.get("usage"),
            "timestamp": record.get("timestamp"),
        }
        for record, payload in zip(records, payloads, strict=True)
        if record.get("type") == "token_usage_record"
    ]
    return found | {"model_calls": calls[-MOST_CALLS:]}


def calls_of(body: Body) -> tuple[ModelCall, ...]:
    """Return the model calls that a forwarded body tells of, oldest first."""
    model = text(body, "model")
    return forwarded_calls(body, usage_of, provider=PROVIDER, model=model) or ()
