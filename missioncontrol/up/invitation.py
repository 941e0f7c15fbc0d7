"""Make the links and keys a start hands out. Needs Django to be up."""

from __future__ import annotations

from missioncontrol import clock
from missioncontrol.accounts import services
from missioncontrol.up import addresses, processes
from missioncontrol.up.greeting import Greeting
from missioncontrol.up.options import Options
from missioncontrol.up.places import DataDir
from missioncontrol.up.supervisor import Command
from missioncontrol.up.tenants import Tenancy, ensure_demo, ensure_tenancy


def invite(data: DataDir, asked: Options, url: str) -> tuple[Greeting, list[Command]]:
    """Return what to print, and the processes to start once it serves."""
    tenancy = ensure_tenancy(data, at=clock.now())
    greeting = Greeting(
        url=url,
        project=str(tenancy.project),
        agent_key=tenancy.agent_key,
        login_url=_link(tenancy, asked.public_url or url, on_get=asked.json),
        data=data.path,
        demo=asked.demo,
        phone_url=_phone_link(tenancy, asked, url),
    )
    return greeting, _demo(data, asked, tenancy, url)


def _link(tenancy: Tenancy, base: str, *, on_get: bool = False) -> str:
    link = services.mint_login_link(user=tenancy.owner, at=clock.now(), on_get=on_get)
    return f"{base}/login/{link.secret}/"


def _phone_link(tenancy: Tenancy, asked: Options, url: str) -> str | None:
    """A phone needs an address of the network, and a link of its own."""
    address = addresses.lan_address() if asked.lan and not asked.json else None
    if address is None:
        return None
    port = url.rsplit(":", 1)[-1]
    return _link(tenancy, asked.public_url or f"http://{address}:{port}")


def _demo(data: DataDir, asked: Options, tenancy: Tenancy, url: str) -> list[Command]:
    if not asked.demo:
        return []
    keys = ensure_demo(data, owner=tenancy.owner, at=clock.now())
    return [processes.demo(data, url=url, keys=keys, model_url=asked.demo_model)]
