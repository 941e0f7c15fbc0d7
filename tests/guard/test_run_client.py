"""What `guard run` does where a server says no, or not now."""

import itertools
import os
import queue
import signal
import subprocess
import sys
from argparse import Namespace

import pytest

from guard.errors import ServerAway, ServerRefused
from guard.running import run_client
from guard.running.command import INTERRUPTED_STATUS, NOT_RUNNABLE, NOT_STARTED, run_supervised
from guard.running.processes import is_running
from guard.running.run_client import Reporter, RunClient, retry_while_away
from guard.running.supervisor import Supervisor
from guard.sdk.connections import Connection
from guard.turn import Role, Turn
from tests.installations import wait_for
from tests.sdk.server import LoopbackServer, directive

RUN = (sys.executable, "-m", "guard.cli", "run")

OPENING = {"key": "k", "name": "work", "capabilities": {}}


@pytest.fixture(autouse=True)
def asks_again_at_once(monkeypatch):
    monkeypatch.setattr(run_client, "RETRY_PAUSE_S", 0.01)


class OneRun(LoopbackServer):
    """Has one run, which is running and has no turns."""

    def answer(self, request):
        if request.method == "GET" and request.path.endswith("/runs/run-1/"):
            self.requests.append(request)
            return 200, {"id": "run-1", "status": "running", "turns": 0}
        return super().answer(request)


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


def test_a_refused_directive_is_not_asked_for_again(server, capsys):
    client = RunClient(Connection(client="run", place="", url=server.url, key="k"))
    reporter = Reporter(client, OPENING, on_directive=lambda _: None, pauses=False)
    server.await_polls()
    for number in range(20):
        reporter.report_turn(Turn(role=Role.ASSISTANT, content=f"{number}"))
    reporter.finish("completed")

    assert len(server.requests_to("POST", "/turns/")) == 20
    assert len(server.requests_to("GET", "/directive/")) == 1
    assert "not for this key" in capsys.readouterr().err


def test_an_empty_object_is_no_refusal_of_a_directive(monkeypatch):
    monkeypatch.setattr(run_client, "RETRY_PAUSE_S", 0.0)
    server, answers = OneRun(), [{}, directive("hold")]
    server.answer_poll = lambda _: (200, answers.pop(0))
    server.start()
    client = RunClient(Connection(client="run", place="", url=server.url, key="k"))
    directives = client.directives("run-1", as_agent=lambda: True, until=lambda: not answers)

    assert [one.action for one in directives] == ["hold"]
    client.close()
    server.stop()


def test_a_busy_server_is_asked_again():
    attempts = itertools.count()

    def ask():
        if next(attempts) == 0:
            raise ServerAway("it answers 429")
        return "answered"

    assert retry_while_away(ask, until=lambda: False) == "answered"


class SaysNo(OneRun):
    """Answers every request whose path ends so with a refusal."""

    def __init__(self, ending, status):
        super().__init__()
        self.ending, self.status = ending, status

    def answer(self, request):
        path = request.path.split("?")[0]
        if path.endswith(self.ending):
            self.requests.append(request)
            return self.status, {"code": "no", "detail": "not now"}
        if "/hooks/" in path:
            return 200, {"missioncontrol": "1"}
        return super().answer(request)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("ending", ["/hooks/codex/", "/runs/"])
def test_a_command_runs_while_the_server_is_busy(ending, status, tmp_path):
    done = guard_run(SaysNo(ending, status), "open", "exit 7", home=tmp_path)

    assert done.returncode == 7


@pytest.mark.parametrize("status", [403, 429, 503])
@pytest.mark.parametrize("ending", ["/hooks/codex/", "/runs/"])
def test_to_fail_closed_nothing_starts_while_the_server_is_busy(ending, status, tmp_path):
    done = guard_run(SaysNo(ending, status), "closed", "echo ran", home=tmp_path)

    assert (done.returncode, done.stdout) == (NOT_STARTED, "")


def test_to_fail_closed_nothing_is_driven_whose_run_is_refused():
    server = SaysNo("/runs/", 403)
    server.start()
    client = RunClient(Connection(client="codex", place="", url=server.url, key="k", fail="closed"))

    with pytest.raises(ServerRefused, match="not now"):
        Reporter(client, OPENING, on_directive=lambda _: None, pauses=False)
    client.close()
    server.stop()


def test_a_command_that_is_no_program_leaves_no_run_open(tmp_path):
    (tmp_path / "notes").write_text("milk")
    server = SaysNo("/nothing/", 404)

    done = guard_run(server, "open", "", home=tmp_path, command=[str(tmp_path / "notes")])

    assert done.returncode == NOT_RUNNABLE
    assert "cannot be run: Permission denied" in done.stderr
    assert [request.body for request in server.requests_to("PATCH", "/runs/run-1/")] == [
        {"status": "failed"}
    ]


def test_a_command_whose_run_is_refused_is_not_left_alone(tmp_path):
    done = guard_run(SaysNo("/runs/", 403), "open", "sleep 1; exit 7", home=tmp_path)

    assert done.returncode == 7
    assert "not now" in done.stderr


def guard_run(server, fail, script, *, home, command=None):
    server.start()
    where = ["--url", server.url, "--key", "mc_x", "--fail", fail]
    try:
        return subprocess.run(
            [*RUN, *where, "--", *(command or ["sh", "-c", script])],
            env=os.environ | {"HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        server.stop()


class Standing:
    """A command that stands still when it is told to, and goes on, and ends."""

    def __init__(self):
        self.done = queue.SimpleQueue()

    def pause(self):
        self.done.put("pause")

    def resume(self):
        self.done.put("go on")

    def end(self):
        self.done.put("end")

    def does(self):
        return self.done.get(timeout=60)


@pytest.fixture
def keep(tmp_path):
    """Keep a command whose server gives these directives, one a poll, and then no other."""
    supervisors = []

    def start(*directives, fail="open", poll=None):
        server, command = KeptRun(*directives), Standing()
        server.answer_poll = poll or server.answer_poll
        server.start()
        connection = Connection(client="run", place="", url=server.url, key="k", fail=fail)
        supervisor = Supervisor(RunClient(connection), notes=tmp_path, opening=OPENING)
        supervisor.open()
        supervisor.start(command)
        supervisors.append((supervisor, server))
        return server, command

    yield start
    for supervisor, server in supervisors:
        supervisor.finish(1)
        server.stop()


class KeptRun(OneRun):
    """Gives these directives, one a poll, and then no other; hooks find it there."""

    def __init__(self, *directives):
        super().__init__()
        left = iter(directives)
        self.answer_poll = lambda _: next(((200, one) for one in left), (204, None))
        self.refuses_run = False

    def answer(self, request):
        if self.refuses_run and request.method == "GET" and request.path.endswith("/runs/run-1/"):
            return 401, {"code": "not_signed_in"}
        return (
            (200, {"missioncontrol": "1"}) if "/hooks/" in request.path else super().answer(request)
        )


def test_a_paused_command_that_was_ended_waits_no_longer(keep):
    server, command = keep(directive("hold", version=1), directive("stop", version=2))
    server.await_polls(3)

    is_supervisor = ["keeper=1" in poll.path for poll in server.requests_to("GET", "/directive/")]
    assert (command.does(), command.does()) == ("pause", "end")
    assert is_supervisor[:3] == [True, False, True]


@pytest.mark.parametrize("fail", ["open", "closed"])
def test_a_paused_command_whose_key_is_revoked_ends(keep, fail):
    server, command = keep(directive("hold", version=1), fail=fail)
    assert command.does() == "pause"

    server.answer_poll = lambda _: (401, {"code": "not_signed_in"})

    assert command.does() == "end"


@pytest.mark.parametrize("fail", ["open", "closed"])
def test_a_command_held_again_when_its_key_is_revoked_ends(keep, fail):
    server, command = keep(directive("hold", version=1), fail=fail)
    assert command.does() == "pause"

    # A second card, and then the key alone is gone.
    polled = iter([(200, directive("hold", version=2))])
    server.answer_poll = lambda _: next(polled, (401, {"code": "not_signed_in"}))
    server.refuses_run = True

    assert (command.does(), command.does()) == ("pause", "end")


@pytest.mark.parametrize("page", [(403, None), (403, {"message": "Forbidden"}), (200, None)])
def test_a_proxys_page_does_not_end_a_paused_command(keep, page):
    directives = [directive("hold", version=1), directive("proceed", version=2)]
    answers = iter([(200, directives[0]), page, (200, directives[1])])

    _, command = keep(poll=lambda _: next(answers, (204, None)))

    assert (command.does(), command.does()) == ("pause", "go on")


@pytest.mark.parametrize(("fail", "then"), [("open", "go on"), ("closed", "pause")])
def test_to_fail_open_a_paused_command_continues_until_its_server_is_back(
    keep, monkeypatch, fail, then
):
    monkeypatch.setattr(run_client, "MAX_HELD_OUTAGE_S", 0)
    held = directive("hold", version=1)

    _, command = keep(
        fail=fail, poll=lambda request: (503 if "after=" in request.path else 200, held)
    )

    assert [command.does() for _ in range(3)] == ["pause", then, "pause"]


@pytest.fixture
def paused(tmp_path):
    """A command that stands still under `guard run`: its supervisor, and its own number."""
    server, pid_file = KeptRun(directive("hold", version=1)), tmp_path / "pid"
    server.start()
    supervisor = subprocess.Popen(
        [*RUN, "--url", server.url, "--key", "mc_x", "--", "sh", "-c", PRINTS_ITS_NUMBER, pid_file],
        env=os.environ | {"HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
    )
    # The second poll is a waiting command's.
    server.await_polls(2)
    yield supervisor, int(wait_for(lambda: pid_file.exists() and pid_file.read_text()))
    supervisor.kill()
    supervisor.wait()
    server.stop()


PRINTS_ITS_NUMBER = "echo $$ > $0; while :; do sleep 0.1; done"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_paused_command_gets_a_signal_that_ends_it(paused, number):
    supervisor, pid = paused

    supervisor.send_signal(number)

    assert supervisor.wait(60) == 128 + number
    assert not is_running(pid)


class InterruptedWhileItOpens(OneRun):
    """Opens a run, and before its answer is there the person presses Ctrl-C."""

    process = None

    def answer(self, request):
        answer = super().answer(request)
        if request.path == "/api/v1/runs/" and len(self.requests_to("POST", "/runs/")) == 1:
            self.process.send_signal(signal.SIGINT)
        return answer


def test_a_run_whose_opening_was_interrupted_is_ended():
    server = InterruptedWhileItOpens()
    server.start()
    where = {"MISSIONCONTROL_URL": server.url, "MISSIONCONTROL_KEY": "mc_k"}
    with subprocess.Popen([*RUN, "--", "sleep", "60"], env=os.environ | where) as process:
        server.process = process
        status = process.wait(120)
    server.stop()

    opened = server.requests_to("POST", "/runs/")
    assert len({request.body["key"] for request in opened}) == 1
    assert [request.body for request in server.requests_to("PATCH", "/runs/run-1/")] == [
        {"status": "failed"}
    ]
    assert status == INTERRUPTED_STATUS


class CtrlC(dict[str, str]):
    """An environment: the person presses Ctrl-C as the command's own is made of it."""

    def __or__(self, added):
        raise KeyboardInterrupt


def test_a_run_that_was_interrupted_before_its_command_began_is_ended(monkeypatch):
    server = OneRun()
    server.start()
    connection = Connection(client="run", place="", url=server.url, key="mc_k")
    monkeypatch.setattr(os, "environ", CtrlC(os.environ))

    with pytest.raises(KeyboardInterrupt):
        run_supervised(Namespace(command_line=["true"], name=None), connection, is_one_run=True)

    assert [request.body for request in server.requests_to("PATCH", "/runs/run-1/")] == [
        {"status": "failed"}
    ]
    server.stop()
