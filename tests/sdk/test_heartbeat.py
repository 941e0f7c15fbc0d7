"""The thread that says, for all sessions of a process, that they live."""

import gc
import os
import threading

import pytest

from guard import AsyncSession, Session
from guard.sdk.background import Heartbeat
from tests.installations import wait_for


class HeartbeatSource:
    """Counts its beats; is refused after so many."""

    def __init__(self, *, until=None):
        self.beats, self._until = 0, until

    def send_heartbeat(self):
        self.beats += 1
        return self._until is None or self.beats < self._until


@pytest.fixture
def heartbeat():
    return Heartbeat(every_s=0.01)


def pulses():
    return {thread for thread in threading.enumerate() if thread.name == "missioncontrol-heartbeat"}


@pytest.fixture
def new_heartbeats():
    """Give the threads that beat since the test began."""
    before = pulses()
    return lambda: pulses() - before


def test_one_thread_sends_heartbeats_for_every_session(heartbeat, new_heartbeats):
    sessions = [HeartbeatSource() for _ in range(50)]
    for session in sessions:
        heartbeat.start(session)

    wait_for(lambda: all(session.beats > 3 for session in sessions))

    assert len(new_heartbeats()) == 1


def test_a_refused_session_gets_no_more_heartbeats_and_others_do(heartbeat):
    refused, other = HeartbeatSource(until=2), HeartbeatSource()
    heartbeat.start(refused)
    heartbeat.start(other)

    wait_for(lambda: other.beats > 10)

    assert refused.beats == 2


def test_an_error_in_a_heartbeat_does_not_end_the_thread(heartbeat, caplog):
    class Broken(HeartbeatSource):
        def send_heartbeat(self):
            super().send_heartbeat()
            raise ValueError("unforeseen")

    broken = Broken()
    heartbeat.start(broken)

    wait_for(lambda: broken.beats > 2)
    assert "unforeseen" in caplog.text


def test_its_thread_ends_with_the_last_session(heartbeat, new_heartbeats):
    session = HeartbeatSource()
    heartbeat.start(session)
    wait_for(lambda: session.beats)

    heartbeat.stop(session)

    wait_for(lambda: not new_heartbeats())


def test_a_session_that_its_host_dropped_is_not_kept_alive(heartbeat, new_heartbeats):
    heartbeat.start(HeartbeatSource())

    wait_for(lambda: gc.collect() is not None and not new_heartbeats())


def test_heartbeats_begin_with_the_run_and_stop_at_its_end(server, new_heartbeats):
    with Session("fix-auth", url=server.url, key="mc_k"):
        wait_for(lambda: server.requests_to("POST", "runs/run-1/presence/"))

    wait_for(lambda: not new_heartbeats())


def test_a_session_without_heartbeat_sends_none(server, new_heartbeats):
    with Session("proxy", url=server.url, key="mc_k", heartbeat=False):
        assert not new_heartbeats()


async def test_heartbeats_continue_while_the_event_loop_is_blocked(server):
    async with AsyncSession("fix-auth", url=server.url, key="mc_k"):
        wait_for(lambda: server.requests_to("POST", "presence/"))  # blocks the loop


def test_a_forked_child_sends_heartbeats_for_its_own_sessions(server):
    with Session("parent", url=server.url, key="mc_k"):
        pid = os.fork()
        if pid == 0:
            with Session("child", url=server.url, key="mc_k"):
                os._exit(not pulses())
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
