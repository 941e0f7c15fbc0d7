"""A mail server that takes every letter, speaking SMTP as RFC 5321 has it."""

from __future__ import annotations

import email
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.policy import default
from typing import Any


class _Session(socketserver.StreamRequestHandler):
    server: Any

    def handle(self) -> None:
        self._say("220 mail.test ESMTP")
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "DATA":
                self._say("354 go on")
                self._take_letter()
            elif verb == "QUIT":
                self._say("221 bye")
                return
            elif verb == "RCPT" and self.server.refuses:
                self._say("550 no such mailbox")
            else:
                self._say("250 mail.test" if verb in {"EHLO", "HELO"} else "250 ok")

    def _take_letter(self) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line[1:] if line.startswith(b"..") else line)
        letter = email.message_from_bytes(b"".join(lines), policy=default)
        self.server.letters.append(letter)
        self._say("250 taken")

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


class Mailbox(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.letters: list[Any] = []
        self.refuses = False

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


@contextmanager
def a_mailbox() -> Iterator[Mailbox]:
    """Serve until the block ends."""
    with Mailbox() as mailbox:
        thread = threading.Thread(target=mailbox.serve_forever, args=(0.005,), daemon=True)
        thread.start()
        yield mailbox
        mailbox.shutdown()
        thread.join()
