"""A mail server on loopback, speaking SMTP as RFC 5321 has it; it refuses what it is told to."""

from __future__ import annotations

import email
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.policy import default
from typing import Any


class _Session(socketserver.StreamRequestHandler):
    server: Any

    def handle(self) -> None:
        self._recipients: list[str] = []
        with suppress(OSError):  # the caller hung up, or does not trust us
            if self.server.drips:
                self._drip()
            self._say("220 mail.test ESMTP")
            while (line := self.rfile.readline().decode().strip()) and self._take(line):
                pass

    def _take(self, line: str) -> bool:
        """Answer a command; False: hang up."""
        self.server.commands.append(line)
        answers = self.server.answers.items()
        answer = next((said for to, said in answers if line.upper().startswith(to)), None)
        verb = line.partition(" ")[0].upper()
        if answer is not None:
            self._say(answer)
            return bool(answer)
        if verb == "RCPT":
            self._recipients.append(line.partition("<")[2].partition(">")[0])
        offered = "250-STARTTLS\r\n" if self.server.tls else ""
        usual = {
            "EHLO": f"250-mail.test\r\n{offered}250 AUTH PLAIN",
            "STARTTLS": "220 go on",
            "AUTH": "235 signed in",
            "DATA": "354 go on",
            "QUIT": "221 bye",
        }
        self._say(usual.get(verb, "250 ok"))
        if verb == "STARTTLS":
            self._encrypt()
        elif verb == "DATA":
            self._take_letter()
            # Taken, but whoever sent it never hears of it.
            if self.server.hangs_up_after_a_letter:
                return False
            self._say("250 taken")
        return verb != "QUIT"

    def _take_letter(self) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line[1:] if line.startswith(b"..") else line)
        letter = email.message_from_bytes(b"".join(lines), policy=default)
        self.server.letters.append(letter)
        self.server.recipients.append(self._recipients)
        self._recipients = []

    def _drip(self) -> None:
        while not self.server.over.is_set():
            self.connection.sendall(b"2")
            self.server.over.wait(0.05)

    def _encrypt(self) -> None:
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile.close()
        self.rfile = self.connection.makefile("rb")

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def _say(self, line: str) -> None:
        if line:
            self.connection.sendall(f"{line}\r\n".encode())


class Mailbox(socketserver.ThreadingTCPServer):
    """`answers`: to commands that begin so, in capitals; it hangs up where one is empty."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.tls = tls
        self.commands: list[str] = []
        self.letters: list[Any] = []
        self.recipients: list[list[str]] = []
        self.answers: dict[str, str] = {}
        self.hangs_up_after_a_letter = False
        self.drips = False
        self.over = threading.Event()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


@contextmanager
def a_mailbox(tls: ssl.SSLContext | None = None) -> Iterator[Mailbox]:
    """Serve until the block ends."""
    with Mailbox(tls) as mailbox:
        thread = threading.Thread(target=mailbox.serve_forever, args=(0.005,), daemon=True)
        thread.start()
        yield mailbox
        mailbox.over.set()
        mailbox.shutdown()
        thread.join()
