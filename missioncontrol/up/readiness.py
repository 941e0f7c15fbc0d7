"""Wait until the web process answers."""

from __future__ import annotations

import http.client
import time
from urllib.parse import urlsplit

from missioncontrol.up.errors import ChildSilent
from missioncontrol.up.supervisor import Supervisor

# Long: a first start on a busy machine takes minutes, and one that died is told at once.
START_LIMIT_S = 300.0


def wait_until_serving(
    supervisor: Supervisor,
    url: str,
    *,
    must_live: tuple[str, ...],
    limit_s: float = START_LIMIT_S,
) -> bool:
    """Wait for the first answer; False if somebody asked to stop meanwhile.

    The listening socket is open already, so the first request waits in its queue
    and is answered the moment the web process takes over: no polling delay.

    Raises:
        ChildFailed: One of the processes named died.
        ChildSilent: Nothing answered in time.
    """
    deadline = time.monotonic() + limit_s
    while not is_serving(url):
        # Web may die of a broken setting: that is told at once, not after minutes.
        for name in must_live:
            supervisor.must_run(name)
        if supervisor.is_stopping:
            return False
        if time.monotonic() > deadline:
            raise ChildSilent("web", supervisor.log_of("web"), limit_s)
    return True


def is_serving(url: str, *, timeout_s: float = 3.0) -> bool:
    """Say whether the liveness probe answers 200."""
    target = urlsplit(url)
    asked = http.client.HTTPConnection(target.hostname or "", target.port or 80, timeout=timeout_s)
    try:
        asked.request("GET", "/healthz")
        return asked.getresponse().status == http.HTTPStatus.OK
    except (TimeoutError, OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
