"""The web process as `up` starts it, before an application that sends a lot, or half of it."""

import os
import socket
import subprocess
from contextlib import suppress

import pytest
from websockets.sync.client import connect

from missioncontrol.up import processes
from missioncontrol.up.data_dir import DataDir
from tests.installations import ROOT

LARGE = 8 * 1024 * 1024
APPLICATION = f"""
import missioncontrol.asgi

async def application(scope, receive, send):
    if scope["type"] == "http":
        await send({{"type": "http.response.start", "status": 200, "headers": []}})
        await send({{"type": "http.response.body", "body": b"half", "more_body": True}})
        raise LookupError("the other half")
    await send({{"type": "websocket.accept"}})
    await send({{"type": "websocket.send", "text": "x" * {LARGE}}})
    while (await receive())["type"] != "websocket.disconnect":
        pass
"""


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    place = tmp_path_factory.mktemp("web")
    (place / "large.py").write_text(APPLICATION)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = processes.web(DataDir(place), listener)
        argv = [*command.argv[:-1], "large:application"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{place}"}
        serving = subprocess.Popen(argv, env=environment, pass_fds=command.pass_fds)
        yield listener.getsockname()[1]
        serving.terminate()
        serving.wait()


def test_a_board_of_many_megabytes_reaches_the_screen(port):
    with connect(f"ws://127.0.0.1:{port}/", max_size=None, open_timeout=60) as screen:
        assert len(screen.recv(timeout=60)) == LARGE


def test_a_response_that_breaks_off_closes_its_connection(port):
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as caller:
            caller.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            heard = b""
            with suppress(ConnectionResetError):
                while piece := caller.recv(4096):
                    heard += piece

        assert heard.startswith(b"HTTP/1.1 200")
        assert not heard.endswith(b"0\r\n\r\n")
