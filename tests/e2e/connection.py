"""A page's connection to the server, which can be cut and restored."""

import json
import re
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from playwright.sync_api import expect


def link_of(page):
    """Return where a page says whether it is live."""
    return page.get_by_role("status").filter(
        has_text=re.compile(r"^\s*(Live|Connecting|Offline)\s*$")
    )


class Connection:
    """The websockets of one page, which can be cut and restored."""

    def __init__(self, page):
        self._page, self._open, self._is_cut = page, [], False
        page.route_web_socket("**/ws/**", self._connect)

    def cut(self):
        self.sever()
        expect(link_of(self._page)).to_have_text("Offline")

    def sever(self):
        """Cut it, and wait for nothing: the page may speak any language."""
        self._is_cut = True
        for ours in self._open:
            ours.close(code=1012)
        self._open.clear()

    def mend(self):
        self._is_cut = False

    def _connect(self, ours):
        if self._is_cut:
            ours.close(code=1012)
            return
        ours.connect_to_server()
        self._open.append(ours)


class Relay:
    """An address of the server's that can be cut off, for pages and their worker alike.

    What Chromium emulates as being offline does not hold for a page that is being left: what
    such a page sends arrives, and Playwright does not tell of it.
    """

    def __init__(self, url):
        server = urlsplit(url)
        self._server = (server.hostname, server.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._ends, self._requests = [], []
        self._is_cut, self._changing = False, threading.Lock()
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def cut(self):
        with self._changing:
            self._is_cut = True
            for end in self._ends:
                _shut(end)

    def mend(self):
        self._is_cut = False

    def posted(self, ending):
        """Return every body that was posted to addresses with this ending."""
        begins = re.compile(rb"POST \S+%s HTTP/1.1\r\n(.+?)\r\n\r\n" % ending.encode(), re.DOTALL)
        bodies = []
        for data in self._requests:
            for request in begins.finditer(data):
                length = int(re.search(rb"(?i)content-length: (\d+)", request[1])[1])
                bodies.append(json.loads(data[request.end() :][:length]))
        return bodies

    def close(self):
        self.cut()
        _shut(self._listener)
        self._accepting.join()
        for end in (self._listener, *self._ends):
            end.close()

    def _accept(self):
        threads = []
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                with self._changing:
                    self._ends.append(near)
                    if self._is_cut:
                        _shut(near)
                        continue
                    far = socket.create_connection(self._server)
                    self._ends.append(far)
                    self._requests.append(bytearray())
                for way in ((near, far, self._requests[-1]), (far, near, bytearray())):
                    threads.append(threading.Thread(target=_carry, args=way))
                    threads[-1].start()
        for thread in threads:
            thread.join()


def _carry(source, target, record):
    with suppress(OSError):  # cut
        while data := source.recv(65536):
            record += data
            target.sendall(data)
    _shut(source), _shut(target)


def _shut(end):
    with suppress(OSError):  # it may be so already
        end.shutdown(socket.SHUT_RDWR)
