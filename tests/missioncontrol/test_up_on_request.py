"""What an owner turns on in the browser, started by a real `up` and ended again."""

import json
import socket
import ssl
import urllib.request

import pytest

from tests.installations import an_installation, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with an_installation(tmp_path_factory.mktemp("asked") / "data") as started:
        yield started


@pytest.fixture
def closed(running):
    """The same installation, closed to its network whatever a test before did."""
    send(running, "PATCH", "/api/v1/devices/reach/", {"is_open": False})
    wait_for(lambda: len(web_processes(running)) == 1)
    return running


def web_processes(running):
    return [pid for pid, line in running.processes().items() if "daphne" in line]


def send(running, method, path, body):
    """Write as the signed-in person, from the page's own origin."""
    token = {**running.cookies()}.get("mc_csrf") or csrf_of(running)
    request = urllib.request.Request(
        running.url + path,
        method=method,
        data=json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "X-CSRFToken": token,
            "Origin": running.url,
        },
    )
    with running._signed_in().open(request) as answer:
        return answer.status


def csrf_of(running):
    running.get("/api/v1/me/")
    return running.cookies()["mc_csrf"]


def door(running):
    return running.get("/api/v1/devices/reach/")


def answers_https(url):
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(f"{url}/healthz", context=trusting) as answer:
        return answer.status == 200


def test_https_opens_while_it_runs_and_closes_again(closed):
    running = closed
    assert door(running)["door"] == "closed"

    assert send(running, "PATCH", "/api/v1/devices/reach/", {"is_open": True}) == 200
    opened = wait_for(lambda: door(running) if door(running)["door"] == "open" else None)

    assert answers_https(opened["url"])
    assert opened["certificate"]
    web = running.pid_of("fd:fileno=")

    send(running, "PATCH", "/api/v1/devices/reach/", {"is_open": False})
    port = int(opened["url"].rsplit(":", 1)[1])
    wait_for(lambda: not listens(port))
    assert running.pid_of("fd:fileno=") == web  # nobody on loopback was interrupted


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_demo_runs_while_it_is_requested(running):
    assert send(running, "POST", "/api/v1/demo/", {}) == 202
    wait_for(lambda: running.pid_of("missioncontrol.demo"))
    wait_for(lambda: running.get("/api/v1/runs/")["results"])

    assert send(running, "DELETE", "/api/v1/demo/", {}) == 204

    wait_for(lambda: running.pid_of("missioncontrol.demo") is None)
    assert running.get("/api/v1/me/")["demo"] == "off"


def test_phone_access_is_open_again_after_a_restart(closed):
    running = closed
    send(running, "PATCH", "/api/v1/devices/reach/", {"is_open": True})
    wait_for(lambda: door(running)["door"] == "open")

    with running.away():
        pass

    wait_for(lambda: door(running)["door"] == "open")
    assert answers_https(door(running)["url"])


def test_a_taken_port_is_reported_and_nothing_else_breaks(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with an_installation(tmp_path / "data", "--port", "0", "--https-port", port) as started:
            send(started, "PATCH", "/api/v1/devices/reach/", {"is_open": True})
            failed = wait_for(lambda: door(started) if door(started)["door"] == "failed" else None)

            assert f"Port {port} on 0.0.0.0 is taken" in failed["door_problem"]
            assert started.get("/api/v1/me/")
