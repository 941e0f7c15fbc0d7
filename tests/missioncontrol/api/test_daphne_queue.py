"""Agents' requests queue before they are read; a person's is read at once."""

import asyncio

import pytest
from twisted.internet.abstract import FileDescriptor
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactor, StringTransport
from twisted.web.http import Request

from missioncontrol.api import agent_requests
from missioncontrol.api.agent_requests import PROGRESS_BYTES, QueuedChannel, ReadQueue


@pytest.fixture
def queue(monkeypatch):
    """A queue that reads one request a turn."""
    monkeypatch.setattr(agent_requests, "READ_SLICE_S", 0.0)
    monkeypatch.setattr(agent_requests, "queue", ReadQueue())


class Received(list[str]):
    """The bodies of the requests that were read, in order."""

    def from_connection(self):
        recorder = self

        class Noted(Request):
            def process(self):
                recorder.append(self.content.read().decode())
                self.finish()

        channel = QueuedChannel()
        channel.requestFactory, channel.timeOut = Noted, None
        channel.makeConnection(StringTransport())
        return channel


def request(body, *, key="", length=None):
    head = (
        f"POST / HTTP/1.1\r\nhost: x\r\nAUTHORIZATION: Bearer {key}\r\n"
        f"Content-Length: {len(body) if length is None else length}\r\n\r\n"
    )
    return (head + body).encode()


async def loop_iterations(number):
    for _ in range(number):
        await asyncio.sleep(0)


async def test_a_persons_request_is_read_before_waiting_agents(queue):
    recorder = Received()
    for number in range(3):
        recorder.from_connection().dataReceived(request(f"agent {number}", key="mc_1"))

    recorder.from_connection().dataReceived(request("person", key="mcu_ana"))
    await loop_iterations(5)

    assert recorder == ["person", "agent 0", "agent 1", "agent 2"]


async def test_a_few_agents_are_read_in_each_iteration_of_the_event_loop(queue):
    recorder = Received()
    for number in range(3):
        recorder.from_connection().dataReceived(request(f"agent {number}", key="mc_1"))

    await loop_iterations(1)
    recorder.from_connection().dataReceived(request("person"))
    await loop_iterations(5)

    assert recorder == ["agent 0", "person", "agent 1", "agent 2"]


async def test_a_body_that_arrives_while_queued_waits_and_pauses_reading(queue):
    recorder = Received()
    channel = recorder.from_connection()

    channel.dataReceived(request("first, ", key="mc_1", length=13))
    channel.dataReceived(b"second")
    assert channel.transport.producerState == "paused"
    await loop_iterations(2)

    assert recorder == ["first, second"]
    assert channel.transport.producerState == "producing"


async def test_the_next_request_of_a_connection_queues_again(queue):
    recorder = Received()
    channel = recorder.from_connection()

    for number in range(2):
        channel.dataReceived(request(f"{number}", key="mc_1"))
        assert len(recorder) == number
        await loop_iterations(2)

    assert recorder == ["0", "1"]


async def test_a_disconnected_peer_is_not_read(queue):
    recorder = Received()
    channel = recorder.from_connection()
    channel.dataReceived(request("gone", key="mc_1"))

    channel.connectionLost(None)
    await loop_iterations(2)

    assert recorder == []


async def test_a_peer_that_reads_no_response_gets_no_further_one(queue):
    received = Received()
    channel = received.from_connection()
    channel.pauseProducing()  # as its transport does when too much waits to be sent
    channel.dataReceived(request("1st") + request("2nd"))

    assert received == ["1st"]

    channel.resumeProducing()

    assert received == ["1st", "2nd"]


async def test_a_peer_that_leaves_before_its_response_is_released(queue):
    received = Received()
    channel = received.from_connection()
    channel.pauseProducing()
    channel.dataReceived(request("1st") + request("2nd"))

    channel.connectionLost(None)
    channel.resumeProducing()

    assert received == ["1st"]


async def test_an_unreadable_head_closes_only_its_own_connection(queue):
    recorder = Received()
    broken = recorder.from_connection()
    broken.dataReceived(request("never", key="mc_1", length="9" * 5_000))
    recorder.from_connection().dataReceived(request("another", key="mc_1"))

    await loop_iterations(5)

    assert recorder == ["another"]
    assert broken.transport.disconnected


MINUTE = 60
BODY = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n"


@pytest.fixture
def timed():
    """A connection whose requests have a minute, and the clock that it looks at."""
    channel, clock = Received().from_connection(), Clock()
    channel.callLater = clock.callLater
    channel.setTimeout(MINUTE)
    return channel, clock


@pytest.mark.parametrize("begun", ["GET / HTTP/1.1\r\nX-", BODY], ids=["a head", "a body"])
def test_a_request_sent_byte_by_byte_times_out(timed, begun):
    channel, clock = timed
    channel.dataReceived(begun.encode())

    for _ in range(3):
        clock.advance(MINUTE / 3)
        channel.dataReceived(b"a")

    assert channel.transport.disconnecting


def test_a_large_body_may_take_several_minutes(timed):
    channel, clock = timed
    channel.dataReceived(BODY.encode())

    for _ in range(6):
        clock.advance(MINUTE / 2)
        channel.dataReceived(b"a" * PROGRESS_BYTES)

    assert not channel.transport.disconnecting


def test_an_idle_connection_has_a_minute_for_its_next_request(timed):
    channel, clock = timed
    clock.advance(MINUTE - 1)
    channel.dataReceived(b"GET / HTTP/1.1\r\n")

    clock.advance(MINUTE - 1)

    assert not channel.transport.disconnecting


class SlowConnection(FileDescriptor):
    """A connection whose peer takes so many bytes each time that it can be written to."""

    connected, takes = True, 0

    def writeSomeData(self, data):  # noqa: N802 - Twisted's name
        return min(len(data), self.takes)

    def getHost(self):  # noqa: N802 - Twisted's name
        return "here"

    def getPeer(self):  # noqa: N802 - Twisted's name
        return "there"


class LargeResponse(Request):
    def process(self):
        self.write(b"x" * 10 * PROGRESS_BYTES)
        self.finish()


@pytest.mark.parametrize(("takes", "is_given_up"), [(0, True), (PROGRESS_BYTES, False)])
def test_a_large_response_continues_while_its_peer_reads(takes, is_given_up):
    channel, clock, connection = QueuedChannel(), Clock(), SlowConnection(MemoryReactor())
    channel.requestFactory, channel.timeOut, channel.callLater = (
        LargeResponse,
        MINUTE,
        clock.callLater,
    )
    channel.abortTimeout = None
    channel.makeConnection(connection)
    channel.dataReceived(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

    connection.takes = takes
    for _ in range(3):
        connection.doWrite()
        clock.advance(MINUTE)

    assert bool(connection.disconnecting) is is_given_up
