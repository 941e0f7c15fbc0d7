"""Requests to addresses that others chose: only where they may lead.

An address is looked up once and that very address is connected to, so that a name
cannot point elsewhere between the check and the call. Redirects are not followed. What was not
taken is tried again, later each time, not before the other side wants it, and not for ever.
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

# As wide as the columns that keep such an address.
LONGEST_URL = 500
# How long the other side may be silent.
TIMEOUT_S = 10.0
# How long a call may take, however often the other side says a little.
LONGEST_CALL_S = 15.0
MOST_READ = 65_536
# The last one comes some ten minutes after the first, unless the other side asks for more: a longer
# outage is told of as failed.
MOST_TRIES = 8
FIRST_PAUSE = timedelta(seconds=5)
# What is asked of us beyond that would leave a card untold for days.
LONGEST_RETRY_AFTER = timedelta(hours=4)
# Whose Retry-After says when to come again (RFC 9110, 10.2.3); a redirect's is not a pause.
BUSY_STATUSES = frozenset({429, 503})
# How long what was handed to a worker is left alone.
LEASE = timedelta(seconds=60)
# How long anything may take to send one: less, so that nobody sends beside one under way.
LONGEST_TRY_S = 40.0
# Not 408, 425, 429 and 5xx: those may pass.
FINAL_STATUSES = frozenset({400, 401, 403, 404, 405, 410, 413})
NOT_PUBLIC = "it resolves to an address that is not public"
# Addresses that a gateway translates to IPv4: they say nothing of where they lead.
_OWN = ipaddress.ip_network("64:ff9b::/96")
# What `ipaddress` calls global and is not: IPv4 in other clothes, a site's own addresses.
_INSIDE = tuple(
    ipaddress.ip_network(block)
    for block in ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "fec0::/10")
)


class Unsendable(Exception):
    """The request may not be made, or came to nothing; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer: its status, and the beginning of what it says."""

    status: int
    body: bytes = b""
    retry_after: timedelta = timedelta()
    """How long it wants to be left alone; 0: it does not say."""

    @property
    def is_good(self) -> bool:
        """The other side has taken it."""
        return 200 <= self.status < 300  # noqa: PLR2004 - successes


def check_url(url: str, *, private_hosts: Collection[str]) -> SplitResult:
    """Read an address that we may be asked to call.

    Args:
        url: `https`, or `http` to one of `private_hosts`.
        private_hosts: Hosts, with or without a port, that may be called although
            they are not public.

    Raises:
        Unsendable: it is no such address.
    """
    try:
        parts = urlsplit(url)
        is_private = is_named(parts.hostname or "", parts.port, private_hosts)
    except ValueError as error:
        raise Unsendable("is no address") from error
    # ASCII alone: letters of other alphabets look like these and name another host.
    if len(url) > LONGEST_URL or not url.isprintable() or " " in url or not url.isascii():
        raise Unsendable(f"must be at most {LONGEST_URL} printable ASCII characters without spaces")
    # What is sent holds an agent's words: in the clear only inside the house.
    if parts.scheme != "https" and not (parts.scheme == "http" and is_private):
        raise Unsendable("must begin with https://")
    # A user's name before the host makes people read another host than is called.
    if not parts.hostname or parts.username is not None or parts.password is not None:
        raise Unsendable("must name a host and no user name")
    if not is_private:
        check_written(parts.hostname)
    return parts


def check_written(host: str) -> None:
    """Refuse a host that names this machine, or an address that is not public, as it is written.

    Nothing is looked up: where a name leads may be another place at each call.

    Raises:
        Unsendable: it is one.
    """
    name = host.lower().rstrip(".")
    is_here = name == "localhost" or name.endswith(".localhost")
    with suppress(OSError, UnicodeError):
        # As a call would read it: 127.1 and 2130706433 are addresses too.
        found = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
        is_here = not all(is_public(str(info[4][0])) for info in found)
    if is_here:
        raise Unsendable(f"{host} resolves to an address that is not public")


def call(
    url: str, body: bytes | None, headers: Mapping[str, str], *, private_hosts: Collection[str]
) -> Reply:
    """Post a body to an address, or get what is there if `body` is None; the first 64 kB of it.

    Raises:
        Unsendable: the address may not be called, or nobody answered.
    """
    parts = check_url(url, private_hosts=private_hosts)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        # Looked up once, here: before a second look-up a name can be turned to lead inside.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unsendable(f"{host} cannot be resolved") from error
    addresses = [str(info[4][0]) for info in found]
    # All of them: a name that leads inside by one of several might be dialled there.
    is_private = is_named(host, parts.port, private_hosts)
    if not is_private and not all(is_public(address) for address in addresses):
        raise Unsendable(f"{host} resolves to an address that is not public")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    deadline = time.monotonic() + LONGEST_CALL_S
    try:
        with _reach(parts.scheme, host, port, addresses[0], deadline) as connection:
            method = "GET" if body is None else "POST"
            connection.request(method, path, body=body, headers=dict(headers))
            response = connection.getresponse()
            # No more than that: the other side may answer without end.
            return Reply(
                status=response.status,
                body=response.read(MOST_READ),
                retry_after=read_retry_after(
                    response.getheader("Retry-After"), response.getheader("Date")
                ),
            )
    except (OSError, http.client.HTTPException, ValueError) as error:
        # Whatever the cut connection raised is only how the deadline showed.
        if time.monotonic() >= deadline:
            raise Unsendable(f"{host} took longer than {LONGEST_CALL_S:g} s") from error
        raise Unsendable(f"{type(error).__name__}: {error}"[:300]) from error


def read_retry_after(text: str | None, date: str | None = None) -> timedelta:
    """Read how long a server wants to be left alone: seconds, or until a date.

    Args:
        text: Its `Retry-After`.
        date: Its `Date`: what its clock says while it asks for that; ours counts without.

    Returns:
        At most `LONGEST_RETRY_AFTER`; 0 for what is past, or neither.

    >>> read_retry_after("120")
    datetime.timedelta(seconds=120)
    """
    text = (text or "").strip()
    if text.isascii() and text.isdigit():
        # A float: of thousands of digits `int` makes no number.
        return timedelta(seconds=min(float(text), LONGEST_RETRY_AFTER.total_seconds()))
    until = _read_date(text)
    if until is None:
        return timedelta()
    return max(timedelta(), min(until - (_read_date(date or "") or now()), LONGEST_RETRY_AFTER))


def _read_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter of a day or a zone of many digits
        return None
    # Without a zone it is GMT, as in all of HTTP.
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def is_named(host: str, port: int | None, hosts: Collection[str]) -> bool:
    """Tell whether a host is among these, which are named with or without a port."""
    known = {host.lower(), f"{host.lower()}:{port}"}
    return bool(host) and any(name.lower() in known for name in hosts)


def is_public(address: str) -> bool:
    """Tell whether an address lies on the open internet.

    >>> is_public("93.184.216.34"), is_public("10.0.0.7"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    known = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(known, ipaddress.IPv6Address):
        if any(known in block for block in _INSIDE):
            return False
        # IPv4 within IPv6 is judged by where it leads in the end.
        inner = known.ipv4_mapped or known.sixtofour or (known.teredo or (None, None))[1]
        if known in _OWN:
            inner = ipaddress.IPv4Address(int(known) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    # Multicast counts as global, and leads to whoever listens in the local network.
    return known.is_global and not known.is_multicast


def check_host(host: str, port: int | None, *, private_hosts: Collection[str]) -> None:
    """Refuse a host that lies inside, as far as this machine knows.

    For calls that a proxy of the environment may make: our `Watch` sees the proxy alone. What
    cannot be resolved here is the proxy's to decide.

    Raises:
        Unsendable: it is an address that is not public, or a name of one.
    """
    if is_named(host, port, private_hosts):
        return
    in_url = f"[{host}]" if ":" in host else host
    if not all(is_public(address) for address, _ in _addresses_of([in_url])):
        raise Unsendable(NOT_PUBLIC)


@dataclass(slots=True)
class Watch:
    """Where a library that calls out by itself may connect to, and what it was refused."""

    allowed: frozenset[tuple[str, int | None]]
    refused: str | None = None

    def check(self, address: object) -> None:
        """Refuse an address that is neither public nor allowed."""
        if not isinstance(address, tuple):
            return  # a socket of this machine, by path
        host, port = str(address[0]), int(address[1])
        if self.allowed & {(host, port), (host, None)}:
            return
        with suppress(ValueError):  # a name: nobody knows yet where it leads
            if is_public(host):
                return
        self.refused = NOT_PUBLIC
        raise PermissionError(self.refused)


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def only_public(*, private_hosts: Collection[str]) -> Iterator[Watch]:
    """Refuse, within, connections to addresses that are not public; for libraries.

    The address that is connected to is looked at, not a name: whatever the name said
    before, and wherever a redirect leads. `private_hosts` and this machine's own proxies
    may be reached. Threads that carry this context along are watched too.
    """
    _listen()
    # A proxy of the environment is where every call of the library goes first.
    named = {*private_hosts, *(urlsplit(url).netloc for url in getproxies().values())}
    # By addresses: when a connection is made, Python tells of no name any more.
    watch = Watch(allowed=frozenset(_addresses_of(named)))
    token = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(token)


@cache
def _listen() -> None:
    """Have Python tell of every connection before it is made; that cannot be undone."""

    def hear(event: str, details: tuple[object, ...]) -> None:
        if event == "socket.connect" and (watch := _watch.get()) is not None:
            watch.check(details[1])

    sys.addaudithook(hear)


def _addresses_of(named: Collection[str]) -> Iterator[tuple[str, int | None]]:
    for name in named:
        parts = urlsplit(f"//{name}")
        with suppress(OSError, UnicodeError, ValueError):
            for info in socket.getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM):
                yield str(info[4][0]), parts.port


@contextmanager
def _reach(
    scheme: str, host: str, port: int, address: str, deadline: float
) -> Iterator[http.client.HTTPConnection]:
    """Connect to the address, asking it for the host; cut off at the deadline."""
    # Made for the name, connected to the address: so TLS
    # checks the name, and nothing looks it up again.
    connection = http.client.HTTPConnection(host, port)
    try:
        connection.sock = socket.create_connection((address, port), timeout=TIMEOUT_S)
    except OSError as error:
        raise Unsendable(f"{host} cannot be reached: {error}"[:300]) from error
    with closing(connection), cut_off(connection.sock, deadline):
        if scheme == "https":
            # Over the connection: the time-out and the deadline hold for the handshake too.
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(connection.sock, server_hostname=host)
        yield connection


@contextmanager
def cut_off(connection: socket.socket, deadline: float) -> Iterator[None]:
    """Hang up at the deadline, however often the other side says a little.

    A connection's own time-out starts anew with each byte.
    """
    line = connection.dup()  # encryption takes the socket over; this one stays ours

    def hang_up() -> None:
        with suppress(OSError):  # the other side was first
            line.shutdown(socket.SHUT_RDWR)

    # A thread: a blocked `recv` can be ended from outside alone.
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
    """`failure`: why it was not taken, in clear words and without the address; None: it was."""

    failure: str | None = None
    is_final: bool = False
    """It would fail the same way again: no further try."""
    is_gone: bool = False
    """The target itself is no more: a subscription that ended is removed."""
    retry_after: timedelta = timedelta()
    """The next try, if there is one, waits at least as long."""


SENT = Outcome()


def of_status(status: int) -> Outcome:
    """Read an HTTP status: taken, refused for good, or worth another try."""
    if 200 <= status < 300:  # noqa: PLR2004 - successes
        return SENT
    return Outcome(failure=f"it answered {status}", is_final=status in FINAL_STATUSES)


def of_reply(reply: Reply) -> Outcome:
    """Read an answer: its status, and when one that is busy wants to be asked again."""
    outcome = of_status(reply.status)
    is_busy = reply.status in BUSY_STATUSES
    return replace(outcome, retry_after=reply.retry_after) if is_busy else outcome


def next_try(tries: int, at: datetime, retry_after: timedelta = timedelta()) -> datetime:
    """Return when to try again after so many tries, and no sooner than the other side wants.

    >>> noon = datetime(2026, 11, 21, 12)
    >>> [(next_try(tries, noon) - noon).seconds for tries in (1, 2, 3, 7)]
    [5, 10, 20, 320]
    """
    # Twice as long each time: whoever is down is not kept down by us.
    return at + max(FIRST_PAUSE * (1 << tries - 1), retry_after)
