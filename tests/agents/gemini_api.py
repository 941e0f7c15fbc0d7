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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from guard.turn import Usage
from tests.agents.messages_api import Reply

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


class ScriptedGeminiApi:
    """Serves a script; keeps every request that carried tools, and what it used."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.conversations: list[Conversation] = []
        self.used: list[Json] = []
        self._lock = threading.Lock()
        api = self

        class Handler(_Handler):
            owner = api

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

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
    prompt, cached, said, thought = 1500 + 310 * n, 1000 + 250 * n, 42 + n, 10 + 2 * n
    return {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": said,
        "thoughtsTokenCount": thought,
        "totalTokenCount": prompt + said + thought,
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: ScriptedGeminiApi

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._json(404, {"error": {"code": 404, "message": "none", "status": "NOT_FOUND"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        asked = ADDRESS.search(self.path)
        if asked is None:
            self.do_GET()
        elif asked["verb"] == "countTokens":
            self._json(200, {"totalTokens": 1234})
        elif asked["verb"] == "streamGenerateContent":
            self._stream(_chunks(*self.owner.reply(body), asked["model"]))
        else:
            self._json(200, _chunks(*self.owner.reply(body), asked["model"])[-1])

    def _stream(self, chunks: list[Json]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\r\n\r\n".encode())
        self.wfile.flush()
        self.close_connection = True

    def _json(self, status: int, body: Json) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


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
