"""The question at a real terminal: a pseudo-terminal with a process on it."""

import contextlib
import os
import pty
import select
import subprocess
import sys

import pytest

from guard.sdk.terminal import Question, ask_at_terminal
from tests.installations import wait_for

ASKING = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from guard.sdk.terminal import Question, ask_at_terminal
question = Question(run="fix-auth", reason="It read\\x1b[2J a.py 3 times.", call="read a.py",
                    limit_s=float(sys.argv[1]))
print("chosen", ask_at_terminal(question), flush=True)
"""


class Terminal:
    """A person's end of a terminal on which a process asks."""

    def __init__(self, limit_s=600):
        self.end, other = pty.openpty()
        self.seen = self._fresh = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", ASKING, str(limit_s)],
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)

    def read(self, text):
        """Wait until a text is shown that was not read before."""
        wait_for(lambda: text in self._fresh or self._more())
        self._fresh = self._fresh.partition(text)[2]

    def type(self, text):
        os.write(self.end, text.encode())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.end)

    def _more(self):
        if select.select([self.end], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):  # it has ended, and with it the terminal
                more = os.read(self.end, 4096).decode()
                self.seen += more
                self._fresh += more


@pytest.fixture
def terminal():
    opened = []

    def open_one(**fields):
        opened.append(Terminal(**fields))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [
        ("t\n", "action='terminate'"),
        ("C\n", "action='continue'"),
        ("a\n", "action='allowlist'"),
        ("i read b.py\n", "action='inject', message='read b.py'"),
    ],
)
def test_each_letter_is_an_answer(terminal, typed, chosen):
    person = terminal()
    person.read("[i]nject a message: ")
    person.type(typed)

    person.read(chosen)


def test_it_asks_again_after_an_unknown_letter(terminal):
    person = terminal()
    person.read("message: ")
    person.type("what?\n")
    person.read("message: ")
    person.type("i\n")
    person.read("instead of a result? ")
    person.type("Read b.py.\n")

    person.read("message='Read b.py.'")


def test_text_of_the_agent_cannot_control_the_terminal(terminal):
    person = terminal()
    person.read("message: ")

    assert "\x1b" not in person.seen
    assert "It read [2J a.py 3 times." in person.seen


def test_nobody_answering_is_no_answer(terminal):
    person = terminal(limit_s=0)

    person.read("chosen None")


def test_without_a_terminal_nothing_is_asked_and_nothing_waits():
    question = Question(run="x", reason="x", call="x", limit_s=600)

    assert ask_at_terminal(question) is None


def test_without_termios_nobody_is_asked(monkeypatch):
    # Windows has no such module.
    monkeypatch.setitem(sys.modules, "termios", None)

    assert ask_at_terminal(Question(run="x", reason="x", call="x", limit_s=600)) is None


def test_a_pipe_is_no_terminal():
    code = (
        "from guard.sdk.terminal import Question, ask_at_terminal;"
        "print(ask_at_terminal(Question(run='x', reason='x', call='x', limit_s=600)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="t\n", capture_output=True, text=True, check=True
    )

    assert (done.stdout, done.stderr) == ("None\n", "")
