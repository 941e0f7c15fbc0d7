"""A Python agent is killed: it is missed within a minute, its busy neighbour is not."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.agents.person import Person
from tests.installations import an_installation, wait_for

pytestmark = pytest.mark.faults

BUSY = """
import sys, time, guard
with guard.Session("busy", agent="coder", run_key=sys.argv[1]) as session:
    session.before("Bash", {"command": "make world"})
    time.sleep(3600)
"""
BUSY_IN_ITS_LOOP = """
import asyncio, sys, time, guard
async def work():
    async with guard.AsyncSession("busy", agent="coder", run_key=sys.argv[1]) as session:
        await session.before("Bash", {"command": "make world"})
        time.sleep(3600)  # a tool that blocks the loop
asyncio.run(work())
"""


@pytest.fixture
def server(tmp_path):
    with an_installation(tmp_path) as running:
        yield running


@contextmanager
def an_agent(server, program, key):
    address = {"MISSIONCONTROL_URL": server.url, "MISSIONCONTROL_KEY": server.agent_key}
    process = subprocess.Popen([sys.executable, "-c", program, key], env=os.environ | address)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def told_of(person, key):
    run = person.run_of(key)
    return run and run["turns"] and (run["status"], run["presence"])


def test_a_killed_python_agent_is_lost_and_one_in_a_long_call_is_not(server):
    person = Person(server)
    with (
        an_agent(server, BUSY, "killed") as killed,
        an_agent(server, BUSY, "busy"),
        an_agent(server, BUSY_IN_ITS_LOOP, "busy-loop"),
    ):
        for key in ("killed", "busy", "busy-loop"):
            wait_for(lambda key=key: told_of(person, key) == ("running", "working"))
        killed.kill()

        wait_for(lambda: told_of(person, "killed") == ("lost", "gone"))

        # they proposed before the kill: only signs of life can have kept these
        assert told_of(person, "busy") == ("running", "working")
        assert told_of(person, "busy-loop") == ("running", "working")
