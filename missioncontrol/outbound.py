"""Requests to addresses that others chose, limited to where they may lead.

A name is resolved once and that very address is connected to, so that it cannot point elsewhere
between the check and the call. Redirects are not followed. What was not accepted is tried again,
at growing intervals, not before the other side wants it, and not for ever.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies

from missioncontrol.clock import now
from missioncontrol.errors import InvalidRequest

# The width of the columns that store such an address.
MAX_URL_LENGTH = 500
# How long the other side may stay silent.
TIMEOUT_S = 10.0
# The longest a call may take, even if the other side keeps sending a little.
CALL_TIMEOUT_S = 15.0
MAX_RESPONSE_BYTES = 65_536
# The last one comes some ten minutes after the first, unless the other side asks for more: after a
# longer outage the delivery is reported as failed.
MAX_ATTEMPTS = 8
FIRST_BACKOFF = timedelta(seconds=5)
# Waiting longer than this would leave a card undelivered for days.
MAX_RETRY_AFTER = timedelta(hours=4)
# Statuses whose Retry-After says when to try again (RFC 9110, 10.2.3); a redirect's is no pause.
BUSY_STATUSES = frozenset({429, 503})
# How long other processes leave alone what was handed to a worker.
LEASE = timedelta(seconds=60)
# How long one attempt to send may take: less than that, so that no second one runs beside it.
ATTEMPT_TIMEOUT_S = 40.0
# Not 408, 425, 429 and 5xx, which may be temporary.
FINAL_STATUSES = frozenset({400, 401, 403, 404, 405, 410, 413})
NOT_PUBLIC = "it resolves to an address that is not public"
# Addresses that a gateway translates to IPv4: they do not show where they lead.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# What `ipaddress` calls global but is not: IPv4 in other forms, a site's own addresses.
_PRIVATE_IPV6 = tuple(
    ipaddress.ip_network(block)
    for block in ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "fec0::/10")
)


class RequestFailed(Exception):
    """The request may not be made, or it failed; says why."""


@contextmanager
def as_invalid_request(field: str) -> Iterator[None]:
    """Refuse now what each call would refuse; calls check again, as names may lead elsewhere."""
    try:
        yield
    except RequestFailed as refused:
        raise InvalidRequest(f"{field}: {refused}.", field=field) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer: its status, and the beginning of its body."""

    status: int
    body: bytes = b""
    retry_after: timedelta = timedelta()
    """How long it asks to be left alone; 0 if it does not say."""

    @property
    def is_success(self) -> bool:
        """Whether the other side accepted it."""
        return 200 <= self.status < 300  # noqa: PLR2004 - successes


def check_url(url: str, *, private_hosts: Collection[str]) -> SplitResult:
    """Parse an address that we may be asked to call.

    Args:
        url: `https`, or `http` to one of `private_hosts`.
        private_hosts: Hosts, with or without a port, that may be called although
            they are not public.

    Raises:
        RequestFailed: it may not be called.
    """
    try:
        parts = urlsplit(url)
        is_private = is_listed(parts.hostname or "", parts.port, private_hosts)
    except ValueError as error:
        raise RequestFailed("is no address") from error
    # Only ASCII: letters of other alphabets look like these and name another host.
    if len(url) > MAX_URL_LENGTH or not url.isprintable() or " " in url or not url.isascii():
        raise RequestFailed(
            f"must be at most {MAX_URL_LENGTH} printable ASCII characters without spaces"
        )
    # The body contains an agent's words: it is sent unencrypted only within the private network.
    if parts.scheme != "https" and not (parts.scheme == "http" and is_private):
        raise RequestFailed("must begin with https://")
    # A user name before the host misleads people about which host is called.
    if not parts.hostname or parts.username is not None or parts.password is not None:
        raise RequestFailed("must name a host and no user name")
    if not is_private:
        check_written_host(parts.hostname)
    return parts


def check_written_host(host: str) -> None:
    """Refuse a host that is written as this machine's name or as an address that is not public.

    Nothing is resolved: a name may lead elsewhere at each call.

    Raises:
        RequestFailed: it is such a host.
    """
    name = host.lower().rstrip(".")
    is_here = name == "localhost" or name.endswith(".localhost")
    with suppress(OSError, UnicodeError):
        # Parsed as a call would: 127.1 and 2130706433 are addresses too.
        resolved = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
        is_here = not all(is_public(str(info[4][0])) for info in resolved)
    if is_here:
        raise RequestFailed(f"{host} resolves to an address that is not public")


def call(
    url: str, body: bytes | None, headers: Mapping[str, str], *, private_hosts: Collection[str]
) -> Reply:
    """Post a body to an address, or get it if `body` is None; read the first 64 kB of the answer.

    Raises:
        RequestFailed: the address may not be called, or nobody answered.
    """
    parts = check_url(url, private_hosts=private_hosts)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        # Resolved once, here: before a second look-up a name could be changed to lead inside.
        resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RequestFailed(f"{host} cannot be resolved") from error
    addresses = [str(info[4][0]) for info in resolved]
    # All of them: the call might go to whichever address leads inside.
    is_private = is_listed(host, parts.port, private_hosts)
    if not is_private and not all(is_public(address) for address in addresses):
        raise RequestFailed(f"{host} resolves to an address that is not public")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    deadline = time.monotonic() + CALL_TIMEOUT_S
    try:
        with _connect(parts.scheme, host, port, addresses[0], deadline) as connection:
            method = "GET" if body is None else "POST"
            connection.request(method, path, body=body, headers=dict(headers))
            response = connection.getresponse()
            # No more than that: the other side may answer endlessly.
            return Reply(
                status=response.status,
                body=response.read(MAX_RESPONSE_BYTES),
                retry_after=read_retry_after(
                    response.getheader("Retry-After"), response.getheader("Date")
                ),
            )
    except (OSError, http.client.HTTPException, ValueError) as error:
        # Past the deadline, the error is only the effect of our cutting the connection.
        if time.monotonic() >= deadline:
            raise RequestFailed(f"{host} took longer than {CALL_TIMEOUT_S:g} s") from error
        raise RequestFailed(f"{type(error).__name__}: {error}"[:300]) from error


def read_retry_after(text: str | None, date: str | None = None) -> timedelta:
    """Read how long a server wants to be left alone, given as seconds or as a date.

    Args:
        text: Its `Retry-After`.
        date: Its `Date`: the time of its own clock; without it, ours is used.

    Returns:
        At most `MAX_RETRY_AFTER`; 0 for a time in the past or without a valid header.

    >>> read_retry_after("120")
    datetime.timedelta(seconds=120)
    """
    text = (text or "").strip()
    if text.isascii() and text.isdigit():
        # As a float, because `int` refuses thousands of digits.
        return timedelta(seconds=min(float(text), MAX_RETRY_AFTER.total_seconds()))
    until = _read_date(text)
    if until is None:
        return timedelta()
    return max(timedelta(), min(until - (_read_date(date or "") or now()), MAX_RETRY_AFTER))


def _read_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # OverflowError: a day or a zone of many digits
        return None
    # Without a zone it is GMT, as everywhere in HTTP.
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def is_listed(host: str, port: int | None, hosts: Collection[str]) -> bool:
    """Return whether a host is among these, which are named with or without a port."""
    names = {host.lower(), f"{host.lower()}:{port}"}
    return bool(host) and any(name.lower() in names for name in hosts)


def is_public(address: str) -> bool:
    """Return whether an address is on the public internet.

    >>> is_public("93.184.216.34"), is_public("10.0.0.7"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        if any(parsed in block for block in _PRIVATE_IPV6):
            return False
        # IPv4 within IPv6 is judged by where it finally leads.
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo or (None, None))[1]
        if parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    # Multicast counts as global, and leads to whoever listens in the local network.
    return parsed.is_global and not parsed.is_multicast


def check_host(host: str, port: int | None, *, private_hosts: Collection[str]) -> None:
    """Refuse a host inside the private network, as far as this machine can tell.

    For calls that a proxy from the environment may make: our `ConnectionGuard` sees only the
    proxy. For a name that cannot be resolved here, the proxy decides.

    Raises:
        RequestFailed: it is an address that is not public, or a name of one.
    """
    if is_listed(host, port, private_hosts):
        return
    in_url = f"[{host}]" if ":" in host else host
    if not all(is_public(address) for address, _ in _addresses_of([in_url])):
        raise RequestFailed(NOT_PUBLIC)


@dataclass(slots=True)
class ConnectionGuard:
    """Where a library that makes its own calls may connect to, and what it was refused."""

    allowed: frozenset[tuple[str, int | None]]
    refused: str | None = None

    def check(self, address: object) -> None:
        """Refuse an address that is neither public nor allowed."""
        if not isinstance(address, tuple):
            return  # a Unix socket
        host, port = str(address[0]), int(address[1])
        if self.allowed & {(host, port), (host, None)}:
            return
        with suppress(ValueError):  # a name: where it leads is not known yet
            if is_public(host):
                return
        self.refused = NOT_PUBLIC
        raise PermissionError(self.refused)


_guard: ContextVar[ConnectionGuard | None] = ContextVar("connection_guard", default=None)


@contextmanager
def only_public(*, private_hosts: Collection[str]) -> Iterator[ConnectionGuard]:
    """Within this context, refuse connections to addresses that are not public; for libraries.

    The check is of the address connected to, not of a name: whatever the name said before, and
    wherever a redirect leads. `private_hosts` and this machine's own proxies may be reached.
    Threads that run in this context are checked too.
    """
    _install_audit_hook()
    # With a proxy in the environment, every call of the library goes there first.
    named = {*private_hosts, *(urlsplit(url).netloc for url in getproxies().values())}
    # By address: when a connection is made, Python no longer knows the name.
    guard = ConnectionGuard(allowed=frozenset(_addresses_of(named)))
    token = _guard.set(guard)
    try:
        yield guard
    finally:
        _guard.reset(token)


@cache
def _install_audit_hook() -> None:
    """Have Python report every connection before it is made; this cannot be undone."""

    def check_connection(event: str, details: tuple[object, ...]) -> None:
        if event == "socket.connect" and (guard := _guard.get()) is not None:
            guard.check(details[1])

    sys.addaudithook(check_connection)


def _addresses_of(named: Collection[str]) -> Iterator[tuple[str, int | None]]:
    for name in named:
        parts = urlsplit(f"//{name}")
        with suppress(OSError, UnicodeError, ValueError):
            for info in socket.getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM):
                yield str(info[4][0]), parts.port


@contextmanager
def _connect(
    scheme: str, host: str, port: int, address: str, deadline: float
) -> Iterator[http.client.HTTPConnection]:
    """Connect to `address` and request `host` from it; cut off at the deadline."""
    # Made for the name but connected to the address: TLS checks the name, and nothing resolves it
    # again.
    connection = http.client.HTTPConnection(host, port)
    try:
        connection.sock = socket.create_connection((address, port), timeout=TIMEOUT_S)
    except OSError as error:
        raise RequestFailed(f"{host} cannot be reached: {error}"[:300]) from error
    with closing(connection), close_at_deadline(connection.sock, deadline):
        if scheme == "https":
            # Wrapped once connected, so that time-out and deadline apply to the handshake too.
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(connection.sock, server_hostname=host)
        yield connection


@contextmanager
def close_at_deadline(connection: socket.socket, deadline: float) -> Iterator[None]:
    """Hang up at the deadline, even if the other side keeps sending a little.

    A connection's own time-out restarts with each byte.
    """
    line = connection.dup()  # TLS takes the socket over; this copy stays ours

    def hang_up() -> None:
        with suppress(OSError):  # the other side hung up first
            line.shutdown(socket.SHUT_RDWR)

    # A thread, because a blocked `recv` can only be ended from outside.
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), hang_up)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        line.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`failure`: None, or why it was not accepted, in plain words and without the address."""

    failure: str | None = None
    is_final: bool = False
    """It would fail the same way again, so it is not retried."""
    is_gone: bool = False
    """The target no longer exists: a subscription that ended is removed."""
    retry_after: timedelta = timedelta()
    """The next try, if there is one, waits at least this long."""

    def next_attempt_at(self, tries: int, at: datetime) -> datetime | None:
        """Return when to try again after so many tries; None: accepted, or failed for good.

        >>> noon, failed = datetime(2026, 11, 21, 12), Outcome(failure="it hung up")
        >>> [(failed.next_attempt_at(tries, noon) - noon).seconds for tries in (1, 2, 3, 7)]
        [5, 10, 20, 320]
        """
        if self.failure is None or self.is_final or tries >= MAX_ATTEMPTS:
            return None
        # Twice as long each time, so that retries do not keep a failing server down.
        return at + max(FIRST_BACKOFF * (1 << tries - 1), self.retry_after)


SENT = Outcome()


def outcome_of_status(status: int) -> Outcome:
    """Classify an HTTP status: accepted, refused for good, or worth another try."""
    if 200 <= status < 300:  # noqa: PLR2004 - successes
        return SENT
    return Outcome(failure=f"it answered {status}", is_final=status in FINAL_STATUSES)


def outcome_of_reply(reply: Reply) -> Outcome:
    """Classify an answer by its status, and by when a busy server wants to be asked again."""
    outcome = outcome_of_status(reply.status)
    is_busy = reply.status in BUSY_STATUSES
    return replace(outcome, retry_after=reply.retry_after) if is_busy else outcome
