"""The ASGI application: thin endpoints, sockets, and Django for the rest.

It runs on any ASGI server: Daphne is the default, Uvicorn is faster on the thin paths.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from importlib import import_module
from threading import Thread
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
os.environ.setdefault("MISSIONCONTROL_ROLE", "web")

import django
from django.conf import settings

django.setup()

from missioncontrol.api import agents, endpoint, hooks  # noqa: E402
from missioncontrol.api.django_app import DjangoApplication  # noqa: E402
from missioncontrol.api.otlp import serving as otlp  # noqa: E402
from missioncontrol.detection import tasks  # noqa: E402
from missioncontrol.errors import BodyTooLarge, TooManyRequests, Unavailable, WrongMethod  # noqa: E402
from missioncontrol.live import serve_socket  # noqa: E402

django_application = DjangoApplication()

RUN = r"^/api/v1/runs/(?P<run>[0-9a-f-]{32,36})"
THIN_ROUTES: tuple[tuple[str, re.Pattern[str], endpoint.Handler], ...] = (
    ("POST", re.compile(rf"{RUN}/turns/$"), agents.post_turns),
    ("GET", re.compile(rf"{RUN}/directive/$"), agents.get_directive),
    ("POST", re.compile(rf"{RUN}/presence/$"), agents.post_presence),
    ("POST", re.compile(r"^/api/v1/hooks/(?P<client>[a-z-]{1,40})/$"), hooks.handle_hook),
    ("POST", re.compile(r"^/v1/(?P<signal>traces|logs|metrics)/?$"), otlp.receive_telemetry),
)

# Addresses with one method; `turns/` has a second one, which Django answers.
SINGLE_METHOD_ROUTES = THIN_ROUTES[1:]


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Route by protocol, method and path."""
    if scope["type"] == "websocket":
        await serve_socket(scope, receive, send)
        return
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    if scope["type"] != "http":
        raise ValueError(f"no application for {scope['type']}")
    releases: list[endpoint.ReleaseSlot] = []
    try:
        if not IS_DAPHNE:
            receive = endpoint.limit_request(scope, receive, releases)
        for method, path, handler in THIN_ROUTES:
            if scope["method"] == method and (found := path.match(scope["path"])):
                await endpoint.serve(handler, found.groupdict(), scope, receive, send)
                return
        # Otherwise Django would answer with a screen.
        if methods := [
            method for method, path, _ in SINGLE_METHOD_ROUTES if path.match(scope["path"])
        ]:
            wrong = WrongMethod(scope["method"], allowed=methods[0])
            await endpoint.send_error(wrong, scope, send)
            return
        await django_application(scope, receive, send)
    except (BodyTooLarge, TooManyRequests, Unavailable) as error:
        await endpoint.send_error(error, scope, send)
    finally:
        for release in releases:
            release()


async def lifespan(receive: Any, send: Any) -> None:
    """When the server starts, tell screens again what a killed process may have told nobody.

    Uvicorn reports its start; Daphne has no `lifespan`.
    """
    kind = ""
    while kind != "lifespan.shutdown":
        kind = (await receive())["type"]
        if kind == "lifespan.startup":
            republish_in_thread()
        await send({"type": f"{kind}.complete"})


def republish_in_thread() -> None:
    """Do it in a thread: a broker that does not answer must not keep a server from serving."""
    Thread(target=tasks.request_republishing, daemon=True).start()


# If Daphne runs us, it has not opened its sockets yet, and can still take our request classes.
IS_DAPHNE = "daphne.server" in sys.modules
if IS_DAPHNE:
    from missioncontrol.api import daphne_requests

    daphne_requests.install()
    republish_in_thread()

import_module(settings.ROOT_URLCONF)
# Reduces pauses of 108 to 219 ms to 36 to 48.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 50)
# A tap's thread asks for the interpreter after each of its queries; with a crowd on the event loop
# it would wait 5 ms each time.
sys.setswitchinterval(0.0005)
