"""Whom a push service may turn to about our pushes: the `sub` of a VAPID token.

RFC 8292, 2.1: it may be left out; where it is there it should be a `mailto:` or `https:`
address. Apple's service answers 403 `BadJwtToken` to a token without one, or with one of a
host that cannot exist out there (`localhost`, `.local`, `.invalid`): a made-up address is
worse than none, for it fails in silence on iPhones only.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

Problem = Literal["none", "form", "local"]
MAIL = re.compile(r"mailto:[^@\s<>,?]+@([^@\s<>,?/]+)")
# Top names that lead nowhere out there: RFC 2606, 6762 and 7686, and what routers at home use.
LOCAL = frozenset(
    {
        "localhost",
        "local",
        "localdomain",
        "internal",
        "lan",
        "home",
        "corp",
        "test",
        "invalid",
        "example",
        "arpa",
        "onion",
    }
)
# Reserved for documentation (RFC 2606, 3).
EXAMPLES = frozenset({"example.com", "example.org", "example.net"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """`subject`: what a token says, "" for nothing; `problem`: why that will not do everywhere."""

    subject: str
    problem: Problem | None


def contact_of(configured: str, public_url: str) -> Contact:
    """Choose whom to name: who was configured, else this site's public https address.

    >>> contact_of("", "https://mc.acme.dev")
    Contact(subject='https://mc.acme.dev', problem=None)
    >>> contact_of("ops@acme.dev", "")
    Contact(subject='', problem='form')
    """
    if configured:
        problem = problem_of(configured)
        return Contact(subject="" if problem == "form" else configured, problem=problem)
    if public_url.startswith("https://") and problem_of(public_url) is None:
        return Contact(subject=public_url, problem=None)
    return Contact(subject="", problem="none")


def problem_of(subject: str) -> Problem | None:
    """Say what is wrong with a contact; None: every push service takes it."""
    if mail := MAIL.fullmatch(subject):
        host = mail[1].lower()
    elif not subject.startswith("https://") or not subject.isprintable() or " " in subject:
        host = ""
    else:
        try:
            host = (urlsplit(subject).hostname or "").lower()
        except ValueError:  # half an IPv6 address
            host = ""
    if not host:
        return "form"
    try:
        is_out_there = ipaddress.ip_address(host).is_global
    except ValueError:
        # A trailing dot means the same host.
        labels = host.rstrip(".").split(".")
        is_example = ".".join(labels[-2:]) in EXAMPLES
        is_out_there = len(labels) > 1 and labels[-1] not in LOCAL and not is_example
    return None if is_out_there else "local"
