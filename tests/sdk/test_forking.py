"""A process forks while threads have what is a session's: the child waits for none of them."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from guard import Session
from guard.sdk import session as sessions
from guard.sdk.forking import ForkSafeLock
from guard.sdk.outbox import Outbox
from guard.sdk.session import current_session
from tests.installations import PATIENCE_S
from tests.sdk.server import LoopbackServer


def of_outbox(session):
    return session._conversation.offline.outbox._lock


def of_offline(session):
    return session._conversation.offline._lock


def of_background(session):
    return session._conversation.offline._background._lock


def of_conversation(session):
    return session._conversation._lock


def of_transport(session):
    return session._transport._lock


def of_current(session):
    return sessions._sessions_lock.lock


@pytest.fixture
def server():
    serving = LoopbackServer()
    serving.start()
    yield serving
    serving.stop()


def forked_while_another_thread_has(lock, deed):
    """Fork in the midst of another thread's work; answers the child's exit code."""
    is_taken, may_leave = threading.Event(), threading.Event()

    def work():
        with lock:
            is_taken.set()
            may_leave.wait(PATIENCE_S)

    thread = threading.Thread(target=work)
    thread.start()
    is_taken.wait(PATIENCE_S)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(10)  # one that waits for ever ends by it
            deed()
            code = 0
        finally:
            os._exit(code)
    may_leave.set()
    thread.join()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("is_away", [False, True])
@pytest.mark.parametrize(
    "lock", [of_outbox, of_offline, of_background, of_conversation, of_transport, of_current]
)
def test_a_forked_child_reports_while_its_parent_holds_locks(lock, is_away, server, tmp_path):
    url = "http://127.0.0.1:9" if is_away else server.url
    session = Session("s", url=url, key="k", outbox=tmp_path, ask=False)

    def speak():
        with session:
            assert current_session() is session
            session.after(session.before("Bash", {"command": "make"}), result="ok")

    assert forked_while_another_thread_has(lock(session), speak) == 0


def test_a_file_being_closed_during_the_fork_costs_no_other_object_its_lock(tmp_path):
    outbox = Outbox(tmp_path, {"name": "s"})
    outbox.append({"turn": {"key": "1"}})
    os.close(outbox._file._descriptor)  # as if another thread had come so far
    locks = [ForkSafeLock() for _ in range(20)]
    taken = locks[-1].lock
    before = [known.lock for known in locks]

    def look():
        assert all(known.lock is not lock for known, lock in zip(locks, before, strict=True))
        assert not outbox.has_pending

    assert forked_while_another_thread_has(taken, look) == 0


IMPORTS_WHILE_IT_FORKS = """
import os, signal, sys, threading, time
from guard import Session

class Slow:
    begun = threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name == "guard.sdk.local":
            self.begun.set()
            time.sleep(1)  # a slow disk

sys.meta_path.insert(0, Slow())
session = Session("s", url="http://127.0.0.1:9", key="k", outbox=False, ask=False)
thread = threading.Thread(target=session.before, args=("Bash", {"command": "make"}))
thread.start()
Slow.begun.wait()
child = os.fork()
signal.alarm(20)
if child == 0:
    session.before("Bash", {"command": "make"})
    os._exit(0)
thread.join()
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_does_not_wait_for_an_import_of_its_parents_thread():
    subprocess.run([sys.executable, "-c", IMPORTS_WHILE_IT_FORKS], check=True)
