"""What the head of a request says of where it comes from: its host, and our own cookies.

Cookies know no ports: every page on this machine's loopback shares them. Ours have names of
their own, and over HTTPS the prefix that makes browsers keep them to this very host.
"""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.http.request import split_domain_port, validate_host

# What the names of our cookies begin with.
OURS = "mc_"
HOST_ONLY = "__Host-"


def is_our_host(host: str) -> bool:
    """Say whether a Host header is a name we answer to."""
    return _is_among(host, tuple(settings.ALLOWED_HOSTS))


@lru_cache
def _is_among(host: str, allowed: tuple[str, ...]) -> bool:
    # As Django reads it, since both must refuse the same.
    name, _ = split_domain_port(host)
    return bool(name) and validate_host(name, allowed)


def is_over_https(scheme: str) -> bool:
    """Say whether browsers reach us over HTTPS: by itself, or at a proxy in front."""
    return settings.SESSION_COOKIE_SECURE or scheme in {"https", "wss"}


def cookie_name(name: str, scheme: str) -> str:
    """Return what a browser calls one of our cookies."""
    return f"{HOST_ONLY}{name}" if is_over_https(scheme) else name
