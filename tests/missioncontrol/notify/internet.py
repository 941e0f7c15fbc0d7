"""The net outside, as a worker sees it: a proxy that answers in the names of chat services.

It speaks what a real one does: CONNECT, then TLS with a certificate of its own authority,
then HTTP. Nothing of ours is replaced: the environment names the proxy and the authority.
"""

from __future__ import annotations

import datetime as dt
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

REPLIES: dict[str, bytes] = {
    "discord.com": b"",
    "hooks.slack.com": b"ok",
    "ntfy.beyond.test": b"{}",
    "api.telegram.org": b'{"ok":true,"result":{"message_id":1}}',
}


@dataclass(slots=True)
class Sent:
    """One request that reached a service."""

    host: str
    path: str
    body: Any


@dataclass(slots=True)
class Internet:
    proxy: str
    authority: Path
    status: int = 200
    received: list[Sent] = field(default_factory=list)


@contextmanager
def an_internet(directory: Path) -> Iterator[Internet]:
    """Serve until the block ends."""
    issue = an_authority(directory)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        net = Internet(
            proxy=f"http://127.0.0.1:{listener.getsockname()[1]}", authority=directory / "ca.pem"
        )
        threading.Thread(target=_accept, args=(listener, net, issue), daemon=True).start()
        yield net


def _accept(listener: socket.socket, net: Internet, issue: Any) -> None:
    with suppress(OSError):  # it was closed: the test is over
        while True:
            wire, _ = listener.accept()
            threading.Thread(target=_serve, args=(wire, net, issue), daemon=True).start()


def _serve(wire: socket.socket, net: Internet, issue: Any) -> None:
    with wire, suppress(OSError):
        first = _read_head(wire).split("\r\n")[0]
        host = first.split()[1].partition(":")[0]
        wire.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with issue(host).wrap_socket(wire, server_side=True) as line:
            head = _read_head(line)
            length = next(
                int(field.partition(":")[2])
                for field in head.split("\r\n")
                if field.lower().startswith("content-length:")
            )
            body = b""
            while len(body) < length:
                body += line.recv(65_536)
            net.received.append(Sent(host=host, path=head.split()[1], body=json.loads(body)))
            reply = REPLIES[host] if net.status == 200 else b""
            line.sendall(
                f"HTTP/1.1 {net.status} Said\r\nContent-Length: {len(reply)}\r\n"
                "Content-Type: application/json\r\nConnection: close\r\n\r\n".encode()
                + reply
            )


def _read_head(wire: Any) -> str:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = wire.recv(1)
        if not byte:
            raise ConnectionError("it hung up")
        head += byte
    return head.decode()


def an_authority(directory: Path) -> Any:
    """Make an authority, and return what issues a server's TLS settings in its name."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A test's own authority")])
    root = _certificate(name, name, key, key, ca=True)
    (directory / "ca.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))

    def issue(host: str) -> ssl.SSLContext:
        own = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        signed = _certificate(subject, name, own, key, ca=False, host=host)
        path = directory / f"{host}.pem"
        path.write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + signed.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    return issue


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: Any, signer: Any, *, ca: bool, host: str = ""
) -> x509.Certificate:
    today = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
            critical=False,
        )
    )
    if ca:
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        made = made.add_extension(usage, critical=True)
    if host:
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    return made.sign(signer, hashes.SHA256())
