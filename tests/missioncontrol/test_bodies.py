"""What a server does with bodies that nobody may send: raw sockets before a whole installation."""

import json
import socket
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

from tests.contract.conversation import Caller as ContractCaller

MEGABYTE = 1024 * 1024
BODY_LIMIT = 8 * MEGABYTE
GIGANTIC = 1_500_000_000
RUN = "/api/v1/runs/0198a3d2-0000-7000-8000-000000000000/turns/"
UPLOAD = "/api/v1/recordings/?name=x"
ADDRESSES = [RUN, "/api/v1/hooks/claude-code/", "/v1/logs", "/api/v1/runs/", "/pair/", "/"]


class Caller:
    """Writes a request by hand, and reads what is answered before it was sent whole."""

    def __init__(self, installation):
        at = urlsplit(installation.url)
        self.host = at.netloc
        self.wire = socket.create_connection((at.hostname, at.port), timeout=60)

    def begin(self, path, *headers):
        head = [f"POST {path} HTTP/1.1", f"Host: {self.host}", "Content-Type: application/json"]
        self.wire.sendall("\r\n".join([*head, *headers, "", ""]).encode())

    def send(self, size):
        """Send so many bytes of a body in chunks, as long as somebody takes them."""
        piece = b"x" * 65_536
        for _ in range(size // len(piece)):
            self.wire.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    def answered(self):
        """Read one answer: its status, its head and its body."""
        with self.wire.makefile("rb") as lines:
            status = int(lines.readline().split()[1])
            head = dict(
                line.decode().strip().split(": ", 1) for line in iter(lines.readline, b"\r\n")
            )
            head = {name.lower(): value for name, value in head.items()}
            return status, head, lines.read(int(head.get("content-length", 0)))


@pytest.fixture
def call(installation):
    @contextmanager
    def dial():
        caller = Caller(installation)
        with caller.wire:
            yield caller

    return dial


@pytest.mark.parametrize("path", ADDRESSES)
def test_a_stranger_is_refused_before_the_body_is_sent(call, path):
    with call() as stranger:
        stranger.begin(path, f"Content-Length: {GIGANTIC}")

        status, head, body = stranger.answered()

    assert status == 413
    assert head["connection"] == "close"
    assert json.loads(body)["code"] == "body_too_large"


@pytest.mark.parametrize("path", ADDRESSES)
def test_a_stranger_without_content_length_is_cut_off_within_a_megabyte(call, path):
    with call() as stranger:
        stranger.begin(path, "Transfer-Encoding: chunked")
        stranger.send(MEGABYTE)

        assert stranger.answered()[0] == 413


def test_an_unknown_key_gets_no_larger_limit(call):
    with call() as stranger:
        stranger.begin(RUN, "Authorization: Bearer mc_guessed", f"Content-Length: {MEGABYTE}")

        assert stranger.answered()[0] == 401


def test_an_agent_learns_at_once_that_its_body_is_too_large(call, installation):
    key = f"Authorization: Bearer {installation.agent_key}"
    with call() as agent:
        agent.begin(RUN, key, f"Content-Length: {BODY_LIMIT + 1}", "Expect: 100-continue")

        assert agent.answered()[0] == 413


def test_an_agent_without_content_length_is_cut_off_at_the_limit(call, installation):
    key = f"Authorization: Bearer {installation.agent_key}"
    with call() as agent:
        agent.begin(RUN, key, "Transfer-Encoding: chunked")
        agent.send(BODY_LIMIT + MEGABYTE)

        assert agent.answered()[0] == 413


def test_an_agent_may_send_megabytes(call, installation):
    key = f"Authorization: Bearer {installation.agent_key}"
    with call() as agent:
        agent.begin(RUN, key, "Transfer-Encoding: chunked")
        agent.send(6 * MEGABYTE)
        agent.wire.sendall(b"0\r\n\r\n")

        status, _, body = agent.answered()

    assert status == 400  # read to its end: it is no JSON
    assert json.loads(body)["code"] == "invalid_request"


@pytest.mark.parametrize("known", [True, False], ids=["signed in", "made up"])
def test_a_file_of_megabytes_is_accepted_only_from_signed_in_people(call, installation, known):
    cookies = installation.cookies() if known else {"mc_session": "guessed"}
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    token = f"X-CSRFToken: {cookies.get('mc_csrf', '')}"
    with call() as person:
        person.begin(UPLOAD, f"Cookie: {cookie}", token, "Transfer-Encoding: chunked")
        person.send(2 * MEGABYTE)
        if known:
            person.wire.sendall(b"0\r\n\r\n")

        status, _, body = person.answered()

    assert status == (400 if known else 401)  # 400: it was read, and is no recording
    assert ("expected a transcript" in body.decode()) is known


def test_a_client_that_keeps_sending_still_reads_the_refusal(call):
    """Clients that write first and read afterwards must not find their connection reset."""
    with call() as stranger:
        stranger.begin("/v1/logs", f"Content-Length: {4 * MEGABYTE}")
        stranger.wire.sendall(b"x" * 4 * MEGABYTE)

        assert stranger.answered()[0] == 413


def test_strangers_who_never_finish_a_body_take_no_slot_from_agents(call, installation):
    """Else as many of them as runs may be opened at once would let nobody open one."""
    with ExitStack() as crowd:
        for _ in range(100):
            slow = crowd.enter_context(call())
            slow.begin("/api/v1/runs/", "Content-Length: 100")
            slow.wire.sendall(b'{"name": ')
        hasty = crowd.enter_context(call())
        hasty.begin("/api/v1/runs/", "Content-Length: 2")
        hasty.wire.sendall(b"{}")
        assert hasty.answered()[0] == 401  # all that were before it have been read

        agent = ContractCaller(
            installation.url, {"Authorization": f"Bearer {installation.agent_key}"}
        )
        assert agent.ask("POST", "/api/v1/runs/", {"name": "ours"}).status == 201
