"""What the tests of the server share."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@pytest.fixture
def server():
    """A web server on loopback that keeps what it is told and answers `status`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.heard.append((self.path, dict(self.headers), body))
            self.send_response(self.server.status)
            self.send_header("Location", f"{self.server.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.heard, running.status = [], 204
        running.host = f"127.0.0.1:{running.server_address[1]}"
        running.url = f"http://{running.host}"
        thread = threading.Thread(target=running.serve_forever, args=(0.005,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()
