"""A web process dies under two hundred open screens, and another serves beside it."""

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys

import pytest
from redis import Redis
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.contract.conversation import a_turn, an_agent_of
from tests.installations import PATIENCE_S, ROOT, an_installation, read_proc, wait_for

pytestmark = pytest.mark.faults
SCREENS = 200
AWAY = (OSError, WebSocketException)


@pytest.fixture
def server(tmp_path):
    with an_installation(tmp_path) as running:
        yield running


class Screen:
    """Listens to the board; cut off, it comes back as `backoff.ts` has it."""

    def __init__(self, running, *, port=None):
        place = running.url.replace("http", "ws", 1)
        self._at = f"{place}/ws/projects/{running.project}/"
        if port:
            self._at = self._at.replace(running.url.rsplit(":", 1)[1], str(port))
        cookies = running.cookies().items()
        self._headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies)}
        self.snapshots, self.received = 0, []

    async def watch(self):
        attempt = 0
        while True:
            try:
                await self._listen()
            except AWAY:
                least, most = (0.05, 0.5) if attempt == 0 else (0.25, 1.0)
                attempt += 1
                await asyncio.sleep(random.uniform(least, most))  # noqa: S311 - to spread them

    async def _listen(self):
        origin = self._at.replace("ws", "http", 1).split("/ws/")[0]
        how = {"additional_headers": self._headers, "origin": origin, "max_size": None}
        async with connect(self._at, **how, open_timeout=PATIENCE_S) as line:
            async for text in line:
                frame = json.loads(text)
                self.snapshots += frame["type"] == "snapshot"
                self.received += [event["type"] for event in frame.get("events", [frame])]


async def until(claim):
    while not claim():  # noqa: ASYNC110 - it asks several screens
        await asyncio.sleep(0.05)


async def ended(tasks):
    """Let each close its line: the end of the loop would cancel it once more in between."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def environment_of(running):
    words = read_proc(running.pid_of("daphne"), "environ").decode().split("\0")
    return dict(pair.split("=", 1) for pair in words if "=" in pair)


def a_free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_hundred_screens_come_back_when_the_web_process_was_killed(server):
    agent = an_agent_of(server)
    run = agent.open_run(name="watched")

    async def story():
        screens = [Screen(server) for _ in range(SCREENS)]
        watching = [asyncio.create_task(screen.watch()) for screen in screens]
        await until(lambda: all(screen.snapshots == 1 for screen in screens))
        os.kill(server.pid_of("daphne"), signal.SIGKILL)
        await until(lambda: all(screen.snapshots >= 2 for screen in screens))
        await asyncio.to_thread(agent.post_turns, run, a_turn("ls"))
        await until(lambda: all("turn.recorded" in screen.received for screen in screens))
        await ended(watching)
        return [screen.snapshots for screen in screens]

    snapshots = asyncio.run(asyncio.wait_for(story(), PATIENCE_S))

    assert snapshots == [2] * SCREENS  # nobody came back twice


@pytest.mark.parametrize("part", ["=detector-0@", "=worker@"])
def test_last_events_are_republished_once_a_killed_worker_has_restarted(server, part):
    agent = an_agent_of(server)

    async def story():
        screen = Screen(server)
        watching = asyncio.create_task(screen.watch())
        await until(lambda: screen.snapshots == 1)
        await asyncio.to_thread(agent.open_run, name="watched")
        await until(lambda: screen.received.count("run.opened") == 1)
        os.kill(server.pid_of(part), signal.SIGKILL)
        await until(lambda: screen.received.count("run.opened") == 2)
        await ended([watching])

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def test_a_screen_rereads_after_a_lost_broker_connection(server):
    async def story():
        screen = Screen(server)
        watching = asyncio.create_task(screen.watch())
        await until(lambda: screen.snapshots == 1)
        with Redis.from_url(environment_of(server)["REDIS_URL"]) as broker:
            broker.client_kill_filter(_type="pubsub")
        await until(lambda: screen.snapshots == 2)
        await ended([watching])

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def test_a_second_web_process_hears_what_the_first_one_took(server):
    agent, port = an_agent_of(server), a_free_port()
    second = subprocess.Popen(
        [sys.executable, "-m", "daphne", "-p", str(port), "missioncontrol.asgi:application"],
        cwd=ROOT,
        env=environment_of(server),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: _answers(port))
        run = agent.open_run(name="watched")

        async def story():
            screens = [Screen(server), Screen(server, port=port)]
            watching = [asyncio.create_task(screen.watch()) for screen in screens]
            await until(lambda: all(screen.snapshots for screen in screens))
            await asyncio.to_thread(agent.post_turns, run, a_turn("ls"))
            await until(lambda: all("meters" in screen.received for screen in screens))
            await ended(watching)
            return ["turn.recorded" in screen.received for screen in screens]

        assert asyncio.run(asyncio.wait_for(story(), PATIENCE_S)) == [True, True]
    finally:
        second.terminate()
        second.wait()


def _answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
