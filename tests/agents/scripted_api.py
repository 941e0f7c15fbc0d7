"""What the scripted models on loopback share: a server, and how it reads and answers."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class ScriptedApi(ABC):
    """An API on loopback for as long as a `with` block lasts."""

    base = ""
    """What stands before its paths in the address that a client is given."""

    def __init__(self) -> None:
        handler = type("Handler", (Asked,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @abstractmethod
    def serve(self, asked: Asked) -> None:
        """Answer a request."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{self.base}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Asked(BaseHTTPRequestHandler):
    """One request of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: else 40 ms each
    api: ScriptedApi

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.api.serve(self)

    def do_GET(self) -> None:
        self.api.serve(self)

    def do_POST(self) -> None:
        self.api.serve(self)

    def body(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        return dict(json.loads(raw or b"{}"))

    def answer(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def stream(self, events: Iterable[str]) -> None:
        """Answer with server-sent events; the connection's end is theirs."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event.encode())
        self.wfile.flush()
        self.close_connection = True
