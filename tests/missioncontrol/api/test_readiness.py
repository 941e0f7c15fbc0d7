"""A probe pings the worker; simultaneous probes ping it once."""

import subprocess

import pytest
from redis import Redis

from missioncontrol.api.views import instance
from missioncontrol.api.views.instance import Readiness, check_passes
from missioncontrol.up import valkey


def test_simultaneous_probes_run_the_checks_once():
    looks = []
    readiness = Readiness({"worker": lambda: looks.append("a ping") is None})

    found = [readiness.look() for _ in range(5)]

    assert (found, looks) == ([{"worker": True}] * 5, ["a ping"])


def test_an_unreachable_part_is_not_ready():
    readiness = Readiness({"database": lambda: 1 / 0 > 0, "broker": lambda: True})

    assert readiness.look() == {"database": False, "broker": True}


@pytest.fixture
def own_broker(tmp_path, settings):
    """Return a client of a broker that the views ask, and nobody else."""
    at = tmp_path / "v.sock"
    with subprocess.Popen(valkey.command(valkey.find_valkey(), socket_path=at)) as server:
        assert valkey.wait_until_answering(at, timeout_s=60)
        settings.BROKER_URL = valkey.url_of(at)
        with Redis(unix_socket_path=str(at)) as client:
            yield client
        server.terminate()


@pytest.mark.parametrize("is_full", [False, True])
def test_a_broker_that_accepts_writes_is_ready(own_broker, is_full):
    if is_full:
        own_broker.config_set("maxmemory", 1)

    assert check_passes(instance.is_broker_ready) is not is_full


def test_a_replica_broker_is_not_ready(own_broker):
    own_broker.replicaof("127.0.0.1", 9)

    assert not check_passes(instance.is_broker_ready)
