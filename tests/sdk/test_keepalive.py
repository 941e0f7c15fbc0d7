"""A silent connection is asked whether its other end is there, as the system tells it."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from guard.sdk.aio import AsyncHttpTransport
from guard.sdk.flow import Request
from guard.sdk.transport import HttpTransport

CONNECTIONS = Path("/proc/net/tcp")
ASKED = "02"
"""The keepalive timer, in the column of timers (proc_net_tcp.txt of the Linux kernel)."""
PING = Request(method="GET", path="runs/run-1/rules/")

pytestmark = pytest.mark.skipif(
    not CONNECTIONS.exists(), reason="only Linux tells of its connections"
)


def timers_to(server):
    """The timer of each connection to a server, from our side of it."""
    rows = [line.split() for line in CONNECTIONS.read_text().splitlines()[1:]]
    there = f":{server.port:04X}"
    # Established ones: those of an earlier server on this port may be waiting for their end.
    found = [row for row in rows if row[2].endswith(there) and row[3] == "01"]
    return [row[5].partition(":")[0] for row in found]


def test_a_sessions_connection_has_tcp_keepalive(server):
    transport = HttpTransport(server.url, "k")
    transport.send(PING)

    assert timers_to(server) == [ASKED]
    transport.close()


async def test_an_asynchronous_sessions_connection_has_tcp_keepalive(server):
    transport = AsyncHttpTransport(server.url, "k")
    await transport.send(PING)

    assert timers_to(server) == [ASKED]
    await transport.close()


def test_a_forked_child_has_connections_of_its_own(server):
    transport = HttpTransport(server.url, "k")
    transport.send(PING)
    both = threading.Barrier(2, timeout=5)
    server.answer = lambda asked: (both.wait() >= 0 and 200, {"path": asked.path})

    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = transport.send(replace(PING, path="child/")).body != {"path": "/api/v1/child/"}
        finally:
            os._exit(code)
    answer = transport.send(replace(PING, path="parent/"))

    assert answer.body == {"path": "/api/v1/parent/"}
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    transport.close()
