"""`guard run -- codex exec` between a server and an app-server that take their time."""

import json
import queue
import sys
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest

from guard.running.app_server import AppServer, Notification
from guard.running.codex_driver import CodexDriver
from guard.running.codex_exec import CodexTask
from guard.running.codex_items import CodexOutput
from guard.sdk.connections import Connection
from tests.sdk.server import LoopbackServer, directive

APP_SERVER = """
import itertools, json, pathlib, sys, time

turns = itertools.count(1)
answers = {
    "thread/start": lambda: {"thread": {"id": "thread"}, "model": "m", "cwd": "/"},
    "turn/start": lambda: {"turn": {"id": f"turn-{next(turns)}"}},
}

def write(**message):
    print(json.dumps(message), flush=True)

def completed(turn, status):
    params = {"threadId": "thread", "turn": {"id": turn, "status": status}}
    write(method="turn/completed", params=params)

for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "turn/steer":  # the turn was interrupted
        write(id=asked["id"], error={"message": "no such turn"})
        continue
    if asked["method"] == "turn/interrupt":
        time.sleep(0.5)  # to let it be told too early, if it can be
        pathlib.Path("interrupted").touch()
    answer = answers.get(asked["method"], dict)()
    if "id" in asked:
        write(id=asked["id"], result=answer)
    if answer == {"turn": {"id": "turn-2"}}:
        completed("turn-1", "interrupted")
        completed("turn-2", "completed")
"""


class Server(LoopbackServer):
    """Lets the run go on, holds it, and then says `at_last`."""

    def __init__(self, at_last, *, stands_still):
        super().__init__()
        self.at_last, self.stands_still = at_last, stands_still
        self.answer_poll = self._poll
        self.stood_still_when_it_said_so = []

    def answer(self, request):
        if request.method == "GET" and request.path.endswith("/runs/run-1/"):
            return 200, {"id": "run-1", "status": "running"}
        return super().answer(request)

    def _poll(self, request):
        query = parse_qs(urlsplit(request.path).query)
        if "after" not in query:
            return 200, directive(version=1)
        if query["after"] == ["1"]:
            return 200, directive("hold", version=2)
        if "keeper" not in query:  # by asking as the agent that waits
            self.stood_still_when_it_said_so.append(self.stands_still())
        return (200, self.at_last) if query["after"] == ["2"] else (204, None)


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Drive one prompt that is held, then told `at_last`; its exit status and its server."""
    monkeypatch.chdir(tmp_path)

    def drive(at_last):
        inbox = queue.SimpleQueue()
        server = Server(at_last, stands_still=(tmp_path / "interrupted").exists)
        server.start()
        codex = AppServer([sys.executable, "-c", APP_SERVER], env={}, inbox=inbox)
        connection = Connection(client="codex", place="", url=server.url, key="k")
        task = CodexTask(program="codex", options=(), thread={}, prompt="Work.", as_json=True)
        try:
            return CodexDriver(task, codex, connection, inbox).run(None), server
        finally:
            codex.close()
            server.stop()

    return drive


def test_a_paused_run_counts_as_stopped_only_after_its_turn_is_interrupted(play):
    _, server = play(directive("stop", version=3))

    assert set(server.stood_still_when_it_said_so) == {True}


def test_the_late_end_of_an_interrupted_turn_does_not_end_the_next_one(play):
    status, _ = play(directive("proceed", "Go on.", version=3))

    assert status == 0


@pytest.mark.parametrize("depth", [500, 5_000])
def test_an_item_of_any_depth_is_shown_and_so_is_what_comes_after_it(tmp_path, capsys, depth):
    deep = '{"a":' * depth + "1" + "}" * depth
    items = f'{{"id": "i", "arguments": {deep}}}', '{"id": "m"}'
    lines = [f'{{"method": "item/completed", "params": {{"item": {one}}}}}' for one in items]
    inbox = queue.SimpleQueue()
    script = tmp_path / "codex.py"
    script.write_text("".join(f"print({line!r})\n" for line in lines))
    codex = AppServer([sys.executable, script], env={}, inbox=inbox)
    output = CodexOutput(as_json=True, last_message=None)

    for notice in iter(partial(inbox.get, timeout=60), Notification("", {})):
        output.show(notice.method, notice.params)

    codex.close()
    shown = map(json.loads, capsys.readouterr().out.splitlines())
    assert [event["item"]["id"] for event in shown] == ["i", "m"]
