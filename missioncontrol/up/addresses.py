"""The listening socket, and the names and addresses this machine answers to."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import struct
import sys
import time
from urllib.parse import urlsplit

from missioncontrol.up.errors import AddressUnknown, PortTaken

# Connections not yet accepted: the kernel drops further ones, which try again a second later.
BACKLOG = 4096
# A host name of our own, so that no other program shares its cookies (`page_url`).
OWN_HOST = "mission-control.localhost"
# After `kill -9` of a Mission Control its children need a moment to end.
PORT_WAIT_S = 1.0
_SIOCGIFADDR = 0x8915


def open_listener(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """Open the socket that the web process will serve, so that the port is chosen only once.

    `option` names the option that chooses another port, for the error about a taken one.

    Raises:
        PortTaken: Somebody listens there already.
        AddressUnknown: The host is no address of this machine.
    """
    deadline = time.monotonic() + PORT_WAIT_S
    while True:
        try:
            family, kind, proto, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listener = socket.socket(family, kind, proto)
        except OSError as error:
            raise AddressUnknown(host, port, error) from None
        try:
            # A predecessor's closed connections linger for a minute, and would keep the port taken.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            # Waiting helps only with a taken port.
            if error.errno != errno.EADDRINUSE:
                raise AddressUnknown(host, port, error) from None
            if time.monotonic() > deadline:
                raise PortTaken(host, port, option) from None
            time.sleep(0.05)
        else:
            return listener


def url_of(listener: socket.socket, host: str | None = None, *, scheme: str = "http") -> str:
    """Return the URL to type in a browser on this machine."""
    bound, port = listener.getsockname()[:2]
    if host is None:
        host = "127.0.0.1" if ipaddress.ip_address(bound).is_unspecified else bound
    return f"{scheme}://{bracketed(host)}:{port}"


def page_url(url: str) -> str:
    """Return where a person on this machine opens the pages of `url`.

    Pages of one host share their cookies whatever their port: on 127.0.0.1 every other
    program's page would get ours. Browsers resolve names under `localhost` by themselves.
    """
    return url.replace("://127.0.0.1:", f"://{OWN_HOST}:", 1)


def bracketed(host: str) -> str:
    """Return a host as it is written in a URL or a Host header."""
    return f"[{host}]" if ":" in host else host


def accepted_hosts(*, listen_host: str, public_url: str) -> list[str]:
    """Return every Host header we answer: loopback, own names and addresses."""
    public = urlsplit(public_url).hostname
    names = [OWN_HOST, *certified_names(listen_host), *([public] if public else [])]
    # In the form in which Host headers are compared; each once.
    return list(dict.fromkeys(map(bracketed, names)))


def certified_names(listen_host: str) -> list[str]:
    """Return the names that a certificate of this machine needs: those a phone may type."""
    name = socket.gethostname()
    short = name.split(".", 1)[0]
    # Other devices find it by mDNS under the last one.
    own = [name, short, f"{short}.local"]
    names = ["localhost", *own, "127.0.0.1", "::1", *own_addresses(), listen_host]
    with contextlib.suppress(ValueError):  # a host name
        # The unspecified address stands for all addresses, and names none.
        if ipaddress.ip_address(listen_host).is_unspecified:
            names.remove(listen_host)
    return list(dict.fromkeys(name.lower() for name in names if name))


def own_addresses() -> list[str]:
    """Return this machine's own IP addresses, the one of the default route first."""
    found: list[str] = []
    # The kernel says which address it would send from; no packet is sent. Documentation addresses
    # (RFC 5737, RFC 3849) take the default route.
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            found.append(str(probe.getsockname()[0]))
    if sys.platform.startswith("linux"):
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            for _, name in socket.if_nameindex():
                # An `ifreq` holds a name of 15 bytes and a NUL.
                request = struct.pack("256s", name.encode()[:15])
                with contextlib.suppress(OSError):
                    answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                    # The kernel's answer has a sockaddr_in after the 16 bytes of the name.
                    found.append(socket.inet_ntoa(answer[20:24]))
    # Where interfaces cannot be listed (macOS), the machine's own name resolves to most of them.
    with contextlib.suppress(OSError):
        listed = socket.getaddrinfo(socket.gethostname(), None)
        # A zone such as `%eth0` is not part of the address.
        found += [str(address[0]).split("%", 1)[0] for *_, address in listed]
    return list(dict.fromkeys(found))


def lan_address() -> str | None:
    """Return the address a phone in the same network can reach."""
    for text in own_addresses():
        address = ipaddress.ip_address(text)
        # A link-local address is valid on one link only.
        if address.version == 4 and not address.is_loopback and not address.is_link_local:  # noqa: PLR2004
            return text
    return None
