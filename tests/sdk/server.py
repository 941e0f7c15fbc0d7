"""A server on loopback that answers what a test tells it to, over real HTTP.

For what a real Mission Control cannot be made to do at will: to refuse, to vanish,
to cut connections. The real round trip is in test_live_session.py.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

AnswerFunction = Callable[["ReceivedRequest"], tuple[int, Any]]
PROCEED = {"version": 1, "action": "proceed", "call": "run", "reason": None, "messages": []}


class ReceivedRequest:
    """One request as the server read it."""

    def __init__(self, method: str, path: str, headers: Any, body: Any) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body

    @property
    def turn(self) -> dict[str, Any]:
        (turn,) = self.turns
        return turn

    @property
    def turns(self) -> list[dict[str, Any]]:
        return self.body["turns"]  # type: ignore[no-any-return]


def directive(action: str = "proceed", *texts: str, version: int = 1, **fields: Any) -> Any:
    messages = [{"id": f"m-{text}", "text": text, "agent": None} for text in texts]
    return PROCEED | {"action": action, "version": version, "messages": messages} | fields


class LoopbackServer:
    """Serves on one port; may stop and come back there, as a restart does."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.answer_turn: AnswerFunction = lambda _: (200, directive())
        self.answer_poll: AnswerFunction = lambda _: (204, None)
        self.retry_after: str | None = None
        """Said with every refusal."""
        self.rules: dict[str, Any] | None = None
        self.used: dict[str, Any] = {}
        """What the run had used when it was opened, as in its row."""
        self.port = 0
        self._polled = threading.Semaphore(0)
        self._server: _QuietServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        owner = self

        class Handler(_Handler):
            server_side = owner

        self._server = _QuietServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server.drop_connections()
            self._server = None

    def requests_to(self, method: str, path_end: str) -> list[ReceivedRequest]:
        return [
            a
            for a in self.requests
            if a.method == method and a.path.split("?")[0].endswith(path_end)
        ]

    def answer_rules(self) -> tuple[int, Any]:
        return (200, self.rules) if self.rules else (404, {"code": "not_found"})

    def await_polls(self, count: int = 1) -> None:
        """Block until so many long polls have come in."""
        for _ in range(count):
            assert self._polled.acquire(timeout=60)

    def answer(self, request: ReceivedRequest) -> tuple[int, Any]:
        self.requests.append(request)
        if request.path == "/api/v1/runs/":
            return 201, {"id": "run-1", "key": request.body["key"]} | self.used
        if request.path.endswith("/turns/"):
            status, outcome = self.answer_turn(request)
            body = {"accepted": 1, "duplicates": 0, "refused": [], "last_seq": 1, "judged": True}
            return status, body | {"directive": outcome} if status == 200 else outcome
        if "/directive/" in request.path:
            self._polled.release()
            return self.answer_poll(request)
        if request.path.endswith("/rules/"):
            return self.answer_rules()
        if request.path.endswith("/delivered/"):
            return 200, {}
        return 200, {"id": "run-1"}


class _QuietServer(ThreadingHTTPServer):
    request_queue_size = 128  # callers at once: one that finds no place tries again after a second

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._open_connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open_connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open_connections.discard(request)
        super().shutdown_request(request)

    def drop_connections(self) -> None:
        """End the connections that are kept, as a process that died does."""
        for connection in tuple(self._open_connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: object) -> None:
        """A client that hung up is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: else 40 ms each
    server_side: LoopbackServer

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = ReceivedRequest(
            self.command, self.path, self.headers, json.loads(raw) if raw else None
        )
        status, body = self.server_side.answer(request)
        payload = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        if self.server_side.retry_after is not None and status >= 429:
            self.send_header("Retry-After", self.server_side.retry_after)
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_PATCH = _serve  # noqa: N815 - the base's names
