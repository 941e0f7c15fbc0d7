"""A scripted OpenAI on loopback: Chat Completions and Responses, streamed where it is asked.

The script decides from the conversation it receives, never from a counter: what
the model does next follows from what the agent showed it.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.agents.messages_api import Reply
from tests.agents.scripted_api import Asked, ScriptedApi

MODEL = "gpt-4o-mini"
PROMPT, CACHED, SAID = 2000, 1000, 50
"""Tokens of every call, as the endpoint reports them: cached ones are part of the prompt."""

CALL_USD = Decimal("0.000255")
"""By hand: 1,000 x $0.15 + 1,000 x $0.075 + 50 x $0.60, each per million."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the agent, as a script wants to see it."""

    items: list[dict[str, Any]]
    tools: frozenset[str]

    @property
    def last(self) -> str:
        """What came after the model spoke last."""
        spoke = max((i for i, item in enumerate(self.items) if _is_models(item)), default=-1)
        return json.dumps(self.items[spoke + 1 :], ensure_ascii=False)

    @property
    def text(self) -> str:
        return json.dumps(self.items, ensure_ascii=False)

    @property
    def calls(self) -> int:
        """How many tools the model called so far."""
        chat = [call for item in self.items for call in item.get("tool_calls") or ()]
        return len(chat) + sum(1 for item in self.items if item.get("type") == "function_call")


def _is_models(item: dict[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") == "function_call"


class ScriptedChatApi(ScriptedApi):
    """Serves a script; keeps every request, and counts what it charges."""

    base = "/v1"

    def __init__(self, script: Callable[[Request], Reply]) -> None:
        super().__init__()
        self.script = script
        self.requests: list[Request] = []

    @property
    def charged_usd(self) -> Decimal:
        return len(self.requests) * CALL_USD

    def serve(self, asked: Asked) -> None:
        body = asked.body()
        tools = body.get("tools") or []
        if asked.path.endswith("/chat/completions"):
            answer = _completion(self.reply(body["messages"], tools), body["model"])
            if body.get("stream"):
                asked.stream(_chunks(answer))
            else:
                asked.answer(200, answer)
        elif asked.path.endswith("/responses"):
            answer = _response(self.reply(body["input"], tools), body["model"])
            if body.get("stream"):
                asked.stream(_response_events(answer))
            else:
                asked.answer(200, answer)
        else:
            asked.answer(404, {"error": {"message": asked.path, "type": "invalid_request_error"}})

    def reply(self, items: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        named = frozenset((tool.get("function") or tool).get("name", "") for tool in tools)
        request = Request(items, named)
        self.requests.append(request)
        return self.script(request)


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:24]}"


def _completion(reply: Reply, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": _id("call"),
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(args)},
            }
            for name, args in reply.calls
        ]
    reason = "tool_calls" if reply.calls else "stop"
    return {
        "id": _id("chatcmpl"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": PROMPT,
            "completion_tokens": SAID,
            "total_tokens": PROMPT + SAID,
            "prompt_tokens_details": {"cached_tokens": CACHED},
        },
    }


def _chunks(completion: dict[str, Any]) -> Iterator[str]:
    """Stream a completion: what is said, why it ended, what was used."""
    (choice,) = completion["choices"]
    delta = dict(choice["message"])
    if "tool_calls" in delta:
        delta["tool_calls"] = [
            {"index": place, **call} for place, call in enumerate(delta["tool_calls"])
        ]
    chunk = {**completion, "object": "chat.completion.chunk", "usage": None}
    for part in (
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {"choices": [], "usage": completion["usage"]},
    ):
        yield f"data: {json.dumps(chunk | part)}\n\n"
    yield "data: [DONE]\n\n"


def _response_events(response: dict[str, Any]) -> Iterator[str]:
    """Stream a response: that it began, each item, the whole."""
    begun = response | {"status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for place, item in enumerate(response["output"]):
        events += [
            {"type": f"response.output_item.{kind}", "output_index": place, "item": item}
            for kind in ("added", "done")
        ]
    events.append({"type": "response.completed", "response": response})
    for number, event in enumerate(events):
        written = json.dumps(event | {"sequence_number": number})
        yield f"event: {event['type']}\ndata: {written}\n\n"


def _response(reply: Reply, model: str) -> dict[str, Any]:
    content = {"type": "output_text", "text": reply.text, "annotations": []}
    message = {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }
    calls = [
        {
            "id": _id("fc"),
            "type": "function_call",
            "call_id": _id("call"),
            "name": name,
            "arguments": json.dumps(args),
            "status": "completed",
        }
        for name, args in reply.calls
    ]
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": model,
        "output": [*([message] if reply.text else []), *calls],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": PROMPT,
            "input_tokens_details": {"cached_tokens": CACHED},
            "output_tokens": SAID,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": PROMPT + SAID,
        },
    }
