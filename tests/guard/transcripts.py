"""Transcripts as the agents write them, with a loop on a missing file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
MISSING = "File does not exist. Current working directory: /home/dev/project"


def write_lines(path: Path, rows: Rows) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def fewer_failing() -> Rows:
    """Turns that look alike, and that a judge lets go: each time one test less fails."""
    call = {"role": "assistant", "tool": "Bash", "args": {"command": "pytest -q"}}
    return [{**call, "result": text} for text in ("3 failed", "2 failed", "1 failed")]


def claude_code(times: int = 3) -> Rows:
    """One record per content block; a block's usage is its whole message's."""
    rows: Rows = [
        {"type": "summary", "summary": "Fix the login", "leafUuid": "l"},
        _claude({"type": "user", "message": {"role": "user", "content": "Fix the login."}}),
    ]
    for n in range(times):
        usage = {
            "input_tokens": 1200,
            "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 9000,
            "output_tokens": 42,
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 300},
        }
        base = {"id": f"msg_{n}", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
        text = {"type": "text", "text": f"Attempt {'abc'[n % 3]}: let me read it."}
        call = {
            "type": "tool_use",
            "id": f"toolu_{n}",
            "name": "Read",
            "input": {"file_path": "/home/dev/project/app/tokens.py"},
        }
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{n}",
            "content": MISSING,
            "is_error": True,
        }
        rows += [
            _claude({"type": "assistant", "message": {**base, "content": [text]}}),
            _claude({"type": "assistant", "message": {**base, "content": [call]}}),
            _claude({"type": "user", "message": {"role": "user", "content": [result]}}),
        ]
    return rows


def _claude(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "uuid": "u",
        "sessionId": "df28a4ce",
        "isSidechain": False,
        "timestamp": "2026-11-21T21:01:53.256Z",
        **row,
    }


def codex(times: int = 3) -> Rows:
    """Response items and events; the exit code stands inside the output."""
    rows = [
        _codex("session_meta", {"id": "01a1fff0", "cwd": "/home/dev"}),
        _codex("turn_context", {"model": "gpt-5.1-codex"}),
        _codex("response_item", _codex_says("user", "<environment_context>cwd")),
        _codex("response_item", _codex_says("user", "Fix the login.")),
    ]
    for n in range(times):
        total = {"input_tokens": 1500 * (n + 1), "cached_input_tokens": 1000 * (n + 1)}
        last = {
            "input_tokens": 1500,
            "cached_input_tokens": 1000,
            "cache_write_input_tokens": 0,
            "output_tokens": 42,
            "reasoning_output_tokens": 10,
        }
        count = {
            "type": "token_count",
            "info": {"total_token_usage": total, "last_token_usage": last},
        }
        call = {
            "type": "function_call",
            "name": "exec_command",
            "call_id": f"call_{n}",
            "arguments": json.dumps({"cmd": "cat app/tokens.py"}),
        }
        output = {
            "type": "function_call_output",
            "call_id": f"call_{n}",
            "output": f"Chunk ID: e43be{n}\nWall time: 0.00{n} seconds\n"
            "Process exited with code 1\nOriginal token count: 9\nOutput:\n"
            "cat: app/tokens.py: No such file or directory\n",
        }
        rows += [
            _codex("response_item", call),
            _codex("event_msg", count),
            _codex("event_msg", count),
            _codex("response_item", output),
        ]
    return rows


def _codex(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-11-21T21:08:32.486Z", "type": kind, "payload": payload}


def _codex_says(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def gemini(times: int = 3) -> Rows:
    """A head, then messages; one with calls is told again when they are done."""
    rows: Rows = [
        {"sessionId": "7928e511", "projectHash": "h", "startTime": "2026-11-21T21:08:00Z"},
        {
            "id": "u0",
            "timestamp": "2026-11-21T21:08:01Z",
            "type": "user",
            "content": [{"text": "Fix the login."}],
        },
    ]
    for n in range(times):
        message: dict[str, Any] = {
            "id": f"g{n}",
            "timestamp": "2026-11-21T21:08:44.831Z",
            "type": "gemini",
            "content": "",
            "thoughts": [],
            "model": "gemini-2.5-flash",
            "tokens": {"input": 1500, "output": 42, "cached": 1000, "thoughts": 10, "tool": 0},
        }
        response = {"functionResponse": {"name": "read_file", "response": {"error": MISSING}}}
        call = {
            "id": f"read_file-{n}",
            "name": "read_file",
            "args": {"path": "app/tokens.py"},
            "result": [response],
            "status": "error",
            "timestamp": "2026-11-21T21:08:45.831Z",
        }
        rows += [message, {**message, "toolCalls": [call]}, {"$set": {"lastUpdated": "x"}}]
    return rows
