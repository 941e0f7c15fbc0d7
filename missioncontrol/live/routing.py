"""Socket addresses."""

from __future__ import annotations

import re
from typing import Any

from missioncontrol.live.consumers import NOT_YOURS, BoardConsumer, RunConsumer

ADDRESSES = (
    # With and without hyphens, as a UUID may be written.
    (re.compile(r"^/ws/projects/(?P<id>[0-9a-f-]{32,36})/$"), BoardConsumer.as_asgi()),
    (re.compile(r"^/ws/runs/(?P<id>[0-9a-f-]{32,36})/$"), RunConsumer.as_asgi()),
)


async def sockets(scope: Any, receive: Any, send: Any) -> None:
    """Serve a socket; an unknown address is accepted and closed with 4403."""
    for address, consumer in ADDRESSES:
        found = address.match(scope["path"])
        if found:
            await consumer({**scope, "path_params": found.groupdict()}, receive, send)
            return
    # Refused in the handshake, a browser could not read why.
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": NOT_YOURS})
