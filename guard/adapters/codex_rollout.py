"""What Codex's rollout file tells and its hooks do not: exit codes and token counts.

A rollout is the session's record, one JSON object a line, written as it goes. When
a command's `PostToolUse` hook is called, the rollout has its exit code and the
token counts of the model call that made it (0.169.0; ordinals 10 and 11 before the
hook, the model's view of the output after it).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guard.adapters.fields import mapping, text

TAIL_BYTES = 1_000_000
"""Read from a rollout's end: a few turns, whatever the session's length."""


def look_up(body: dict[str, Any]) -> dict[str, Any]:
    """Look up what the rollout tells of the event in a hook body.

    Returns:
        `exit_code` of the command that ran, and `model_call` (`call_id`, `usage`):
        the model call that asked for the tool, or, at a stop, that spoke last.
        Each only where the rollout tells it.
    """
    path = text(body, "transcript_path")
    if not path or body.get("hook_event_name") not in {"PostToolUse", "Stop"}:
        return {}
    records = list(_tail(Path(path)))
    call = text(body, "tool_use_id")
    found = {"exit_code": _exit_code(records, call), "model_call": _model_call(records, call)}
    return {name: value for name, value in found.items() if value is not None}


def _tail(path: Path) -> Iterator[dict[str, Any]]:
    """Read the last records, oldest first; a line cut in two is left out."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _exit_code(records: list[dict[str, Any]], call: str) -> int | None:
    for record in reversed(records):
        item = mapping(mapping(record.get("payload")).get("item"))
        if call and item.get("id") == call and isinstance(item.get("exit_code"), int):
            return int(item["exit_code"])
    return None


def _model_call(records: list[dict[str, Any]], call: str) -> dict[str, Any] | None:
    """Find the usage told after this tool call was asked for; at a stop, the last."""
    asked = False
    used = None
    for record in records:
        payload = mapping(record.get("payload"))
        asked = asked or (bool(call) and payload.get("call_id") == call)
        if record.get("type") == "token_usage_record" and text(payload, "response_id"):
            used = {"call_id": payload["response_id"], "usage": payload.get("usage")}
            if asked:
                return used
    return None if call else used
