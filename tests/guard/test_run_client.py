"""What `guard run` does where a server says no, or not now."""

import itertools

import pytest

from guard.errors import ServerRefused
from guard.running.reporting import Reporter
from guard.running.run_client import RunClient, insisting
from guard.sdk.keys import Connection
from guard.turn import Role, Turn
from tests.sdk.server import LoopbackServer

OPENING = {"key": "k", "name": "work", "capabilities": {}}


class RefusesToSay(LoopbackServer):
    """Takes turns, and refuses to say what to do: its key may report and no more."""

    def __init__(self):
        super().__init__()
        self.answer_poll = lambda _: (403, {"code": "forbidden", "detail": "not for this key"})

    def answer(self, asked):
        if asked.method == "GET" and asked.path.endswith("/runs/run-1/"):
            self.asked.append(asked)
            return 200, {"id": "run-1", "status": "running"}
        return super().answer(asked)


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
            raise ServerRefused(429, "too many requests")
        return "answered"

    assert insisting(ask, until=lambda: False) == "answered"
