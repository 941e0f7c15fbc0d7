"""An unambiguous request is read without Twisted; any other is left to it."""

import asyncio
from types import SimpleNamespace

import pytest
from twisted.internet.testing import StringTransport

from missioncontrol.api.agent_requests import MAX_BODY_BYTES, QueuedChannel, read_head

RUN = "01994f9e-7d5c-7b1c-a3f4-2f1d0c9b8a76"
LINES = (
    f"POST /api/v1/runs/{RUN}/turns/ HTTP/1.1",
    "Host: x",
    "Authorization: Bearer mc_1",
    "Content-Length: 4",
)


def a_head(*more, lines=LINES):
    return "".join(f"{line}\r\n" for line in (*lines, *more)).encode() + b"\r\n"


@pytest.mark.parametrize(
    "path", ["/v1/traces", "/v1/logs/", "/api/v1/hooks/claude-code/", f"/api/v1/runs/{RUN}/turns/"]
)
def test_agents_requests_are_parsed(path):
    head = read_head(a_head(lines=(f"POST {path} HTTP/1.1", *LINES[1:])))

    assert head.path == path.encode()


def test_a_head_is_read_with_the_position_of_its_body():
    head = read_head(a_head("Prefer:  wait=3 ") + b"body")

    assert head.path == f"/api/v1/runs/{RUN}/turns/".encode()
    assert head.headers[-1] == (b"prefer", b"wait=3")
    assert head.body_end - head.body_start == 4


@pytest.mark.parametrize(
    "data",
    [
        a_head("Transfer-Encoding: chunked"),
        a_head("Content-Length: 5"),
        a_head("Connection: close"),
        a_head("Expect: 100-continue"),
        a_head("Upgrade: websocket"),
        a_head("Prefer: wait=3", "Prefer: respond-async"),
        a_head("Content_Length: 9"),
        a_head(" folded: on"),
        a_head("Name : with a blank"),
        a_head("Empty:"),
        a_head("Sign: \x01"),
        a_head("Sign: a\nb"),
        a_head("Long: " + "x" * 16_384),
        a_head(lines=LINES[:3]),
        a_head("Content-Length: +4", lines=LINES[:3]),
        a_head(f"Content-Length: {MAX_BODY_BYTES + 1}", lines=LINES[:3]),
        a_head(f"Content-Length: {'9' * 5_000}", lines=LINES[:3]),
        a_head(lines=("GET /api/v1/me/ HTTP/1.1", *LINES[1:])),
        a_head(lines=(LINES[0].replace("1.1", "1.0"), *LINES[1:])),
        a_head(lines=(LINES[0].replace("turns", "t%75rns"), *LINES[1:])),
        a_head(lines=(LINES[0].replace("/ ", "/?a=b "), *LINES[1:])),
        a_head()[:-2],
        b"\r\n" + a_head(),
    ],
)
def test_an_ambiguous_head_is_left_to_twisted(data):
    assert read_head(data) is None


def test_a_body_past_the_limit_is_left_to_twisted(settings):
    settings.BODY_LIMIT = 3

    assert read_head(a_head()) is None


class Server:
    """What a channel knows of Daphne: the application, and who is connected."""

    root_path = ""

    def __init__(self):
        self.connections, self.received = {}, []

    async def application(self, scope, receive, send):
        self.received.append((await receive())["body"])
        if scope["path"].endswith("/turns/"):
            headers = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"{}"})
        else:
            self.received.append((await receive())["type"])


async def loop_iterations():
    """Let the event loop come round a few times."""
    for _ in range(8):
        await asyncio.sleep(0)


@pytest.fixture
def channel():
    made = QueuedChannel()
    made.factory, made.timeOut = SimpleNamespace(server=Server()), None
    made.makeConnection(StringTransport())
    return made


async def test_each_request_is_answered_and_the_next_one_read(channel):
    for body in (b"1st.", b"2nd."):
        channel.dataReceived(a_head() + body)
        await loop_iterations()

    assert channel.factory.server.received == [b"1st.", b"2nd."]
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    assert channel.transport.value() == 2 * answer
    assert channel.factory.server.connections == {}


async def test_a_body_may_come_after_its_head_in_pieces(channel):
    for piece in (a_head(), b"bo", b"dy"):
        channel.dataReceived(piece)
        await loop_iterations()

    assert channel.factory.server.received == [b"body"]


async def test_an_empty_line_after_each_body_is_passed_over(channel):
    for piece in (a_head() + b"1st.", b"\r\n", a_head() + b"2nd.", b"\r\n", a_head() + b"3rd."):
        channel.dataReceived(piece)
        await loop_iterations()

    assert channel.factory.server.received == [b"1st.", b"2nd.", b"3rd."]


async def test_text_in_a_head_that_looks_like_a_request_starts_none(channel):
    channel.dataReceived(b"GET / HTTP/1.1\r\nHost: x\r\nNote: ")
    channel.dataReceived(a_head() + b"body")
    await loop_iterations()

    assert channel.factory.server.received == []


async def test_a_disconnect_while_waiting_is_noticed(channel):
    hook = ("POST /api/v1/hooks/claude-code/ HTTP/1.1", *LINES[1:])
    channel.dataReceived(a_head(lines=hook) + b"body")
    await loop_iterations()

    channel.connectionLost(None)
    await loop_iterations()

    assert channel.factory.server.received == [b"body", "http.disconnect"]
    assert channel.factory.server.connections == {}
