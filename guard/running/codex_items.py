"""What the app-server tells of a turn: as turns of ours, and as Codex shows it itself."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from guard.adapters.codex.hooks import CLIENT
from guard.adapters.reading import mapping, text
from guard.turn import Role, Turn

Item = Mapping[str, Any]


def turn_of(item: Item) -> Turn | None:
    """Read a completed item: a command, a change of files, a tool's call, a message."""
    key, message = text(item, "id"), text(item, "text")
    # Named as Codex's own hooks name them: a session without hooks is told alike.
    call = partial(Turn, role=Role.ASSISTANT, key=key, agent=CLIENT)
    match text(item, "type"):
        case "agentMessage" if message:
            return Turn(role=Role.ASSISTANT, key=key, content=message)
        case "userMessage":
            content = item.get("content")
            parts = [mapping(part) for part in (content if isinstance(content, list) else ())]
            prompt = "\n".join(text(part, "text") for part in parts if text(part, "text"))
            return Turn(role=Role.USER, key=key, content=prompt) if prompt else None
        case "commandExecution":
            output, code = text(item, "aggregatedOutput"), item.get("exitCode")
            failed = isinstance(code, int) and code != 0
            return call(
                tool="Bash",
                args={"command": _shell(item)},
                result=None if failed else output,
                error=f"exit code {code}\n{output}".rstrip() if failed else None,
            )
        case "fileChange":
            failed = item.get("status") == "failed"
            return call(
                tool="apply_patch",
                # The changes themselves: two patches of one file are the same call only if they
                # say the same.
                args={"changes": item.get("changes")},
                error="the change was not applied" if failed else None,
                files=tuple(_paths(item)),
            )
        case "mcpToolCall":
            error = mapping(item.get("error"))
            return call(
                tool=f"mcp__{text(item, 'server')}__{text(item, 'tool')}",
                args=mapping(item.get("arguments")),
                result=None if error else json.dumps(item.get("result"), sort_keys=True),
                error=(text(error, "message") or "the tool failed") if error else None,
            )
    return None


def line_of(item: Item) -> str:
    """Show a completed item in one line; empty where there is nothing to show."""
    kind = text(item, "type")
    if kind == "commandExecution":
        return f"$ {_shell(item)}  (exit {item.get('exitCode')})"
    if kind == "fileChange":
        return f"changed {', '.join(_paths(item)) or 'files'}"
    return f"called {text(item, 'tool')}" if kind == "mcpToolCall" else ""


def snake(value: Any) -> Any:
    """Write names as `codex exec --json` does.

    >>> snake({"type": "agentMessage", "exitCode": 0})
    {'type': 'agent_message', 'exit_code': 0}
    """
    if isinstance(value, dict):
        written = {_snake_word(name): snake(part) for name, part in value.items()}
        if isinstance(written.get("type"), str):
            written["type"] = _snake_word(written["type"])
        return written
    return [snake(part) for part in value] if isinstance(value, list) else value


def _snake_word(word: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f"_{found[1].lower()}", word)


def _shell(item: Item) -> str:
    """What the model asked for, without the shell that Codex runs it in."""
    actions = item.get("commandActions")
    asked = [text(mapping(a), "command") for a in (actions if isinstance(actions, list) else ())]
    # Of several actions each is a part of the line: it is shown whole.
    return asked[0] if len(asked) == 1 and asked[0] else text(item, "command")


def _paths(item: Item) -> list[str]:
    changes = item.get("changes")
    rows = (mapping(change) for change in (changes if isinstance(changes, list) else ()))
    return [text(row, "path") for row in rows if text(row, "path")]


class CodexOutput:
    """Shows a session as it goes; `as_json`: one event a line on standard output."""

    def __init__(self, *, as_json: bool, last_message: Path | None) -> None:
        self._as_json, self._file = as_json, last_message
        self._last_message = ""
        self._used: Mapping[str, Any] = {}

    def thread(self, thread_id: str) -> None:
        """The session has begun."""
        self._event("thread.started", thread_id=thread_id)

    def show(self, method: str, params: Mapping[str, Any]) -> None:
        """Show a notice."""
        if method == "thread/tokenUsage/updated":
            self._used = mapping(mapping(params.get("tokenUsage")).get("total"))
        elif method == "turn/started":
            self._event("turn.started")
        elif method in {"item/started", "item/completed"}:
            item = mapping(params.get("item"))
            # What the person asked is no output of the agent's.
            if text(item, "type") == "userMessage":
                return
            self._event(method.replace("/", "."), item=snake(dict(item)))
            if method != "item/completed":
                return
            if text(item, "type") == "agentMessage":
                self._last_message = text(item, "text")
            if not self._as_json and (line := line_of(item)):
                sys.stderr.write(f"{line}\n")
        elif method == "turn/completed":
            self._event("turn.completed", usage=snake(dict(self._used)))
            if fault := mapping(mapping(params.get("turn")).get("error")):
                sys.stderr.write(f"codex: {text(fault, 'message')}\n")

    def finish(self) -> None:
        """Give the last message, where nothing else went to standard output."""
        if not self._as_json and self._last_message:
            sys.stdout.write(f"{self._last_message}\n")
        if self._file is not None:
            self._file.write_text(self._last_message, "utf-8")

    def _event(self, kind: str, **facts: Any) -> None:
        if self._as_json:
            sys.stdout.write(json.dumps({"type": kind, **facts}, separators=(",", ":")) + "\n")
            sys.stdout.flush()
