"""What `guard run` does where a server says no, or not now."""

import itertools
import os
import subprocess
import sys
import threading

import pytest

from guard.errors import ServerAway
from guard.running.command import NOT_STARTED
from guard.running.keeper import Keeper
from guard.running.reporting import Reporter
from guard.running.run_client import RunClient, insisting
from guard.sdk.keys import Connection
from guard.turn import Role, Turn
from tests.sdk.server import LoopbackServer, directive

OPENING = {"key": "k", "name": "work", "capabilities": {}}


class OneRun(LoopbackServer):
    """Has one run, which is running and has no turns."""

    def answer(self, asked):
        if asked.method == "GET" and asked.path.endswith("/runs/run-1/"):
            self.asked.append(asked)
            return 200, {"id": "run-1", "status": "running", "turns": 0}
        return super().answer(asked)


class RefusesToSay(OneRun):
    """Takes turns, and refuses to say what to do: its key may report and no more."""

    def __init__(self):
        super().__init__()
        self.answer_poll = lambda _: (403, {"code": "forbidden", "detail": "not for this key"})


@pytest.fixture
def server():
    serving = RefusesToSay()
    serving.start()
    yield serving
    serving.stop()


def test_who_is_refused_a_directive_does_not_ask_again_and_again(server, capsys):
    client = RunClient(Connection(client="run", place="", url=server.url, key="k"))
    reporter = Reporter(client, OPENING, obey=lambda _: None, pauses=False)
    server.await_polls()
    for number in range(20):
        reporter.turn(Turn(role=Role.ASSISTANT, content=f"{number}"))
    reporter.finish("completed")

    assert len(server.of("POST", "/turns/")) == 20
    assert len(server.of("GET", "/directive/")) == 1
    assert "not for this key" in capsys.readouterr().err


def test_a_server_that_has_too_much_to_do_is_asked_again():
    asked = itertools.count()

    def ask():
        if next(asked) == 0:
            raise ServerAway("it answers 429")
        return "answered"

    assert insisting(ask, until=lambda: False) == "answered"


class SaysNo(OneRun):
    """Answers every request whose path ends so with a refusal."""

    def __init__(self, ending, status):
        super().__init__()
        self.ending, self.status = ending, status

    def answer(self, asked):
        path = asked.path.split("?")[0]
        if path.endswith(self.ending):
            self.asked.append(asked)
            return self.status, {"code": "no", "detail": "not now"}
        if "/hooks/" in path:
            return 200, {"missioncontrol": "1"}
        return super().answer(asked)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("ending", ["/hooks/codex/", "/runs/"])
def test_a_command_runs_beside_a_server_that_has_too_much_to_do(ending, status, tmp_path):
    done = guard_run(SaysNo(ending, status), "open", "exit 7", home=tmp_path)

    assert done.returncode == 7


@pytest.mark.parametrize("status", [429, 503])
def test_to_fail_closed_nothing_starts_beside_such_a_server(status, tmp_path):
    done = guard_run(SaysNo("/hooks/codex/", status), "closed", "echo ran", home=tmp_path)

    assert (done.returncode, done.stdout) == (NOT_STARTED, "")


def test_a_command_whose_run_is_refused_is_not_left_alone(tmp_path):
    done = guard_run(SaysNo("/runs/", 403), "open", "sleep 1; exit 7", home=tmp_path)

    assert done.returncode == 7
    assert "not now" in done.stderr


def guard_run(server, fail, script, *, home):
    server.start()
    where = ["--url", server.url, "--key", "mc_x", "--fail", fail]
    try:
        return subprocess.run(
            [sys.executable, "-m", "guard.cli", "run", *where, "--", "sh", "-c", script],
            env=os.environ | {"HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        server.stop()


class Paused:
    """A command that stands still when it is told to, and ends."""

    def __init__(self):
        self.ended = threading.Event()

    def pause(self):
        pass

    def go_on(self):
        pass

    def end(self):
        self.ended.set()


def test_a_paused_command_that_was_ended_waits_no_longer(tmp_path):
    server = KeptRun(directive("hold", version=1), directive("stop", version=2))
    server.start()
    client = RunClient(Connection(client="run", place="", url=server.url, key="k"))
    command = Paused()
    keeper = Keeper(client, command, notes=tmp_path)
    keeper.start(OPENING)
    server.await_polls(3)
    keeper.finish(1)
    server.stop()

    asked = ["keeper=1" in poll.path for poll in server.of("GET", "/directive/")]
    assert command.ended.is_set()
    assert asked[:3] == [True, False, True]


class KeptRun(OneRun):
    """Gives these directives, one a poll, and then no other."""

    def __init__(self, *directives):
        super().__init__()
        left = iter(directives)
        self.answer_poll = lambda _: next(((200, one) for one in left), (204, None))
