"""Sockets by those who mean harm: what they send is thrown away or ends their own socket with a
code, the process serves on, and nobody hears what is not theirs.
"""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.attack.callers import callers_of
from tests.examples import examples_for
from tests.installations import PATIENCE_S

PROTOCOL_ERROR, NO_UTF8, TOO_BIG, NOT_SIGNED_IN, NOT_YOURS = 1002, 1007, 1009, 4401, 4403
KILOBYTE = 1024
MASK = b"\1\2\3\4"


@pytest.fixture(scope="module")
def callers(installation):
    return callers_of(installation)


@pytest.fixture(scope="module")
def dial(installation, callers):
    """Open somebody's socket of the attacked project."""

    def dialled(who="owner"):
        place = f"{installation.url.replace('http', 'ws', 1)}/ws/projects/"
        return connect(
            f"{place}{callers.ids['project_id']}/",
            additional_headers=callers.headers[who],
            open_timeout=PATIENCE_S,
            close_timeout=5,
            max_size=None,
        )

    return dialled


@pytest.fixture
def web(installation):
    """The process that serves; it is the same one afterwards."""
    before = installation.pid_of("daphne")
    yield before
    assert installation.pid_of("daphne") == before
    assert installation.get("/readyz")["ok"]


def a_frame(opcode, payload=b"", *, is_last=True, masked=True, reserved=0):
    """Write a frame as RFC 6455 draws it, right or wrong."""
    head = struct.pack("!B", (is_last << 7) | (reserved << 4) | opcode)
    mark = masked << 7
    if len(payload) < 126:
        head += struct.pack("!B", mark | len(payload))
    else:
        head += struct.pack("!BQ", mark | 127, len(payload))
    if not masked:
        return head + payload
    return head + MASK + bytes(byte ^ MASK[place % 4] for place, byte in enumerate(payload))


def close_code_of(socket):
    """Hear a socket to its end; returns the code it was closed with."""
    try:
        while True:
            socket.recv(timeout=PATIENCE_S)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None


def still_receives(socket):
    """Say whether it is still served."""
    return socket.ping().wait(PATIENCE_S)


MALFORMED = {
    "a kind that is reserved": (a_frame(3, b"x"), PROTOCOL_ERROR),
    "a control that is reserved": (a_frame(11), PROTOCOL_ERROR),
    "a bit that is reserved": (a_frame(1, b"x", reserved=4), PROTOCOL_ERROR),
    "a frame without a mask": (a_frame(1, b"x", masked=False), PROTOCOL_ERROR),
    "a control in pieces": (a_frame(9, is_last=False), PROTOCOL_ERROR),
    "a long ping": (a_frame(9, b"x" * 200), PROTOCOL_ERROR),
    "an end without a beginning": (a_frame(0, b"x"), PROTOCOL_ERROR),
    "two beginnings": (a_frame(1, b"x", is_last=False) + a_frame(1, b"x"), PROTOCOL_ERROR),
    "no UTF-8": (a_frame(1, b"\xff\xfe"), NO_UTF8),
    "half a close code": (a_frame(8, b"\3"), None),  # it has said goodbye: the connection ends
    "a length beyond all": (b"\x81\xff" + b"\x7f" + b"\xff" * 7 + MASK, TOO_BIG),
}


@pytest.mark.parametrize("frames", MALFORMED)
def test_a_malformed_frame_ends_its_socket_with_a_code(frames, dial, web):
    sent, code = MALFORMED[frames]
    with dial() as socket:
        socket.socket.sendall(sent)

        assert close_code_of(socket) == code


@pytest.mark.parametrize("who", ["owner", "nobody"])
def test_a_fragmented_message_is_not_collected(who, dial, web):
    """Each piece is small; a stranger's would lie in memory together before he is refused."""
    with dial(who) as socket:
        with suppress(ConnectionClosed, TimeoutError):
            socket.send("x" * KILOBYTE for _ in range(64 * KILOBYTE))

        # What comes in after the close makes the system reset it: the code may be lost.
        assert close_code_of(socket) in {TOO_BIG, NOT_SIGNED_IN, None}


@pytest.mark.parametrize("text", ["{}", '{"type":"snapshot"}', "[" * 3000, b"\0" * 3000, ""])
def test_unexpected_messages_from_a_screen_are_dropped(text, dial, web):
    with dial() as socket:
        for _ in range(500):
            socket.send(text)

        assert still_receives(socket)


@pytest.mark.parametrize(("who", "code"), [("stranger", NOT_YOURS), ("nobody", NOT_SIGNED_IN)])
def test_an_early_sender_receives_nothing_of_others(who, code, dial, web):
    received = []
    with dial(who) as socket, suppress(ConnectionClosed):
        socket.send("{}")
        received = list(socket)

    assert received == []
    assert socket.close_code == code


def test_arbitrary_bytes_do_not_harm_the_process(dial, web):
    frames = st.builds(
        a_frame,
        st.integers(0, 15),
        st.binary(max_size=300),
        is_last=st.booleans(),
        masked=st.booleans(),
        reserved=st.sampled_from([0, 0, 0, 1]),
    )

    @settings(max_examples=examples_for(30), derandomize=True, database=None, deadline=None)
    @given(sent=st.lists(frames | st.binary(max_size=50), max_size=6))
    def attack(sent):
        with dial() as other, dial() as socket:
            with suppress(OSError):
                socket.socket.sendall(b"".join(sent))
            assert still_receives(other)

    attack()
