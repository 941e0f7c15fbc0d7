"""One call of an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from guard.chat import ChatEndpoint, usage_of
from guard.errors import ModelFailed
from guard.turn import Usage

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call the model asks for; `args` is empty where it wrote no JSON object."""

    id: str
    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the model answered.

    Attributes:
        message: The assistant message, to be sent back with the next call.
        call_id: Id of this model call; its usage is counted once under it.
    """

    message: dict[str, Any]
    text: str
    calls: tuple[ToolCall, ...]
    call_id: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatModel:
    """A model behind an endpoint.

    Attributes:
        url: The API's base, as OpenAI's clients take it: "http://host:8000/v1".
        name: The model's name there.
        key: Sent as a bearer token, where there is one.
        provider: Who bills for it; with `name` it gives the price.
    """

    url: str
    name: str
    key: str = field(default="", repr=False)
    provider: str | None = None

    def complete(self, messages: Sequence[Any], tools: Sequence[Any]) -> Completion:
        """Ask for the next message.

        Raises:
            ModelFailed: No completion came back.
        """
        body = {"model": self.name, "messages": list(messages), "tools": list(tools)}
        answer = ChatEndpoint(self.url, self.key).post(body, timeout_s=TIMEOUT_S)
        try:
            return _completion(answer, self.name)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise ModelFailed(f"no completion: {error!r}") from error


def _completion(answer: Any, asked: str) -> Completion:
    message = answer["choices"][0]["message"]
    return Completion(
        message=message,
        text=message.get("content") or "",
        calls=tuple(_call(call) for call in message.get("tool_calls") or ()),
        call_id=str(answer["id"]),
        model=str(answer.get("model") or asked),
        usage=usage_of(answer.get("usage") or {}),
    )


def _call(call: Any) -> ToolCall:
    function = call["function"]
    try:
        args = json.loads(function.get("arguments") or "{}")
    except ValueError:
        args = {}
    return ToolCall(
        id=str(call["id"]),
        tool=str(function["name"]),
        args=args if isinstance(args, dict) else {},
    )
