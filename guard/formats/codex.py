"""Codex rollouts and the output of `codex exec --json`: items and events, one per line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from guard.formats.fields import (
    read_answer,
    read_args,
    read_content,
    read_count,
    read_mapping,
    read_text,
    read_time,
)
from guard.formats.recording import PairedTurns
from guard.turn import Role, Turn, Usage

PROVIDER = "openai"

_TYPES = {"session_meta", "response_item", "event_msg", "turn_context", "token_usage_record"}
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_ANSWERS = {"function_call_output", "custom_tool_call_output"}
_EXIT_CODE = re.compile(r"(?i)(?:process exited with code|exit code:?) (-?\d+)")
_SPOKEN_BY_MACHINES = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_")
_PREAMBLE = re.compile(r"\A(?:Chunk ID:|Wall time:|Process |Original token)[\s\S]*?\nOutput:\n")


def recognises(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether an early record is from a rollout or from `codex exec --json`."""
    return any(
        (str(row.get("type")) in _TYPES and isinstance(row.get("payload"), dict))
        or (str(row.get("type")).startswith("item.") and isinstance(row.get("item"), dict))
        for row in rows[:20]
    )


class Reader(PairedTurns):
    """Pairs calls with outputs by `call_id`; usage goes to the latest turn."""

    def __init__(self) -> None:
        super().__init__()
        self._model: str | None = None
        self._counted: Mapping[str, Any] | None = None

    def take(self, row: Mapping[str, Any]) -> None:
        payload, record = row.get("payload"), str(row.get("type"))
        if record == "thread.started":
            self.session = self.session or read_text(row.get("thread_id"))
        elif record == "item.completed" and isinstance(item := row.get("item"), dict):
            self._take_printed(item)
        if not isinstance(payload, dict):
            return
        kind = str(payload.get("type"))
        if record == "session_meta":
            self.session = self.session or read_text(payload.get("id"))
        if record in {"session_meta", "turn_context"}:
            self._model = read_text(payload.get("model")) or self._model
        elif record == "event_msg" and kind == "token_count":
            self._take_usage(payload.get("info"))
        elif record == "response_item":
            self._take_item(
                kind, payload, Turn(role=Role.ASSISTANT, ts=read_time(row.get("timestamp")))
            )

    def _take_printed(self, item: Mapping[str, Any]) -> None:
        """Take a completed item from `codex exec --json`."""
        kind, turn = str(item.get("type")), Turn(role=Role.ASSISTANT, key=read_text(item.get("id")))
        if kind == "agent_message" and (text := read_text(item.get("text"))):
            self.add(replace(turn, content=text))
        elif kind == "command_execution":
            code, text = item.get("exit_code"), read_text(item.get("aggregated_output")) or ""
            self.add(
                replace(
                    turn,
                    tool="shell",
                    args={"command": item.get("command")},
                    result=None if code else text,
                    error=f"exit code {code}\n{text}" if code else None,
                )
            )
        elif kind in {"file_change", "mcp_tool_call", "web_search"}:
            given = ("changes", "server", "arguments", "query")
            result = item.get("error") or item.get("result") or item.get("status")
            failed = item.get("status") == "failed"
            self.add(
                replace(
                    turn,
                    tool=read_text(item.get("tool")) or kind,
                    args={name: item[name] for name in given if name in item},
                    result=None if failed else read_answer(result),
                    error=(read_answer(result) or "failed") if failed else None,
                )
            )

    def _take_item(self, kind: str, payload: Mapping[str, Any], turn: Turn) -> None:
        """Take an item of a rollout: a message, a call, or a call's output."""
        if kind == "message":
            text = read_content(payload.get("content")) or ""
            role = {"user": Role.USER, "assistant": Role.ASSISTANT}.get(str(payload.get("role")))
            # Codex describes the environment to the model in messages of role "user".
            if text and role and not text.startswith(_SPOKEN_BY_MACHINES):
                self.add(replace(turn, role=role, content=text))
        elif kind in _CALLS:
            key = read_text(payload.get("call_id")) or read_text(payload.get("id"))
            tool = read_text(payload.get("name")) or str(payload.get("type"))
            given = payload.get("arguments", payload.get("input", payload.get("action")))
            args = read_args(given)
            # A patch or a script is passed as plain text.
            if args is None and isinstance(given, str):
                args = {"input": given}
            turn = replace(turn, key=key, tool=tool, args=args, model=self._model)
            self.add(turn, call=key)
        elif kind in _ANSWERS:
            text, code = output_of(payload.get("output"))
            shown = f"exit code {code}\n{text}" if code else text
            self.answer(str(payload.get("call_id")), shown, failed=bool(code))

    def _take_usage(self, info: object) -> None:
        last = read_mapping(info).get("last_token_usage")
        # Every rate-limit update repeats the same figures.
        total = read_mapping(info).get("total_token_usage")
        if not isinstance(last, dict) or total == self._counted or not self.turns:
            return
        self._counted = total
        # It follows the turn that it belongs to; a person's message may come in between.
        place = max(
            (i for i, turn in enumerate(self.turns) if turn.role is Role.ASSISTANT), default=None
        )
        if place is not None:
            turn = self.turns[place]
            # Several model calls may belong to one turn, since thinking is not a turn.
            used = usage_of(last) if turn.usage is None else turn.usage + usage_of(last)
            self.turns[place] = replace(turn, usage=used, model=self._model, provider=PROVIDER)


def output_of(output: object) -> tuple[str, int]:
    """Return a tool's output and its exit code, 0 if none is stated."""
    if isinstance(output, list):
        output = read_content(output) or ""
    if not isinstance(output, str):
        return json.dumps(output, default=str) if output is not None else "", 0
    wrapped = read_args(output) if output.startswith("{") else None
    if wrapped and isinstance(wrapped.get("output"), str):
        code = read_mapping(wrapped.get("metadata")).get("exit_code")
        return wrapped["output"], code if isinstance(code, int) else 0
    # Only in the head, where Codex writes it: the output itself may mention exit codes.
    found = _EXIT_CODE.search(output[:400])
    return _PREAMBLE.sub("", output), int(found.group(1)) if found else 0


def usage_of(value: object) -> Usage:
    """Read Codex's token counts; its input includes cached tokens, `Usage.input` does not.

    >>> usage_of({"input_tokens": 1500, "cached_input_tokens": 1000, "output_tokens": 42})
    ... # doctest: +ELLIPSIS
    Usage(input=500, cache_read=1000, ..., output=42, reasoning=0)
    """
    counts = read_mapping(value)
    cached = read_count(counts.get("cached_input_tokens"))
    written = read_count(counts.get("cache_write_input_tokens"))
    return Usage(
        input=max(0, read_count(counts.get("input_tokens")) - cached - written),
        cache_read=cached,
        cache_write_5m=written,
        output=read_count(counts.get("output_tokens")),
        reasoning=read_count(counts.get("reasoning_output_tokens")),
    )
