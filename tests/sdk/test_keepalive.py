"""A silent connection is asked whether its other end is there, as the system tells it."""

from pathlib import Path

import pytest

from guard.sdk.exchange import Request
from guard.sdk.streams import AsyncHttpTransport
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
    return [row[5].partition(":")[0] for row in rows if row[2].endswith(there)]


def test_a_sessions_connection_is_asked(server):
    transport = HttpTransport(server.url, "k")
    transport.send(PING)

    assert timers_to(server) == [ASKED]
    transport.close()


async def test_an_asynchronous_sessions_connection_is_asked(server):
    transport = AsyncHttpTransport(server.url, "k")
    await transport.send(PING)

    assert timers_to(server) == [ASKED]
    await transport.close()
