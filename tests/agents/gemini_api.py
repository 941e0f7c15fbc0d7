"""A scripted Gemini API on loopback, streaming as the real one does.

Every answer comes in chunks that each carry the usage so far; only the last says
`finishReason`. What an answer used grows from call to call, so that a sum tells
whether each was counted, and once.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guard.turn import Usage
from tests.agents.messages_api import Reply
from tests.agents.scripted_api import Asked, ScriptedApi

Json = dict[str, Any]

ADDRESS = re.compile(r"/models/(?P<model>[^:/]+):(?P<verb>\w+)")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request of the agent, as a script wants to see it."""

    body: Json

    @property
    def text(self) -> str:
        """Everything but the system prompt and the tools, as text."""
        return json.dumps(self.body["contents"], ensure_ascii=False)

    @property
    def last(self) -> str:
        """What came after the model spoke last."""
        contents = self.body["contents"]
        spoke = max((i for i, c in enumerate(contents) if c.get("role") == "model"), default=-1)
        return json.dumps(contents[spoke + 1 :], ensure_ascii=False)

    def calls(self) -> list[tuple[str, Json]]:
        """The tool calls the model made so far, oldest first."""
        return [
            (part["functionCall"]["name"], part["functionCall"].get("args", {}))
            for content in self.body["contents"]
            for part in content.get("parts", ())
            if "functionCall" in part
        ]


Script = Callable[[Conversation], Reply]


class ScriptedGeminiApi(ScriptedApi):
    """Serves a script; keeps every request that carried tools, and what it used."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.conversations: list[Conversation] = []
        self.used: list[Json] = []
        self._lock = threading.Lock()

    def serve(self, asked: Asked) -> None:
        body, address = asked.body(), ADDRESS.search(asked.path)
        if address is None or asked.command != "POST":
            none = {"code": 404, "message": "none", "status": "NOT_FOUND"}
            asked.answer(404, {"error": none})
        elif address["verb"] == "countTokens":
            asked.answer(200, {"totalTokens": 1234})
        elif address["verb"] == "streamGenerateContent":
            chunks = _chunks(*self.reply(body), address["model"])
            asked.stream(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
        else:
            asked.answer(200, _chunks(*self.reply(body), address["model"])[-1])

    def reply(self, body: Json) -> tuple[Reply, Json]:
        """Answer a request, and say what that took."""
        with self._lock:
            usage = usage_of_call(len(self.used))
            self.used.append(usage)
            if not any(tool.get("functionDeclarations") for tool in body.get("tools") or ()):
                return Reply(text="ok"), usage
            conversation = Conversation(body)
            self.conversations.append(conversation)
        return self.script(conversation), usage

    def calls(self) -> list[Usage]:
        """What each call used, by the endpoint's own rules."""
        return [
            Usage(
                input=used["promptTokenCount"] - used["cachedContentTokenCount"],
                cache_read=used["cachedContentTokenCount"],
                output=used["candidatesTokenCount"] + used["thoughtsTokenCount"],
                reasoning=used["thoughtsTokenCount"],
            )
            for used in self.used
        ]

    def total(self) -> Usage:
        """Sum what the endpoint says it used."""
        return sum(self.calls(), Usage())


def usage_of_call(n: int) -> Json:
    """What the n-th call used: prompts grow, and the cache holds most of them."""
    prompt, cached, written, thought = 1500 + 310 * n, 1000 + 250 * n, 42 + n, 10 + 2 * n
    return {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": written,
        "thoughtsTokenCount": thought,
        "totalTokenCount": prompt + written + thought,
    }


def _chunks(reply: Reply, usage: Json, model: str) -> list[Json]:
    """Cut an answer as the API streams it: words in two, then the calls and the end."""
    half = len(reply.text) // 2
    words = [{"text": text} for text in (reply.text[:half], reply.text[half:]) if text]
    calls = [{"functionCall": {"name": name, "args": args}} for name, args in reply.calls]
    so_far = usage | {"candidatesTokenCount": 1, "totalTokenCount": usage["promptTokenCount"] + 1}
    common = {"modelVersion": model, "responseId": uuid.uuid4().hex}
    begun = [common | _candidate([word]) | {"usageMetadata": so_far} for word in words]
    ended = _candidate(calls or [{"text": ""}], finishReason="STOP")
    return [*begun, common | ended | {"usageMetadata": usage}]


def _candidate(parts: list[Json], **more: str) -> Json:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **more}]}
