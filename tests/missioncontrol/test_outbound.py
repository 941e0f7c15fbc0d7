"""Requests to addresses that others chose."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from datetime import timedelta
from email.utils import format_datetime

import pytest

from missioncontrol import outbound
from missioncontrol.clock import now
from missioncontrol.outbound import RequestFailed


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/x",
        "ftp://hooks.example.com/x",
        "https:///x",
        "https://user:secret@hooks.example.com/",
        "https://hooks.example.com:port/",
        "https://hooks.example.com/a b",
        "https://hooks.example.com/\n",
        "https://[::1/",
        "https://hooks.example.com/" + "x" * 500,
        "https://hooks.example.com/\u00e9t\u00e9",
        "https://h\u00f6\u00f6ks.example.com/",
        "",
    ],
)
def test_an_address_that_may_not_be_called_is_refused(url):
    with pytest.raises(RequestFailed):
        outbound.check_url(url, private_hosts=())


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "10.0.0.7",
        "[::1]",
        "localhost",
        "x.localhost.",
    ],
)
def test_a_host_written_as_a_private_address_is_refused_at_once(host):
    with pytest.raises(RequestFailed, match="not public"):
        outbound.check_url(f"https://{host}/x", private_hosts=())


def test_an_allowed_host_with_an_invalid_port_is_refused():
    with pytest.raises(RequestFailed):
        outbound.check_url("http://hooks.lan:port/", private_hosts=["hooks.lan"])


def test_an_allowed_host_may_be_called_without_encryption():
    assert outbound.check_url("http://hooks.lan/x", private_hosts=["hooks.lan"]).hostname
    assert outbound.check_url("http://hooks.lan:81/x", private_hosts=["hooks.lan:81"]).port == 81
    with pytest.raises(RequestFailed):
        outbound.check_url("http://hooks.lan:82/x", private_hosts=["hooks.lan:81"])


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.9",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.1",
        "100.64.0.1",
        "224.0.0.1",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::7",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "ff02::1",
        "64:ff9b:1::a00:7",
        "fec0::7",
        "::10.0.0.7",
        "::ffff:0:10.0.0.7",
    ],
)
def test_a_private_address_is_not_public(address):
    assert not outbound.is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_a_public_address_is_public(address):
    assert outbound.is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433"])
def test_a_public_name_that_resolves_to_a_private_address_is_refused(host):
    with pytest.raises(RequestFailed):
        outbound.call(f"https://{host}/", b"{}", {}, private_hosts=())


def test_a_name_that_does_not_resolve_is_refused():
    with pytest.raises(RequestFailed, match="cannot be resolved"):
        outbound.call("https://nowhere.invalid/", b"{}", {}, private_hosts=())


def test_the_body_and_its_headers_arrive(server):
    reply = outbound.call(
        f"{server.url}/hook?x=1", b'{"a": 1}', {"X-Mine": "yes"}, private_hosts=[server.host]
    )

    ((path, headers, body),) = server.received
    assert reply.is_success
    assert (path, headers["X-Mine"], body) == ("/hook?x=1", "yes", b'{"a": 1}')
    assert headers["Host"] == server.host


def test_a_redirect_is_not_followed(server):
    server.status = 307

    reply = outbound.call(server.url, b"", {}, private_hosts=[server.host])

    assert (reply.status, reply.is_success, len(server.received)) == (307, False, 1)


A_DATE = "Sat, 21 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("14401", 4 * 3600),
        ("9" * 5000, 4 * 3600),
        ("Sat, 21 Nov 2026 12:02:00 GMT", 120),
        ("Sat, 21 Nov 2026 12:02:00", 120),
        ("Saturday, 21-Nov-26 12:02:00 GMT", 120),
        ("Sat, 21 Nov 2026 13:02:00 +0100", 120),
        ("Sat, 31 Dec 9999 23:59:59 -2359", 4 * 3600),
        ("Sat, 21 Nov 2026 11:59:59 GMT", 0),
        ("0", 0),
        ("-5", 0),
        ("1.5", 0),
        ("\u00b2", 0),
        ("\u0661\u0662", 0),
        ("soon", 0),
        ("99999999999999999999 Nov 2026 12:02:00", 0),
        ("Sat, 21 Nov 2026 12:02:00 +99999999999", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_a_retry_after_is_read_as_seconds_or_a_date(text, seconds):
    assert outbound.read_retry_after(text, A_DATE).total_seconds() == seconds


@pytest.mark.parametrize("date", [None, "", "noon"])
def test_a_retry_date_is_compared_with_our_clock_if_the_server_sends_no_date(date):
    in_an_hour = format_datetime(now() + timedelta(hours=1), usegmt=True)

    waits = outbound.read_retry_after(in_an_hour, date)

    assert timedelta(minutes=59) < waits <= timedelta(hours=1)


def test_a_reply_says_when_to_retry(server):
    server.status, server.headers = 503, {"Retry-After": "120"}

    reply = outbound.call(server.url, b"", {}, private_hosts=[server.host])

    assert reply.retry_after == timedelta(minutes=2)


@pytest.mark.parametrize(("status", "seconds"), [(429, 120), (503, 120), (500, 0), (204, 0)])
def test_only_a_busy_server_delays_the_retry(status, seconds):
    reply = outbound.Reply(status=status, retry_after=timedelta(minutes=2))

    assert outbound.outcome_of_reply(reply).retry_after.total_seconds() == seconds


def test_an_unreachable_server_is_reported():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"

    with pytest.raises(RequestFailed, match="cannot be reached"):
        outbound.call(f"http://{host}/", b"", {}, private_hosts=[host])


@contextmanager
def a_drip(first: bytes):
    """A server that begins with `first` and then says one byte every 50 ms, for a minute."""
    over = threading.Event()

    def drip():
        wire, _ = listening.accept()
        with wire:
            try:
                wire.sendall(first)
                for _ in range(1200):
                    if over.wait(0.05):
                        return
                    wire.sendall(b"x")
            except OSError:
                return  # the caller has hung up

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        over.set()
        thread.join()


def test_a_server_that_answers_byte_by_byte_is_cut_off(monkeypatch):
    monkeypatch.setattr(outbound, "CALL_TIMEOUT_S", 0.5)

    with a_drip(b"HTTP/1.1 2") as host, pytest.raises(RequestFailed, match="took longer"):
        outbound.call(f"http://{host}/", b"", {}, private_hosts=[host])


def test_a_server_that_handshakes_byte_by_byte_is_cut_off(monkeypatch):
    monkeypatch.setattr(outbound, "CALL_TIMEOUT_S", 0.5)
    a_record_of_16_kb = b"\x16\x03\x03\x40\x00"

    with a_drip(a_record_of_16_kb) as host, pytest.raises(RequestFailed, match="took longer"):
        outbound.call(f"https://{host}/", b"", {}, private_hosts=[host])


def test_a_header_that_cannot_be_sent_is_reported(server):
    with pytest.raises(RequestFailed, match="UnicodeEncodeError"):
        outbound.call(server.url, b"", {"X-Mine": "\u2713"}, private_hosts=[server.host])
