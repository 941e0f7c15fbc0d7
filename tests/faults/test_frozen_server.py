"""A server is stopped in its tracks soon after it began to hold a call: the call stays held."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from guard.hooks import forwarding
from guard.hooks.forwarding import forward
from guard.hooks.forwarding import probe as plain_probe
from guard.sdk.connections import USER_WIDE, Connection
from tests.agents.person import Person
from tests.installations import PATIENCE_S, an_installation, wait_for

pytestmark = pytest.mark.faults
SESSION = {"session_id": "0491", "cwd": "/home/jo/tidepool"}
PROMPT = SESSION | {"hook_event_name": "UserPromptSubmit", "prompt": "tidy up"}
CALL = SESSION | {
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "rm -r old"},
    "tool_use_id": "call_1",
}


@pytest.fixture
def server(tmp_path):
    with an_installation(tmp_path) as running:
        yield running


@contextmanager
def frozen(server):
    pids = list(server.processes())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_a_call_held_by_a_server_that_freezes_does_not_run(server, monkeypatch):
    has_looked = threading.Event()

    def probe(*asked, **within):
        answer = plain_probe(*asked, **within)
        has_looked.set()
        return answer

    monkeypatch.setattr(forwarding, "probe", probe)
    connection = Connection(
        client="claude-code", place=USER_WIDE, url=server.url, key=server.agent_key, fail="open"
    )
    person, asks_again = Person(server), threading.Event()

    def sleep(seconds):
        asks_again.set()
        time.sleep(seconds)

    forward(connection, PROMPT)
    run = wait_for(lambda: person.run_of("claude-code:0491"))["id"]
    person.act(run, "pause")
    with ThreadPoolExecutor(1) as agent:
        call = agent.submit(
            forward,
            connection,
            CALL,
            timeout_s=PATIENCE_S,
            sleep=sleep,
        )
        wait_for(lambda: person.run(run)["status"] == "held")
        # However early: by its first second a hold is known.
        has_looked.wait(1.0)

        with frozen(server):
            wait_for(lambda: asks_again.is_set() or call.done())
        assert not call.done()

        person.act(run, "terminate")
        answer = call.result(PATIENCE_S)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
