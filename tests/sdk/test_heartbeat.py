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


def test_one_thread_beats_for_every_session_again_and_again(heartbeat, new_heartbeats):
    sessions = [HeartbeatSource() for _ in range(50)]
    for session in sessions:
        heartbeat.start(session)

    wait_for(lambda: all(session.beats > 3 for session in sessions))

    assert len(new_heartbeats()) == 1


def test_it_beats_no_more_for_who_was_refused_and_goes_on_for_others(heartbeat):
    refused, other = HeartbeatSource(until=2), HeartbeatSource()
    heartbeat.start(refused)
    heartbeat.start(other)

    wait_for(lambda: other.beats > 10)

    assert refused.beats == 2


def test_an_error_in_a_beat_ends_nothing(heartbeat, caplog):
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


def test_it_keeps_no_session_that_its_host_dropped(heartbeat, new_heartbeats):
    heartbeat.start(HeartbeatSource())

    wait_for(lambda: gc.collect() is not None and not new_heartbeats())


def test_a_session_beats_from_its_opening_and_not_after_its_end(server, new_heartbeats):
    with Session("fix-auth", url=server.url, key="mc_k"):
        wait_for(lambda: server.of("POST", "runs/run-1/presence/"))

    wait_for(lambda: not new_heartbeats())


def test_a_session_that_speaks_for_others_does_not_beat(server, new_heartbeats):
    with Session("proxy", url=server.url, key="mc_k", heartbeat=False):
        assert not new_heartbeats()


async def test_a_blocked_event_loop_is_no_dead_agent(server):
    async with AsyncSession("fix-auth", url=server.url, key="mc_k"):
        wait_for(lambda: server.of("POST", "presence/"))  # blocks the loop


def test_a_forked_child_beats_for_its_own_sessions(server):
    with Session("parent", url=server.url, key="mc_k"):
        pid = os.fork()
        if pid == 0:
            with Session("child", url=server.url, key="mc_k"):
                os._exit(not pulses())
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
