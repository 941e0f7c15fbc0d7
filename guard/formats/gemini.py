"""Gemini CLI sessions: one JSON document, or one message per line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from guard.formats.fields import (
    read_answer,
    read_args,
    read_content,
    read_count,
    read_rows,
    read_text,
    read_time,
)
from guard.formats.recording import PairedTurns
from guard.turn import Role, Turn, Usage

_TYPES = {"user", "gemini", "info", "error", "warning"}


def recognises(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether an early row is a session document or one of its messages."""
    for row in rows[:20]:
        if "sessionId" in row and ("messages" in row or "projectHash" in row):
            return True
        # A row with a payload is a record of Codex.
        is_typed = str(row.get("type")) in _TYPES
        if is_typed and "content" in row and "id" in row and "payload" not in row:
            return True
    return False


class Reader(PairedTurns):
    """Reads a session: each tool call becomes one turn with its result."""

    def __init__(self) -> None:
        super().__init__()
        # By id, in the order of their first appearance.
        self._messages: dict[str, Mapping[str, Any]] = {}

    def take(self, row: Mapping[str, Any]) -> None:
        self.session = self.session or read_text(row.get("sessionId"))
        # A rewritten history is recorded again as a whole.
        updated = row.get("$set")
        inner = (updated if isinstance(updated, dict) else row).get("messages")
        for message in inner if isinstance(inner, list) else [row]:
            if isinstance(message, dict) and str(message.get("type")) in _TYPES:
                # A later version of a message replaces the earlier one.
                self._messages[str(message.get("id", len(self._messages)))] = message

    def finish(self) -> None:
        for message in self._messages.values():
            at = read_time(message.get("timestamp"))
            text = read_content(message.get("content"))
            if message.get("type") == "user" and text:
                self.add(Turn(role=Role.USER, content=text, ts=at))
            elif message.get("type") == "gemini":
                base = Turn(
                    role=Role.ASSISTANT,
                    call_id=read_text(message.get("id")),
                    model=read_text(message.get("model")),
                    provider="google",
                    usage=usage_of(message.get("tokens")),
                    ts=at,
                )
                if text:
                    self.add(replace(base, content=text))
                for call in read_rows(message.get("toolCalls")):
                    self.add(_call(base, call))


def _call(base: Turn, call: Mapping[str, Any]) -> Turn:
    result = call.get("result")
    if not isinstance(result, list):
        answer = read_answer(result)
    else:
        texts: list[str] = []
        for part in result:
            response = part.get("functionResponse") if isinstance(part, dict) else None
            inner = response.get("response") if isinstance(response, dict) else part
            # Of {"output": text} and {"error": text}, only the text was the answer.
            if isinstance(inner, dict) and len(inner) == 1:
                inner = next(iter(inner.values()))
            texts.append(read_answer(inner) or "")
        answer = "\n".join(texts)
    failed = str(call.get("status")) in {"error", "cancelled"}
    return replace(
        base,
        key=read_text(call.get("id")),
        tool=read_text(call.get("name")) or "unknown",
        args=read_args(call.get("args")),
        result=None if failed else answer,
        error=(answer or str(call.get("status"))) if failed else None,
        ts=read_time(call.get("timestamp")) or base.ts,
    )


def usage_of(value: object) -> Usage | None:
    """Read a message's `tokens`; None if it has none."""
    if not isinstance(value, dict):
        return None
    cached, thought = read_count(value.get("cached")), read_count(value.get("thoughts"))
    return Usage(
        # Gemini's input includes cached tokens, and its output excludes thoughts.
        input=max(0, read_count(value.get("input")) - cached) + read_count(value.get("tool")),
        cache_read=cached,
        output=read_count(value.get("output")) + thought,
        reasoning=thought,
    )
