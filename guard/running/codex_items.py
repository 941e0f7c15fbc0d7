"""The app-server's items and use of a turn: as our turns, and as Codex prints them. Pure."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from guard.adapters.codex.hooks import CLIENT
from guard.adapters.parsing import mapping, text, whole_number
from guard.formats.codex import PROVIDER, usage_of
from guard.turn import Role, Turn, Usage

Item = Mapping[str, Any]
NO_TURN_TEXT = "Codex asked its model, and nothing came of it that it tells."


def turn_of(item: Item) -> Turn | None:
    """Read a completed item: a command, a change of files, a tool call, a message."""
    key, message = text(item, "id"), text(item, "text")
    # Named as in Codex's own hooks: a session without hooks is reported in the same way.
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
                args={"command": _shell_command(item)},
                result=None if failed else output,
                error=f"exit code {code}\n{output}".rstrip() if failed else None,
            )
        case "fileChange":
            failed = item.get("status") == "failed"
            return call(
                tool="apply_patch",
                # The changes themselves: two patches of one file are the same call only if they are
                # equal.
                args={"changes": item.get("changes")},
                error="the change was not applied" if failed else None,
                files=tuple(_changed_paths(item)),
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


def summary_line(item: Item) -> str:
    """Show a completed item in one line; empty if there is nothing to show."""
    kind = text(item, "type")
    if kind == "commandExecution":
        return f"$ {_shell_command(item)}  (exit {item.get('exitCode')})"
    if kind == "fileChange":
        return f"changed {', '.join(_changed_paths(item)) or 'files'}"
    return f"called {text(item, 'tool')}" if kind == "mcpToolCall" else ""


def to_snake_case(value: Any) -> Any:
    """Write names as `codex exec --json` writes them.

    >>> to_snake_case({"type": "agentMessage", "exitCode": 0})
    {'type': 'agent_message', 'exit_code': 0}
    """
    if isinstance(value, dict):
        written = {_snake_case_word(name): to_snake_case(part) for name, part in value.items()}
        if isinstance(written.get("type"), str):
            written["type"] = _snake_case_word(written["type"])
        return written
    return [to_snake_case(part) for part in value] if isinstance(value, list) else value


def _snake_case_word(word: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f"_{found[1].lower()}", word)


def _shell_command(item: Item) -> str:
    """Return what the model asked for, without the shell in which Codex runs it."""
    actions = item.get("commandActions")
    commands = [text(mapping(a), "command") for a in (actions if isinstance(actions, list) else ())]
    # Each of several actions is a part of the line: then the whole line is shown.
    return commands[0] if len(commands) == 1 and commands[0] else text(item, "command")


def _changed_paths(item: Item) -> list[str]:
    changes = item.get("changes")
    rows = (mapping(change) for change in (changes if isinstance(changes, list) else ()))
    return [text(row, "path") for row in rows if text(row, "path")]


class CodexOutput:
    """Shows a session while it runs; `as_json`: one event a line on standard output."""

    def __init__(self, *, as_json: bool, last_message: Path | None) -> None:
        self._as_json, self._file = as_json, last_message
        self._last_message = ""
        self._usage: Mapping[str, Any] = {}

    def show_thread(self, thread_id: str) -> None:
        """The session has begun."""
        self._print_event("thread.started", thread_id=thread_id)

    def show(self, method: str, params: Mapping[str, Any]) -> None:
        """Show a notification."""
        if method == "thread/tokenUsage/updated":
            self._usage = mapping(mapping(params.get("tokenUsage")).get("total"))
        elif method == "turn/started":
            self._print_event("turn.started")
        elif method in {"item/started", "item/completed"}:
            item = mapping(params.get("item"))
            # What the person asked is not the agent's output.
            if text(item, "type") == "userMessage":
                return
            self._print_event(method.replace("/", "."), item=to_snake_case(dict(item)))
            if method != "item/completed":
                return
            if text(item, "type") == "agentMessage":
                self._last_message = text(item, "text")
            if not self._as_json and (line := summary_line(item)):
                sys.stderr.write(f"{line}\n")
        elif method == "turn/completed":
            self._print_event("turn.completed", usage=to_snake_case(dict(self._usage)))
            if fault := mapping(mapping(params.get("turn")).get("error")):
                sys.stderr.write(f"codex: {text(fault, 'message')}\n")

    def finish(self) -> None:
        """Print the last message, if nothing else went to standard output."""
        if not self._as_json and self._last_message:
            sys.stdout.write(f"{self._last_message}\n")
        if self._file is not None:
            self._file.write_text(self._last_message, "utf-8")

    def _print_event(self, kind: str, **facts: Any) -> None:
        if self._as_json:
            sys.stdout.write(json.dumps({"type": kind, **facts}, separators=(",", ":")) + "\n")
            sys.stdout.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """What one model call used; `call_id` names it."""

    call_id: str
    usage: Usage
    model: str | None = None

    def add_to(self, turn: Turn) -> Turn:
        """Add the use to a turn."""
        return replace(
            turn, call_id=self.call_id, usage=self.usage, model=self.model, provider=PROVIDER
        )


def read_call_usage(params: Mapping[str, Any]) -> CallUsage:
    """Read the last model call's use from `thread/tokenUsage/updated`.

    The use has no id: it is named by its thread's total after it, which only grows.

    >>> counts = {"totalTokens": 1542, "inputTokens": 1500, "cachedInputTokens": 1000}
    >>> used = read_call_usage({"turnId": "t", "tokenUsage": {"last": counts, "total": counts}})
    >>> used.call_id, used.usage.input, used.usage.cache_read
    ('t:1542', 500, 1000)
    """
    use = mapping(params.get("tokenUsage"))
    last, total = mapping(use.get("last")), mapping(use.get("total"))
    counts = {
        "input_tokens": last.get("inputTokens"),
        "cached_input_tokens": last.get("cachedInputTokens"),
        "cache_write_input_tokens": last.get("cacheWriteInputTokens"),
        "output_tokens": last.get("outputTokens"),
        "reasoning_output_tokens": last.get("reasoningOutputTokens"),
    }
    name = f"{text(params, 'turnId')}:{whole_number(total.get('totalTokens')) or 0}"
    return CallUsage(call_id=name, usage=usage_of(counts))


class UsageLedger:
    """Joins turns with the model calls behind them.

    A call's use is reported just after its turns, so the agent's last turns wait for it; each
    method returns the turns that are complete.
    """

    def __init__(self) -> None:
        self._waiting: list[Turn] = []
        # Use that was reported before any turn waited for it.
        self._unmatched: list[CallUsage] = []

    def add_turn(self, turn: Turn | None) -> list[Turn]:
        """Take a turn, if there is one."""
        if turn is None:
            return []
        # A person's words cost nothing, and come after the turns that wait.
        if turn.role is Role.USER:
            return [*self._flush(), turn]
        self._waiting.append(turn)
        return self.add_usage(self._unmatched.pop(0)) if self._unmatched else []

    def add_usage(self, call_usage: CallUsage) -> list[Turn]:
        """Take a model call's use."""
        if not self._waiting:
            self._unmatched.append(call_usage)
            return []
        # On the first turn: one model call may have led to several, and counts once.
        self._waiting[0] = call_usage.add_to(self._waiting[0])
        return self._flush()

    def flush(self) -> list[Turn]:
        """Return the turns that still wait; use without a turn gets turns of its own."""
        unmatched, self._unmatched = self._unmatched, []
        alone = (
            call_usage.add_to(
                Turn(role=Role.ASSISTANT, key=f"use:{call_usage.call_id}", content=NO_TURN_TEXT)
            )
            for call_usage in unmatched
        )
        return [*self._flush(), *alone]

    def _flush(self) -> list[Turn]:
        waiting, self._waiting = self._waiting, []
        return waiting
