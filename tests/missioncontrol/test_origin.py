"""Who asks, behind which proxies."""

from ipaddress import ip_network

import pytest

from missioncontrol.api import endpoint
from missioncontrol.origin import resolve_client_address

TOLD = "198.51.100.1, 203.0.113.9, 10.0.0.5"
"""What the caller made up, the caller as our outer proxy saw it, and that proxy."""


@pytest.mark.parametrize(
    ("trusted", "peer", "address"),
    [
        ([], "127.0.0.1", "127.0.0.1"),
        (["127.0.0.1"], "192.0.2.4", "192.0.2.4"),
        (["127.0.0.1"], "127.0.0.1", "10.0.0.5"),
        (["127.0.0.1"], "::ffff:127.0.0.1", "10.0.0.5"),
        (["127.0.0.1", "10.0.0.0/8"], "127.0.0.1", "203.0.113.9"),
        (["::1"], "", ""),
    ],
)
def test_only_trusted_proxies_name_the_client_address(settings, trusted, peer, address):
    settings.TRUSTED_PROXIES = [ip_network(one) for one in trusted]

    assert resolve_client_address(peer, TOLD) == address


def test_a_proxy_that_forwards_no_address_is_the_client(settings):
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.1")]

    assert resolve_client_address("127.0.0.1", " , ") == "127.0.0.1"


def test_a_proxy_may_add_its_own_forwarded_header(settings):
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.1")]
    headers = [(b"x-forwarded-for", b"198.51.100.1"), (b"x-forwarded-for", b"203.0.113.9")]

    asks = endpoint.client_address({"client": ("127.0.0.1", 1), "headers": headers})

    assert asks == "203.0.113.9"
