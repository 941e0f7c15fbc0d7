"""A small OpenAI-compatible endpoint on loopback that plays the personas."""

from __future__ import annotations

import json
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from missioncontrol.demo.personas import Reply, read_conversation, reply_to

# About what English has: figures to look at, no bill.
CHARS_PER_TOKEN = 4
CACHED_BLOCK = 128
# OpenAI caches prompts from 1,024 tokens on, in steps of 128.
CACHED_FROM = 1024


class ScriptedEndpoint:
    """Serves `/v1/chat/completions`; `pace` 0 answers at once, for tests."""

    def __init__(self, *, pace: float = 1.0) -> None:
        handler = type("PacedHandler", (_Handler,), {"pace": pace})
        # Port 0: whichever is free.
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        # Looks ten times a second whether it is to end.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    # So that connections are kept, as a real endpoint keeps them.
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: else 40 ms each
    pace: float

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Stay silent: the runs are on the board."""

    def do_POST(self) -> None:
        """Answer a chat completion request."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            self._respond(404, {"error": {"message": "not here", "type": "invalid_request_error"}})
            return
        try:
            body = json.loads(raw)
            reply = reply_to(read_conversation(body["messages"]))
        except (ValueError, KeyError, TypeError) as error:
            self._respond(400, {"error": {"message": repr(error), "type": "invalid_request_error"}})
            return
        # It "thinks", so that a person can follow what the agents do.
        time.sleep(reply.after_s * self.pace)
        self._respond(200, completion(body, reply))

    def _respond(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def completion(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """Write a chat completion in OpenAI's form, usage and all."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool:
        function = {"name": reply.tool, "arguments": json.dumps(reply.args)}
        call = {"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}
        message["tool_calls"] = [call]
    reason = "tool_calls" if reply.tool else "stop"
    # Count tokens by length; what was sent before is cached.
    prompt, answered = _tokens([body["messages"], body.get("tools")]), _tokens(message)
    # Without the last call and its result: those are new to the model.
    before = _tokens([body["messages"][:-2], body.get("tools")])
    cached = before // CACHED_BLOCK * CACHED_BLOCK if before >= CACHED_FROM else 0
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": answered,
            "total_tokens": prompt + answered,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def _tokens(written: Any) -> int:
    return len(json.dumps(written)) // CHARS_PER_TOKEN
