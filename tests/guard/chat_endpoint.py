"""A chat-completions endpoint on loopback that answers as a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

USAGE = {"prompt_tokens": 900, "completion_tokens": 60, "total_tokens": 960}


@dataclass
class Reply:
    """One HTTP answer; `body` as JSON unless it is bytes. `hangs`: none comes;
    `drips`: it comes a byte at a time and never ends; `events`: it is streamed, and
    `between` is called after each event.
    """

    body: Any = None
    status: int = 200
    hangs: bool = False
    drips: bool = False
    events: Sequence[Any] | None = None
    between: Callable[[], object] = bool
    headers: dict[str, str] = field(default_factory=dict)


def a_completion(
    content: Any, *, finish: str = "stop", model: str = "gpt-4o-mini", **more: Any
) -> Reply:
    """Say something, as OpenAI's protocol does."""
    message = {"role": "assistant", "content": content, **more}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {**USAGE}
    return Reply({"id": "chatcmpl-1", "model": model, "choices": [choice], "usage": usage})


def a_verdict(**fields: Any) -> str:
    """Write a verdict as a good model does."""
    verdict = {
        "loop": True,
        "confidence": 0.9,
        "reasoning": "It reads a file that is not there.",
        "suggested_fix": "Read app/token.py.",
    }
    return json.dumps(verdict | fields)


def a_refusal(sentence: str, status: int = 400) -> Reply:
    return Reply({"error": {"message": sentence, "type": "invalid_request_error"}}, status)


Answer = Callable[[dict[str, Any]], Reply]


class ChatServer:
    """Serves `/v1/chat/completions`; keeps what it was asked and with which headers."""

    def __init__(self, *answers: Reply | Answer) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.closing = threading.Event()
        self._answers = answers
        handler = type("Handler", (_Handler,), {"chat": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.005,), daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def answer(self, body: dict[str, Any]) -> Reply:
        """Answer the n-th question with the n-th reply, then with the last."""
        self.asked.append(body)
        reply = self._answers[min(len(self.asked), len(self._answers)) - 1]
        return reply if isinstance(reply, Reply) else reply(body)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # callers at once: one that finds no place tries again after a second

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a caller that hung up: many tests do."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    chat: ChatServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        pass

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.chat.headers.append(dict(self.headers.items()))
        if self.path != "/v1/chat/completions":
            reply = Reply({"error": {"message": "no such path"}}, 404)
        else:
            reply = self.chat.answer(json.loads(raw))
        if reply.hangs:
            self.chat.closing.wait(60)
        if reply.drips:
            self._drip()
            return
        if reply.events is not None:
            self._stream(reply.events, reply.between)
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        try:
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # who asked has hung up

    def _stream(self, events: Sequence[Any], between: Callable[[], object]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            text = event if isinstance(event, str) else json.dumps(event)
            line = f"data: {text}\n\n".encode()
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()
            between()
        self.wfile.write(b"0\r\n\r\n")

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.close_connection = True
        while not self.chat.closing.wait(0.05):
            try:
                self.wfile.write(b" ")
            except OSError:
                return  # who asked has hung up
