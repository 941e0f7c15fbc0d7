"""A scripted Messages API on loopback, streaming as the real one does.

The script decides from the conversation it receives, never from a counter: what
the model does next follows from what the agent showed it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.agents.scripted_api import Asked, ScriptedApi

USAGE = {
    "input_tokens": 1200,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 9000,
    "output_tokens": 42,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model says: text, tool calls, or both."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request of the agent, as a script wants to see it."""

    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Everything but the system prompt and the tools, as text."""
        return json.dumps(self.body["messages"], ensure_ascii=False)

    @property
    def last(self) -> str:
        """What came after the model spoke last."""
        messages = self.body["messages"]
        spoke = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
        return json.dumps(messages[spoke + 1 :], ensure_ascii=False)

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The tool calls the model made so far, oldest first."""
        return [
            (block["name"], block["input"])
            for message in self.body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block.get("type") == "tool_use"
        ]


Script = Callable[[Conversation], Reply]


class ScriptedMessagesApi(ScriptedApi):
    """Serves a script; keeps every request that carried tools."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.conversations: list[Conversation] = []

    def serve(self, asked: Asked) -> None:
        body = asked.body()
        if asked.command == "HEAD":
            asked.answer(200, {})
        elif "count_tokens" in asked.path:
            asked.answer(200, {"input_tokens": 1234})
        elif asked.command == "POST" and asked.path.startswith("/v1/messages"):
            message = _message_of(self.reply(body), body.get("model", "unnamed"))
            if body.get("stream"):
                events = _events(message)
                asked.stream(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
            else:
                asked.answer(200, message)
        else:
            none = {"type": "not_found_error", "message": "none"}
            asked.answer(404, {"type": "error", "error": none})

    def reply(self, body: dict[str, Any]) -> Reply:
        if not body.get("tools"):
            return Reply(text="ok")
        conversation = Conversation(body)
        self.conversations.append(conversation)
        return self.script(conversation)


def _message_of(reply: Reply, model: str) -> dict[str, Any]:
    text = [{"type": "text", "text": reply.text}] if reply.text else []
    calls = [
        {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": args}
        for name, args in reply.calls
    ]
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [*text, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _events(message: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {
        **message,
        "content": [],
        "stop_reason": None,
        "usage": {**USAGE, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(message["content"]):
        events += _block_events(index, block)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": USAGE})
    return [*events, {"type": "message_stop"}]


def _block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]
