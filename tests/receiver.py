"""A server of somebody else's on loopback: it keeps what it is told, answers `status`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(ThreadingHTTPServer):
    """What it heard are paths, headers and bodies, in order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 204
        self.headers: dict[str, str] = {}
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.url = f"http://{self.host}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("Location", f"{self.server.url}/elsewhere")
        for name, said in self.server.headers.items():
            self.send_header(name, said)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def a_receiver() -> Iterator[Receiver]:
    """Let one listen for as long as the block lasts."""
    with Receiver() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.005,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()
