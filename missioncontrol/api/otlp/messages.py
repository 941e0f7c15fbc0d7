"""Conversations as instrumentations write them down: parts, blocks, numbered attributes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from guard.formats.fields import read_answer, read_args
from missioncontrol.api.otlp.facts import ChatMessage, ToolAnswer, ToolRequest

MOST_MESSAGES = 2000
_NUMBERED = re.compile(r"(\d{1,4})\.(.+)")


def read_messages(value: Any) -> tuple[ChatMessage, ...]:
    """Read messages from a list, or from the JSON text of one; else none."""
    if isinstance(value, str):
        value = parsed(value)
    # One message alone, or all of them under a name.
    if isinstance(value, dict):
        value = value.get("messages", [value])
    if not isinstance(value, list):
        return ()
    return tuple(read_message(one) for one in value[:MOST_MESSAGES] if isinstance(one, dict))


def numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Gather `prefix.0.role`, `prefix.0.content` … into one table a number."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if name.startswith(prefix) and (match := _NUMBERED.fullmatch(name[len(prefix) :])):
            found.setdefault(int(match[1]), {})[match[2]] = value
    return [found[number] for number in sorted(found)]


def parsed(text: Any) -> Any:
    """Read JSON; None where it is none."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def arguments(value: Any) -> dict[str, object]:
    """Give a call's arguments; what is no object is kept as one."""
    args = read_args(value)
    if args is not None:
        return dict(args)
    return {} if value in (None, "", "null") else {"input": value}


def read_message(given: dict[str, Any]) -> ChatMessage:
    """Read a message with `parts` (GenAI conventions), or `content` as vendors have it."""
    role = str(given.get("role") or "assistant").lower()
    blocks = given.get("parts", given.get("content"))
    # A text is one block, so that both are read in one way below.
    blocks = [{"type": "text", "content": blocks}] if isinstance(blocks, str) else blocks
    known = [block for block in _listed(blocks) if isinstance(block, dict)]
    answers = []
    for block in known:
        if block.get("type") not in {"tool_call_response", "tool_result", "function_call_output"}:
            continue
        # GenAI conventions say `id`, Anthropic `tool_use_id`, OpenAI's responses `call_id`.
        call_id = block.get("id") or block.get("tool_use_id") or block.get("call_id")
        answer = next(
            (block[n] for n in ("response", "result", "content", "output") if n in block), ""
        )
        parts = [part for part in _listed(answer) if isinstance(part, dict)]
        answers.append(ToolAnswer(id=_id(call_id), text=_texts(parts) or read_answer(answer) or ""))
    # OpenAI's chats have no block for an answer: the whole message is one.
    if role == "tool" and not answers:
        answers.append(ToolAnswer(id=_id(given.get("tool_call_id")), text=_texts(known)))
    return ChatMessage(
        role=role,
        text="" if role == "tool" else _texts(known),
        calls=(*_calls(known), *_calls(given.get("tool_calls"))),
        answers=tuple(answers),
    )


def _texts(blocks: Iterable[dict[str, Any]]) -> str:
    texts = (
        block.get("content", block.get("text"))
        for block in blocks
        if block.get("type", "text") in {"text", "output_text", "input_text"}
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _calls(blocks: Any) -> Iterator[ToolRequest]:
    for block in _listed(blocks):
        if not isinstance(block, dict):
            continue
        if block.get("type") not in {"tool_call", "tool_use", "function", "function_call"}:
            continue
        # OpenAI's chats keep name and arguments under `function`; others beside the `type`.
        function = block.get("function")
        inner = function if isinstance(function, dict) else block
        given = inner.get("arguments", inner.get("input", inner.get("args")))
        yield tool_request(block.get("id") or block.get("call_id"), inner.get("name"), given)


def tool_request(call_id: Any, name: Any, given: Any) -> ToolRequest:
    """Put a proposed call together."""
    return ToolRequest(
        id=_id(call_id),
        name=name if isinstance(name, str) else "",
        args=arguments(given),
    )


def _id(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
