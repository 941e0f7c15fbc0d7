"""A scripted Responses API on loopback, streaming as the real one does.

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

MODEL = "gpt-5.1-codex"

USAGE = {
    "input_tokens": 1500,
    "input_tokens_details": {"cached_tokens": 1000},
    "output_tokens": 42,
    "output_tokens_details": {"reasoning_tokens": 10},
    "total_tokens": 1542,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model says: text, shell commands, or both."""

    text: str = ""
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request of the agent, as a script wants to see it."""

    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Everything the agent sent but its instructions and tools."""
        return json.dumps(self.body["input"], ensure_ascii=False)

    @property
    def last(self) -> str:
        """What came after the model spoke last."""
        items = self.body["input"]
        spoke = max((i for i, item in enumerate(items) if _is_models(item)), default=-1)
        return json.dumps(items[spoke + 1 :], ensure_ascii=False)

    def user_texts(self) -> list[str]:
        """The texts that came to the model as a person's own, oldest first."""
        return [
            part["text"]
            for item in self.body["input"]
            if item.get("role") == "user"
            for part in item["content"]
            if part.get("type") == "input_text"
        ]

    def commands(self) -> list[str]:
        """The shell commands the model called so far, oldest first."""
        return [
            json.loads(item["arguments"])["cmd"]
            for item in self.body["input"]
            if item.get("type") == "function_call"
        ]


def _is_models(item: dict[str, Any]) -> bool:
    return item.get("type") == "function_call" or item.get("role") == "assistant"


Script = Callable[[Conversation], Reply]


class ScriptedResponsesApi(ScriptedApi):
    """Serves a script; keeps every request that carried tools."""

    base = "/v1"

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.conversations: list[Conversation] = []

    def serve(self, asked: Asked) -> None:
        body = asked.body()
        if asked.command != "POST" or not asked.path.endswith("/responses"):
            asked.answer(404, {"error": {"message": "there is nothing here"}})
            return
        events = enumerate(_events(_response_of(self.reply(body), body.get("model", MODEL))))
        numbered = (event | {"sequence_number": number} for number, event in events)
        asked.stream(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in numbered)

    def reply(self, body: dict[str, Any]) -> Reply:
        if not body.get("tools"):
            return Reply(text="ok")
        conversation = Conversation(body)
        self.conversations.append(conversation)
        return self.script(conversation)


def _response_of(reply: Reply, model: str) -> dict[str, Any]:
    return {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": 1_790_000_000,
        "model": model,
        "status": "completed",
        "output": [*_message(reply.text), *map(_call, reply.commands)],
        "usage": USAGE,
        "error": None,
    }


def _message(text: str) -> list[dict[str, Any]]:
    if not text:
        return []
    content = [{"type": "output_text", "text": text, "annotations": []}]
    spoken = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant"}
    return [{**spoken, "status": "completed", "content": content}]


def _call(command: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{uuid.uuid4().hex}",
        "call_id": f"call_{uuid.uuid4().hex[:16]}",
        "name": "exec_command",
        "arguments": json.dumps({"cmd": command}),
        "status": "completed",
    }


def _events(response: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        events += _item_events(index, item)
    return [*events, {"type": "response.completed", "response": response}]


def _item_events(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "message":
        empty: dict[str, Any] = {**item, "status": "in_progress", "content": []}
        text = item["content"][0]["text"]
        event = {"type": "response.output_text.delta", "content_index": 0, "delta": text}
    else:
        empty = {**item, "status": "in_progress", "arguments": ""}
        event = {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": empty},
        event | place,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]
