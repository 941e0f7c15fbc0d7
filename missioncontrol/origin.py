"""What a request's headers say of its origin: the host, the caller's address, and our own cookies.

Cookies ignore ports: every page on this machine's loopback shares them. Ours have their own
names, and over HTTPS the prefix that makes browsers keep them to this very host.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host
from rest_framework.request import Request

# The prefix of our cookies' names.
COOKIE_PREFIX = "mc_"
HOST_PREFIX = "__Host-"
# INET6_ADDRSTRLEN without its NUL: no address is longer in text.
MAX_ADDRESS_LENGTH = 45


def is_our_host(host: str) -> bool:
    """Say whether a Host header is a name we answer to."""
    return _is_allowed_host(host, tuple(settings.ALLOWED_HOSTS))


@lru_cache
def _is_allowed_host(host: str, allowed: tuple[str, ...]) -> bool:
    # Parsed as Django does, since both must refuse the same.
    name, _ = split_domain_port(host)
    return bool(name) and validate_host(name, allowed)


def resolve_client_address(peer: str, forwarded: str) -> str:
    """Return the address behind a peer; `forwarded` is its `X-Forwarded-For`.

    Anybody can write that header: it is read from its end, which the proxy next to us
    wrote, and only as far as the writers are listed in `TRUSTED_PROXIES`.
    """
    hops = [part.strip() for part in forwarded.split(",") if part.strip()]
    # Each proxy appends the address it heard from, so the last entry is the only one that the peer
    # vouches for.
    while hops and is_trusted_proxy(peer):
        # Cut, because it becomes the name of a bucket and is stored in the database.
        peer = hops.pop()[:MAX_ADDRESS_LENGTH]
    return peer


def client_address_of(request: HttpRequest | Request) -> str:
    """Return the caller's address, as far as the proxies in between are trusted."""
    peer = str(request.META.get("REMOTE_ADDR", ""))
    return resolve_client_address(peer, request.META.get("HTTP_X_FORWARDED_FOR", ""))


def is_trusted_proxy(peer: str) -> bool:
    """Say whether an address is one of the named proxies."""
    address = read_address(peer)
    return address is not None and any(address in network for network in settings.TRUSTED_PROXIES)


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an IP address; None if it is not one, as behind a Unix socket."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    # A socket of both families shows an IPv4 peer as `::ffff:10.0.0.1`.
    return getattr(address, "ipv4_mapped", None) or address


def is_over_https(scheme: str) -> bool:
    """Say whether browsers reach us over HTTPS: by itself, or at a proxy in front."""
    return settings.SESSION_COOKIE_SECURE or scheme in {"https", "wss"}


def cookie_name(name: str, scheme: str) -> str:
    """Return what a browser calls one of our cookies."""
    return f"{HOST_PREFIX}{name}" if is_over_https(scheme) else name
