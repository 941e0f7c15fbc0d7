"""Make the first person, project and key, and the links a start hands out. Needs Django."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User

from missioncontrol import clock, extras
from missioncontrol.accounts import certificates, selectors, services
from missioncontrol.accounts.models import AgentKey, Reach
from missioncontrol.projects.demo import start_demo
from missioncontrol.up.banner import Banner
from missioncontrol.up.data_dir import DataDir, write_private
from missioncontrol.up.options import Options

FIRST_PROJECT = "My project"
KEY_FILE = "agent.key"


def _ensure_key(data: DataDir, *, owner: User, at: datetime) -> tuple[AgentKey, str]:
    """Return the key in DIR/agent.key; one that is over is replaced by a new one."""
    kept = data.read_secret(KEY_FILE)
    # The same key at every start: agents that are connected stay so.
    if kept and (known := selectors.find_agent_key(kept, at=at)):
        return known, kept
    # The first project may have been renamed: then any of theirs will do.
    if found := selectors.find_project_owned_by(owner, name=FIRST_PROJECT):
        project = found
    elif mine := selectors.memberships_of(owner).first():
        project = mine.project
    else:
        project = services.create_project(name=FIRST_PROJECT, owner=owner, at=at)
    if kept:
        # Agents know this key: with another database under it, it goes on being theirs.
        adopted = services.adopt_agent_key(project=project, name=KEY_FILE, secret=kept, at=at)
        if selectors.live_keys(at=at).filter(pk=adopted.pk).exists():
            return adopted, kept
    # It speaks for every run of the project: all agents of this machine share it.
    minted = services.mint_agent_key(project=project, name=KEY_FILE, at=at, reach=Reach.PROJECT)
    write_private(data.path / KEY_FILE, minted.secret)
    return minted.row, minted.secret


def invite(
    data: DataDir, asked: Options, url: str, *, page_url: str, phone_url: str = ""
) -> Banner:
    """Return what to print; `--demo` asks for its agents as the browser does."""
    owner = services.ensure_local_owner()
    key, secret = _ensure_key(data, owner=owner, at=clock.now())
    if asked.demo:
        extras.ask_for_demo(data.path, None)  # whosever it was: this machine's person asks
        start_demo(owner, at=clock.now())
    # A phone needs an address of the network, and a link of its own; a script neither.
    is_for_phones = phone_url and (asked.lan or asked.https) and not asked.json
    return Banner(
        url=url,
        project=str(key.project_id),
        agent_key=secret,
        login_url=_link(owner, asked.public_url or page_url, on_get=asked.json),
        data=data.path,
        demo=asked.demo,
        is_open=asked.lan,
        phone_url=_link(owner, phone_url) if is_for_phones else None,
        https_url=phone_url if asked.https else None,
        fingerprint=certificates.fingerprint(data.path) if asked.https else None,
    )


def _link(owner: User, base: str, *, on_get: bool = False) -> str:
    link = services.mint_login_link(user=owner, at=clock.now(), on_get=on_get)
    return f"{base}/login/{link.secret}/"
