"""Make the links and keys a start hands out. Needs Django to be up."""

from __future__ import annotations

from missioncontrol import clock, extras
from missioncontrol.accounts import certificates, services
from missioncontrol.projects.demo import start_demo
from missioncontrol.up.banner import Banner
from missioncontrol.up.data_dir import DataDir
from missioncontrol.up.options import Options
from missioncontrol.up.tenants import Tenancy, ensure_tenancy


def invite(
    data: DataDir, asked: Options, url: str, *, page_url: str, phone_url: str = ""
) -> Banner:
    """Return what to print; `--demo` asks for its agents as the browser does."""
    tenancy = ensure_tenancy(data, at=clock.now())
    if asked.demo:
        extras.ask_for_demo(data.path, None)  # whosever it was: this machine's person asks
        start_demo(tenancy.owner, at=clock.now())
    return Banner(
        url=url,
        project=str(tenancy.project),
        agent_key=tenancy.agent_key,
        login_url=_link(tenancy, asked.public_url or page_url, on_get=asked.json),
        data=data.path,
        demo=asked.demo,
        is_open=asked.lan,
        phone_url=_link(tenancy, phone_url) if _is_for_phones(asked, phone_url) else None,
        https_url=phone_url if asked.https else None,
        fingerprint=certificates.fingerprint(data.path) if asked.https else None,
    )


def _link(tenancy: Tenancy, base: str, *, on_get: bool = False) -> str:
    link = services.mint_login_link(user=tenancy.owner, at=clock.now(), on_get=on_get)
    return f"{base}/login/{link.secret}/"


def _is_for_phones(asked: Options, phone_url: str) -> bool:
    """A phone needs an address of the network, and a link of its own; a script neither."""
    return bool(phone_url) and (asked.lan or asked.https) and not asked.json
