"""A socket whose peer does not read is closed."""

import pytest
from daphne.ws_protocol import WebSocketFactory
from twisted.internet.testing import StringTransport

from missioncontrol.api.agent_requests import QueuedChannel
from missioncontrol.api.daphne_requests import MAX_UNSENT_BYTES, OneWaySocket

MESSAGE = "x" * 1024
# So many of them may wait.
FULL = MAX_UNSENT_BYTES // len(MESSAGE)


@pytest.fixture
def socket():
    """An open socket, as a request's channel hands its connection on."""
    transport = StringTransport()
    QueuedChannel().makeConnection(transport)
    opened = OneWaySocket()
    opened.factory = WebSocketFactory(None, server="test")
    opened.client_addr = None
    opened.makeConnection(transport)
    opened.state, opened.is_full = OneWaySocket.STATE_OPEN, False
    return opened


def send(socket, messages):
    """Send kilobytes; with each a peer's connection that is full says so."""
    for _ in range(messages):
        socket.serverSend(MESSAGE)
        if socket.is_full:
            socket.transport.producer.pauseProducing()


def test_a_peer_that_reads_nothing_is_disconnected(socket):
    socket.is_full = True

    send(socket, FULL + 3)

    assert socket.transport.disconnected


def test_a_peer_that_catches_up_keeps_receiving(socket):
    for _ in range(3):
        socket.is_full = True
        send(socket, FULL - 2)
        socket.is_full = False
        socket.transport.producer.resumeProducing()

    assert not socket.transport.disconnected


def test_events_during_a_large_snapshot_are_sent_after_it(socket):
    socket.serverSend("x" * 2 * MAX_UNSENT_BYTES)
    socket.is_full = True
    socket.transport.producer.pauseProducing()

    send(socket, 2 * FULL)

    assert not socket.transport.disconnected


def test_a_peer_that_keeps_reading_may_receive_any_amount(socket):
    send(socket, 3 * FULL)

    assert not socket.transport.disconnected


def test_messages_during_closing_are_dropped(socket):
    socket.state = OneWaySocket.STATE_CLOSING

    send(socket, 1)

    assert socket.transport.value() == b""
