"""Make the first person, project and key, and print how to get in. Needs Django."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

import segno
from django.contrib.auth.models import User

from guard.connect.command import forwarder
from missioncontrol import clock, extras
from missioncontrol.accounts import selectors, services
from missioncontrol.accounts.models import AgentKey, Reach
from missioncontrol.accounts.tokens import digest
from missioncontrol.projects.rules import start_demo
from missioncontrol.up.addresses import OWN_HOST
from missioncontrol.up.data_dir import DataDir
from missioncontrol.up.frontend import is_checkout
from missioncontrol.up.options import Options

FIRST_PROJECT = "My project"
KEY_FILE = "agent.key"
CERTIFICATE_NOTE = """
  The certificate is this machine's own: the phone warns once. Settings,
  Devices says how to trust it; push and installing need that. Its SHA-256:
  {fingerprint}
"""
LAN_WARNING = """
  HTTP on port {port} is open to your local network too (--lan): others in it can
  read what passes there, agents' keys included.
"""
PLAIN_HTTP_WARNING = """
  This is HTTP on your local network: others in it can read what passes, this
  link and the agent key included. Use it in a network you trust, or start with
  --https (docs/operating.md).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """Where it serves and how to get in. Every link signs in once."""

    url: str
    project: str
    agent_key: str
    login_url: str
    data: Path
    demo: bool = False
    is_open: bool = False
    """Whether HTTP is open on all addresses of this machine."""
    phone_url: str | None = None
    https_url: str | None = None
    fingerprint: str | None = None

    def as_json(self) -> str:
        """Return the one line of `--json`."""
        # Left out instead of null, because scripts check whether it is there.
        secure = {"https_url": self.https_url} if self.https_url else {}
        return json.dumps(
            {
                "url": self.url,
                "project": self.project,
                "agent_key": self.agent_key,
                "login_url": self.login_url,
                # For scripts that end it: the supervisor ends its children too.
                "pid": os.getpid(),
                **secure,
            }
        )

    def write_for_person(self, out: TextIO) -> None:
        """Write what a person needs next."""
        guard, where = "uv run --no-dev guard", "in this folder"
        if not is_checkout():  # not on PATH if a tool runner installed us
            guard, where = shlex.join(forwarder()), "anywhere"
        # Not every browser resolves names under `localhost` by itself.
        is_named = ".localhost:" in self.login_url
        other = f"; if it is not found, put 127.0.0.1 for {OWN_HOST}" if is_named else ""
        out.write(
            f"\nMission Control serves {self.url}\n\n"
            f"  Sign in   {self.login_url}\n"
            f"            works once, within ten minutes{other}\n"
            f"  Connect   {guard} connect claude-code --url {self.url} --key {self.agent_key}\n"
            f"            {where}, once: every session of yours reports from then on;\n"
            "            this key speaks for every run of the project, one you make for its own\n"
            f"  Data      {self.data}\n"
            "  Stop      Ctrl-C\n"
        )
        if self.demo:
            out.write("\n  Three demo agents start now: a card opens within 20 s.\n")
        if self.phone_url:
            out.write(f"\n  On your phone: {self.phone_url}\n\n")
            # The least error correction: a terminal is sharp, and has no room for a large code.
            segno.make(self.phone_url, error="l", micro=False).terminal(out=out, compact=True)
            is_https = self.fingerprint or self.phone_url.startswith("https://")
            if self.fingerprint:
                out.write(CERTIFICATE_NOTE.format(fingerprint=self.fingerprint))
            if not is_https:
                out.write(PLAIN_HTTP_WARNING)
            elif self.is_open:
                out.write(LAN_WARNING.format(port=self.url.rsplit(":", 1)[-1]))
        out.flush()


def _ensure_agent_key(data: DataDir, *, owner: User, at: datetime) -> tuple[AgentKey, str]:
    """Return the key in DIR/agent.key; an expired one is replaced by a new one."""
    stored = data.read_secret(KEY_FILE)
    # The same key at every start, so that connected agents stay connected.
    if stored and (key := selectors.find_agent_key(stored, at=at)):
        return key, stored
    # If the first project was renamed, any of theirs will do.
    mine = selectors.memberships_of(owner)
    if member := mine.filter(project__name=FIRST_PROJECT).first() or mine.first():
        project = member.project
    else:
        project = services.create_project(name=FIRST_PROJECT, owner=owner, at=at)
    # Agents know the stored key: with another database it stays valid. But a start must not undo
    # that it was revoked, or that it expired.
    has_ended = AgentKey.objects.filter(digest=digest(stored)).exists()
    kept = "" if has_ended else stored
    # It reaches every run of the project, because all agents of this machine share it.
    minted = services.mint_agent_key(
        project=project, name=KEY_FILE, at=at, reach=Reach.PROJECT, secret=kept
    )
    data.write_secret(KEY_FILE, minted.secret)
    return minted.row, minted.secret


def make_banner(
    data: DataDir, options: Options, url: str, *, page_url: str, phone_url: str = ""
) -> Banner:
    """Return what to print; `--demo` asks for its agents as the browser does."""
    owner = services.ensure_local_owner()
    key, secret = _ensure_agent_key(data, owner=owner, at=clock.now())
    if options.demo:
        extras.request_demo(data.path, None)  # end anybody's: this machine's person asks for theirs
        start_demo(owner, at=clock.now())
    # A phone needs an address in the network, and a link of its own; a script needs neither.
    is_for_phones = phone_url and (options.lan or options.https) and not options.json
    return Banner(
        url=url,
        project=str(key.project_id),
        agent_key=secret,
        login_url=_login_url(owner, options.public_url or page_url, on_get=options.json),
        data=data.path,
        demo=options.demo,
        is_open=options.lan,
        phone_url=_login_url(owner, phone_url) if is_for_phones else None,
        https_url=phone_url if options.https else None,
        fingerprint=extras.authority_fingerprint(data.path) if options.https else None,
    )


def _login_url(owner: User, base: str, *, on_get: bool = False) -> str:
    link = services.mint_login_link(user=owner, at=clock.now(), on_get=on_get)
    return f"{base}/login/{link.secret}/"
