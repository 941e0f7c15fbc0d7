"""A push service as browsers' makers run them: HTTP, VAPID checked, bodies opaque to it.

It plays the browser too, which alone holds the keys: `subscription` is what a page would
send, and what arrives is decrypted with the other half.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import http_ece
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.installations import wait_for


@dataclass(kw_only=True)
class Subscription:
    """A browser's: its address at the service, and the keys only it holds."""

    endpoint: str
    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    secret: bytes = field(default_factory=lambda: os.urandom(16))

    @property
    def keys(self) -> dict[str, str]:
        point = self.private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        return {"p256dh": text(point), "auth": text(self.secret)}

    def decrypt(self, body: bytes) -> dict[str, Any]:
        opened = http_ece.decrypt(
            body, private_key=self.private, auth_secret=self.secret, version="aes128gcm"
        )
        message: dict[str, Any] = json.loads(opened)
        return message


@dataclass(frozen=True, kw_only=True)
class ReceivedPush:
    """A push the service accepted."""

    path: str
    headers: dict[str, str]
    body: bytes
    claims: dict[str, Any]


class PushService:
    """Takes pushes for its subscriptions; `answers` are the statuses it gives next."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = time.time
        self.taken: list[ReceivedPush] = []
        self.refused: list[str] = []
        self.answers: list[int] = []
        self.retry_after = ""  # said with each
        self.subscriptions: dict[str, tuple[Subscription, str]] = {}

    def subscribe(self, application_key: str) -> Subscription:
        """Do what a browser's `pushManager.subscribe` does, for one application key."""
        path = f"/push/{uuid4().hex}"
        made = Subscription(endpoint=self.url + path)
        self.subscriptions[path] = (made, application_key)
        return made

    def pushes_to(self, subscription: Subscription) -> list[dict[str, Any]]:
        """Return what a browser was pushed, decrypted with its keys."""
        mine = [one for one in self.taken if subscription.endpoint.endswith(one.path)]
        return [subscription.decrypt(one.body) for one in mine]

    def next_push(self, subscription: Subscription, kind: str) -> dict[str, Any]:
        """Wait for a push of a kind."""
        found: list[dict[str, Any]] = wait_for(
            lambda: [p for p in self.pushes_to(subscription) if p["type"] == kind]
        )
        return found[-1]

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        if self.answers:
            return self.answers.pop(0)
        if path not in self.subscriptions:
            return 410
        try:
            claims = self._check(path, headers, body)
        except (AssertionError, InvalidSignature, ValueError, KeyError) as error:
            self.refused.append(f"{type(error).__name__}: {error}")
            return 403
        self.taken.append(ReceivedPush(path=path, headers=headers, body=body, claims=claims))
        return 201

    def _check(self, path: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
        """Check what RFC 8030, 8188, 8291 and 8292 ask of a push."""
        assert headers["content-encoding"] == "aes128gcm"
        assert int(headers["ttl"]) >= 0
        assert headers["urgency"] in {"very-low", "low", "normal", "high"}
        assert len(headers["topic"]) <= 32
        assert set(headers["topic"]) <= set(ALPHABET)
        assert len(body) <= 4096
        kind, _, rest = headers["authorization"].partition(" ")
        parts = dict(part.strip().split("=", 1) for part in rest.split(","))
        assert kind == "vapid"
        assert parts["k"].rstrip("=") == self.subscriptions[path][1]
        claims = read_token(parts["t"], parts["k"])
        assert claims["aud"] == self.url
        assert 0 < claims["exp"] - self.clock() <= 24 * 3600
        assert claims.get("sub", "https:").startswith(("mailto:", "https:"))
        return claims


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def read_token(token: str, key: str) -> dict[str, Any]:
    """Check a JWT's ES256 signature and return its claims."""
    head, claims, signature = token.split(".")
    assert json.loads(raw(head))["alg"] == "ES256"
    signed = raw(signature)
    number = encode_dss_signature(
        int.from_bytes(signed[:32], "big"), int.from_bytes(signed[32:], "big")
    )
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw(key))
    public.verify(number, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    payload: dict[str, Any] = json.loads(raw(claims))
    return payload


@contextmanager
def a_push_service():
    """Serve on loopback; its host must be among MISSIONCONTROL_NOTIFY_HOSTS."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(service.take(self.path, headers, body))
            if service.retry_after:
                self.send_header("Retry-After", service.retry_after)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = PushService(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()


def text(raw_bytes: bytes) -> str:
    return base64.urlsafe_b64encode(raw_bytes).rstrip(b"=").decode()


def raw(encoded: str) -> bytes:
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
