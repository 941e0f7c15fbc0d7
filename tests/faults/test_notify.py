"""What `kill -9` and many workers may cost a delivery: time, never a second one by rule."""

import json
import os
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.contract.conversation import an_agent_of, the_person_of
from tests.e2e.stuck import StuckRun
from tests.installations import PATIENCE_S, ROOT, an_installation, read_proc, wait_for

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    place = tmp_path_factory.mktemp("notify")
    with an_installation(place, MISSIONCONTROL_NOTIFY_HOSTS="127.0.0.1") as installation:
        wait_for(lambda: installation.pid_of("=worker@"))
        yield installation


@pytest.fixture
def person(running):
    return the_person_of(running)


@pytest.fixture
def receiver():
    """A web hook that keeps what it heard; while `shut`, it takes the call and says nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.received.append({**body, "path": self.path})
            self.server.opened.wait(PATIENCE_S)
            self.send_response(204)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

        def handle(self):
            try:
                super().handle()
            except OSError:
                return  # who called was killed

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.received, server.opened = [], threading.Event()
        server.opened.set()
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.opened.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def a_channel(running, person):
    """Return a maker of channels, which are removed again."""
    made = []

    def add(url, **fields):
        asked = {"kind": "webhook", "name": "ops", "address": url, "project": running.project}
        response = person.ask("POST", "/api/v1/channels/", {**asked, **fields})
        assert response.status == 201, response.json
        made.append(response.json["id"])
        return response.json["id"]

    yield add
    for channel in made:
        person.ask("DELETE", f"/api/v1/channels/{channel}/")


@pytest.fixture
def second_worker(running):
    """Another worker beside the one of `up`, with the same settings."""
    pid = wait_for(lambda: running.pid_of("=worker@"))
    argv = [part.decode() for part in read_proc(pid, "cmdline").split(b"\0") if part]
    pairs = [part.split(b"=", 1) for part in read_proc(pid, "environ").split(b"\0") if b"=" in part]
    own = {name.decode(): value.decode() for name, value in pairs}
    process = subprocess.Popen(
        argv, cwd=ROOT, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    yield process
    process.terminate()
    process.wait(timeout=PATIENCE_S)


def settled(person, decision):
    rows = person.get(f"/api/v1/deliveries/?decision={decision}")["results"]
    return rows if rows and all(row["status"] != "waiting" for row in rows) else None


def test_a_delivery_whose_worker_was_killed_in_the_middle_is_made_again(
    running, person, receiver, a_channel
):
    a_channel(receiver.url)
    receiver.opened.clear()
    run = StuckRun.begin(an_agent_of(running), person, "killed")
    wait_for(lambda: receiver.received)

    workers = [pid for pid, line in running.processes().items() if " worker " in line]
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    receiver.opened.set()

    (row,) = wait_for(lambda: settled(person, run.card["id"]))
    first, again = receiver.received
    assert (row["status"], row["tries"]) == ("sent", 2)
    assert first["delivery"] == again["delivery"] == row["id"]


def test_two_workers_deliver_to_each_channel_once(
    running, person, receiver, a_channel, second_worker
):
    for number in range(12):
        a_channel(f"{receiver.url}/{number}", name=f"ops {number}")
    runs = [StuckRun.begin(an_agent_of(running), person, f"shared {n}") for n in range(4)]

    for run in runs:
        rows = wait_for(lambda one=run: settled(person, one.card["id"]))
        assert [row["status"] for row in rows] == ["sent"] * 12
        assert [row["tries"] for row in rows] == [1] * 12

    sent = [(message["decision"], message["path"]) for message in receiver.received]
    assert second_worker.poll() is None
    assert len(sent) == len(set(sent)) == 48


def test_a_real_worker_sends_a_later_step_when_nobody_answers(running, person, receiver, a_channel):
    a_channel(f"{receiver.url}/first", name="first")
    a_channel(f"{receiver.url}/boss", name="boss", step_minutes=1)
    a_channel(f"{receiver.url}/late", name="late", step_minutes=2)
    run = StuckRun.begin(an_agent_of(running), person, "unanswered")

    wait_for(lambda: len(receiver.received) > 1)
    run.answer("continue")
    rows = wait_for(lambda: settled(person, run.card["id"]))

    assert [message["path"] for message in receiver.received] == ["/first", "/boss"]
    assert receiver.received[1]["title"].startswith("Still paused: unanswered")
    assert {row["target"]: row["status"] for row in rows} == {
        "first": "sent",
        "boss": "sent",
        "late": "withdrawn",
    }
