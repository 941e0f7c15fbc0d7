"""Where it listens, and which Host headers it answers."""

import errno
import socket

import pytest

from missioncontrol.up import addresses
from missioncontrol.up.errors import AddressUnknown, PortTaken
from missioncontrol.up.options import EVERYWHERE


def test_port_zero_finds_a_free_one():
    with addresses.open_listener("127.0.0.1", 0) as listener:
        url = addresses.url_of(listener)

    assert url.startswith("http://127.0.0.1:")
    assert not url.endswith(":0")


def test_a_taken_port_is_reported_in_one_sentence(monkeypatch):
    monkeypatch.setattr(addresses, "PORT_WAIT_S", 0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(PortTaken, match=f"Port {port} on 127.0.0.1 is taken"):
            addresses.open_listener("127.0.0.1", port)
        with pytest.raises(PortTaken, match="let --https-port 0 find"):
            addresses.open_listener("127.0.0.1", port, option="--https-port")


def test_a_foreign_address_is_reported_in_one_sentence():
    with pytest.raises(AddressUnknown, match=r"Cannot listen on 192\.0\.2\.1"):
        addresses.open_listener("192.0.2.1", 0)


def test_missing_ipv6_is_reported_in_one_sentence(monkeypatch):
    def without_ipv6(family, *_):
        raise OSError(errno.EAFNOSUPPORT, f"no {family.name} here")

    monkeypatch.setattr(socket, "socket", without_ipv6)

    with pytest.raises(AddressUnknown, match="Cannot listen on ::1"):
        addresses.open_listener("::1", 0)


def test_all_addresses_are_shown_as_loopback():
    with addresses.open_listener(EVERYWHERE, 0) as listener:
        assert addresses.url_of(listener).startswith("http://127.0.0.1:")


def test_it_answers_to_loopback_and_to_its_own_names():
    hosts = addresses.accepted_hosts(listen_host="127.0.0.1", public_url="")

    assert {"localhost", "127.0.0.1", "[::1]", socket.gethostname().lower()} <= set(hosts)


def test_people_on_this_machine_have_a_name_of_ours():
    assert addresses.page_url("http://127.0.0.1:80") == "http://mission-control.localhost:80"
    assert addresses.page_url("http://10.0.0.7:80") == "http://10.0.0.7:80"
    assert "mission-control.localhost" in addresses.accepted_hosts(
        listen_host="127.0.0.1", public_url=""
    )


def test_it_answers_to_the_public_name():
    hosts = addresses.accepted_hosts(listen_host=EVERYWHERE, public_url="https://mc.example.org/x")

    assert "mc.example.org" in hosts


@pytest.mark.parametrize("asked", [EVERYWHERE, "::", "127.0.0.1"])
def test_it_never_accepts_every_host(asked):
    hosts = addresses.accepted_hosts(listen_host=asked, public_url="")

    assert not {"*", "", EVERYWHERE, "[::]"} & set(hosts)


def test_a_phone_is_never_sent_to_loopback():
    assert addresses.lan_address() not in {"127.0.0.1", EVERYWHERE}
