"""`guard run` at a terminal: the command has it, and the person's keys are its own."""

import os
import pty
import queue
import select
import subprocess
import sys
import time

import pytest

from guard.running.command import ENDED_STATUS
from tests.guard.test_run_client import KeptRun
from tests.sdk.server import directive

LONGEST_S = 120
"""A machine under load may need this; a test that waits so long has failed."""

AWAY = {"MISSIONCONTROL_URL": "http://127.0.0.1:9", "MISSIONCONTROL_KEY": "mc_k"}


OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.executable, [sys.executable, '-m', 'guard.cli', 'run', '--', *sys.argv[1:]])"
)
"""Makes its standard input the session's terminal, then becomes `guard run`."""


class Terminal:
    """A person's terminal with `guard run` in it, and no server to reach unless one is given."""

    def __init__(self, home, *command, url=AWAY["MISSIONCONTROL_URL"]):
        self.shown = b""
        self.screen, inside = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, *command],
            env=os.environ | AWAY | {"HOME": str(home), "MISSIONCONTROL_URL": url},
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)

    def types(self, text):
        os.write(self.screen, text)

    def shows(self, text):
        """Read until the screen has shown it."""
        ends_at = time.monotonic() + LONGEST_S
        while text not in self.shown:
            assert time.monotonic() < ends_at, self.shown
            if select.select([self.screen], [], [], 0.2)[0]:
                self.shown += os.read(self.screen, 4096)
        return True

    def status(self):
        return self.process.wait(LONGEST_S)

    def close(self):
        self.process.kill()
        self.process.wait(LONGEST_S)
        os.close(self.screen)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def open_with(*command, **where):
        opened.append(Terminal(tmp_path, *command, **where))
        return opened[-1]

    yield open_with
    for each in opened:
        each.close()


def test_the_command_reads_what_the_person_types(terminal):
    person = terminal("sh", "-c", "test -t 0 && echo ready; read line; echo got $line; exit 3")

    assert person.shows(b"ready")
    person.types(b"hello\n")

    assert person.shows(b"got hello")
    assert person.status() == 3


def test_ctrl_c_goes_to_the_command(terminal):
    person = terminal("sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; read line")

    assert person.shows(b"ready")
    person.types(b"\x03")

    assert person.shows(b"caught")
    assert person.status() == 5


def test_ctrl_c_ends_a_stopped_command(terminal):
    server = KeptRun(directive("hold", version=1))
    server.start()
    person = terminal(
        "sh", "-c", "trap 'echo caught; exit 5' INT; while :; do sleep 0.1; done", url=server.url
    )
    # The second poll is a waiting command's.
    server.await_polls(2)

    person.types(b"\x03")

    assert person.shows(b"caught")
    assert person.status() == 5
    server.stop()


def test_a_stop_ends_the_command_and_guard_run_with_it(terminal):
    server = KeptRun(directive("stop", version=1))
    server.start()

    person = terminal("sh", "-c", "while :; do sleep 0.1; done", url=server.url)

    assert person.status() == ENDED_STATUS
    server.stop()


def test_a_shells_job_has_the_terminal_again_after_a_pause(terminal):
    server, answers = KeptRun(), queue.Queue()
    server.answer_poll = lambda _: answers.get()
    server.start()
    person = terminal("bash", "--norc", "-i", url=server.url)
    person.types(b"sh -c 'echo job-$((40+2)); read line; echo got-$line-$((40+3))'\n")
    assert person.shows(b"job-42")

    answers.put((200, directive("hold", version=1)))
    answers.put((200, directive("proceed", version=2)))
    answers.put((204, None))
    server.await_polls(3)
    person.types(b"hello\n")

    assert person.shows(b"got-hello-43")
    answers.put((204, None))
    server.stop()
