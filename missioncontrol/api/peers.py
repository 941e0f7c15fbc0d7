"""Who asks, by address: the peer, or whom a proxy that `settings` names speaks for."""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

# INET6_ADDRSTRLEN without its NUL: no address is written longer.
LONGEST_ADDRESS = 45


def address_of(peer: str, forwarded: str) -> str:
    """Return the address behind a peer; `forwarded` is its `X-Forwarded-For`.

    Anybody can write that header: it is read from its end, where the proxy next to us
    wrote, and only as far as those who wrote it are named in `TRUSTED_PROXIES`.
    """
    hops = [part.strip() for part in forwarded.split(",") if part.strip()]
    # Each proxy appends whom it heard from, so the last
    # entry is the only one that the peer vouches for.
    while hops and is_trusted_proxy(peer):
        # Cut: it becomes the name of a bucket, and stands in the database.
        peer = hops.pop()[:LONGEST_ADDRESS]
    return peer


def asked_from(request: HttpRequest | Request) -> str:
    """Return the address that asks, as far as the proxies in between are trusted."""
    peer = str(request.META.get("REMOTE_ADDR", ""))
    return address_of(peer, request.META.get("HTTP_X_FORWARDED_FOR", ""))


def is_trusted_proxy(peer: str) -> bool:
    """Say whether an address is one of the named proxies."""
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    # A socket of both families shows an IPv4 peer as `::ffff:10.0.0.1`.
    known = getattr(address, "ipv4_mapped", None) or address
    return any(known in network for network in settings.TRUSTED_PROXIES)
