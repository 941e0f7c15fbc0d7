"""The web process as `up` starts it, before an application that sends a lot."""

import socket
import subprocess

import pytest
from websockets.sync.client import connect

from missioncontrol.up import processes
from missioncontrol.up.data_dir import DataDir

LARGE = 8 * 1024 * 1024
APPLICATION = f"""
async def application(scope, receive, send):
    await send({{"type": "websocket.accept"}})
    await send({{"type": "websocket.send", "text": "x" * {LARGE}}})
    while (await receive())["type"] != "websocket.disconnect":
        pass
"""


@pytest.fixture
def port(tmp_path):
    (tmp_path / "large.py").write_text(APPLICATION)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = processes.web(DataDir(tmp_path), listener)
        argv = [*command.argv[:-1], "large:application"]
        serving = subprocess.Popen(argv, cwd=tmp_path, pass_fds=command.pass_fds)
        yield listener.getsockname()[1]
        serving.terminate()
        serving.wait()


def test_a_board_of_many_megabytes_reaches_its_screen(port):
    with connect(f"ws://127.0.0.1:{port}/", max_size=None, open_timeout=60) as screen:
        assert len(screen.recv(timeout=60)) == LARGE
