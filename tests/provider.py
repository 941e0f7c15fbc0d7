"""Identity providers on loopback: a real one in a process of its own, and one that lies."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.installations import wait_for

CLIENT = "mission-control"
SECRET = "s3cret of ours = & such"


class Provider:
    """oidc-provider-mock: discovery, consent, tokens signed by RS256, userinfo."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def knows(self, subject: str, **claims: object) -> None:
        """Have it say this of somebody from now on."""
        self._call("PUT", f"/users/{subject}", json.dumps(claims).encode(), "application/json")

    def agree(self, url: str, subject: str) -> str:
        """Sign in there as somebody and agree; returns where the browser is sent back to."""
        return str(self._call("POST", url, f"sub={subject}".encode()).headers["Location"])

    def deny(self, url: str) -> str:
        return str(self._call("POST", url, b"action=deny").headers["Location"])

    def _call(
        self, method: str, url: str, body: bytes, kind: str = "application/x-www-form-urlencoded"
    ) -> Any:
        place = url if url.startswith("http") else f"{self.issuer}{url}"
        asked = urllib.request.Request(place, body, {"Content-Type": kind}, method=method)
        try:
            return urllib.request.build_opener(_Stay).open(asked)
        except urllib.error.HTTPError as answer:
            if answer.code not in {301, 302, 303}:
                raise
            return answer


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


@contextmanager
def a_provider() -> Iterator[Provider]:
    """Start a real provider, and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "-p", str(port)]
    with subprocess.Popen(
        [*command, "--require-nonce", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            provider = Provider(f"http://127.0.0.1:{port}")
            wait_for(lambda: _answers(provider, process))
            yield provider
        finally:
            process.terminate()


def _answers(provider: Provider, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "the provider ended"
    try:
        urllib.request.urlopen(f"{provider.issuer}/jwks").close()
    except OSError:
        return False
    return True


@cache
def a_key(_which: int = 0) -> rsa.RSAPrivateKey:
    """Return a provider's key; made once, as it takes longer than most tests."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class ForgingProvider(ThreadingHTTPServer):
    """Answers as a provider does; a test changes what its tokens and its answers say."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _ForgingHandler)
        self.issuer = f"http://127.0.0.1:{self.server_address[1]}"
        self.key = a_key()
        self.overrides: dict[str, Any] = {}
        """Claims that differ from what is right; None leaves one out."""
        self.configured: dict[str, Any] = {}
        self.userinfo: dict[str, Any] = {}
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.nonce = ""
        self.forms: list[dict[str, list[str]]] = []

    def signed(self, claims: dict[str, Any], **options: Any) -> str:
        return jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "1"}, **options)

    def claims(self) -> dict[str, Any]:
        at = int(time.time())
        right = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "somebody",
            "nonce": self.nonce,
            "iat": at,
            "exp": at + 300,
            "auth_time": at,
        }
        claims = right | self.overrides
        return {name: value for name, value in claims.items() if value is not None}

    def answer(self, path: str) -> dict[str, Any]:
        if path.startswith("/.well-known/"):
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/jwks",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            } | self.configured
        if path == "/jwks":
            public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
            return {"keys": [{**public, "kid": "1", "alg": "RS256", "use": "sig"}]}
        if path == "/userinfo":
            return {"sub": "somebody", **self.userinfo}
        return {"access_token": "a", "token_type": "Bearer", "id_token": self.sign(self.claims())}


class _ForgingHandler(BaseHTTPRequestHandler):
    server: ForgingProvider

    def do_GET(self) -> None:
        body = json.dumps(self.server.answer(self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.forms.append(parse_qs(body.decode()))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def a_forging_provider() -> Iterator[ForgingProvider]:
    """Let one listen for as long as the block lasts."""
    with ForgingProvider() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.005,))
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
