"""The proxies of docs/operating.md, run as they stand there, and who comes in through them."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path
from types import SimpleNamespace

from missioncontrol.clock import now
from missioncontrol.up import tls
from tests.installations import ROOT, wait_for

NAME = "mc.example.org"
NGINX = """
{user}
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{recipe}
}}
"""
CADDY = """
{{
    admin off
    auto_https disable_certs
    http_port {plain}
    https_port {port}
    storage file_system {folder}/caddy
}}
{recipe}
"""


def recipe(language: str) -> str:
    """Return the one block of docs/operating.md in a language."""
    text = (ROOT / "docs/operating.md").read_text()
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return str(found)


@contextmanager
def a_proxy(kind: str, folder: Path, backend: str):
    """Run a proxy by its recipe: only ports and the certificate are of this test."""
    files = tls.ensure_certificate(folder, names=[NAME], at=now())
    ports = {"port": a_free_port(), "plain": a_free_port()}
    write = {"nginx": nginx, "caddy": caddy}[kind]
    command = write(folder, files, backend, **ports)
    quiet = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (folder / "said").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env=quiet)
    try:
        wait_for(lambda: running.poll() is not None or listens(ports["port"]))
        assert running.poll() is None, (folder / "said").read_text()
        yield SimpleNamespace(kind=kind, authority=files.authority, folder=folder, **ports)
    finally:
        running.terminate()
        running.wait(timeout=30)


def nginx(
    folder: Path, files: tls.CertificateFiles, backend: str, *, port: int, plain: int
) -> list[str]:
    ours = (
        recipe("nginx")
        .replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
        .replace("listen 80", f"listen 127.0.0.1:{plain}")
        .replace("http://127.0.0.1:8765", backend)
    )
    ours = re.sub(r"(ssl_certificate +)\S+;", rf"\g<1>{files.chain};", ours)
    ours = re.sub(r"(ssl_certificate_key +)\S+;", rf"\g<1>{files.key};", ours)
    # Its workers leave root for somebody who may not write in a test's own folder.
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, recipe=ours, user=user))
    return [str(program("nginx")), "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(
    folder: Path, files: tls.CertificateFiles, backend: str, *, port: int, plain: int
) -> list[str]:
    ours = recipe("caddy").replace("127.0.0.1:8765", backend.removeprefix("http://"))
    ours = ours.replace("{\n", f"{{\n    tls {files.chain} {files.key}\n", 1)
    caddyfile = CADDY.format(folder=folder, recipe=ours, port=port, plain=plain)
    (folder / "Caddyfile").write_text(caddyfile)
    config = str(folder / "Caddyfile")
    return [str(program("caddy")), "run", "--adapter", "caddyfile", "--config", config]


def program(name: str) -> str | None:
    """Find a server's program; Debian keeps some out of people's PATH."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def a_free_port() -> int:
    """Find a port that nobody has; below those that the kernel gives to connections."""
    for port in random.sample(range(20_000, 32_000), 1000):
        if not listens(port):
            return port
    raise AssertionError("every port is taken")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Visitor:
    """Somebody who comes by the public name, trusts its certificate, and keeps cookies."""

    def __init__(self, proxy: SimpleNamespace, **headers: str) -> None:
        self.proxy, self.headers = proxy, headers
        self.cookies: dict[str, str] = {}
        self.context = ssl.create_default_context(cafile=proxy.authority)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> SimpleNamespace:
        wire = http.client.HTTPSConnection(NAME, context=self.context, timeout=60)
        vars(wire)["_create_connection"] = lambda *_: self.wire()
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **self.headers, **headers}
        if self.cookies:
            given["Cookie"] = self.cookie
        wire.request(method, path, data, given)
        response = wire.getresponse()
        text = response.read().decode()
        wire.close()
        self._keep(response.headers.get_all("Set-Cookie") or [])
        return SimpleNamespace(status=response.status, headers=response.headers, text=text)

    def write(self, method: str, path: str, body: object) -> SimpleNamespace:
        """Write as the page does."""
        token = self.cookies["__Host-mc_csrf"]
        return self.ask(method, path, body, **{"X-CSRFToken": token, "Origin": f"https://{NAME}"})

    def wire(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.proxy.port), timeout=60)

    @property
    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _keep(self, lines: list[str]) -> None:
        for line in lines:
            self.cookies |= {name: one.value for name, one in SimpleCookie(line).items()}
