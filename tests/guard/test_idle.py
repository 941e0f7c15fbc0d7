"""The wait beside a session at rest, and the forwarder that ends with its agent."""

import pytest

from guard.adapters import adapter_of
from guard.adapters.claude_code.adapter import reports_missing_path, stays_open
from guard.adapters.hook import HookEvent, HookWiring
from guard.errors import ServerAway, ServerRefused
from guard.hooks.watcher import (
    LONG_POLL_S,
    REST_STATUS,
    RETRY_PAUSE_S,
    wait_for_message,
    wait_while_idle,
)
from guard.sdk.connections import Connection

QUESTION = {"hook_event_name": "Idle", "session_id": "s"}


class Server:
    """Answers one after the other what it was given; keeps what it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked, self.pauses = list(answers), [], []

    def ask(self, question):
        self.asked.append(question)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def message(self):
        return wait_for_message(QUESTION, self.ask, pause=self.pauses.append)


def test_it_ends_with_the_message():
    server = Server({"wake": None, "over": False, "since": 7}, {"wake": "look in b.py"})

    assert server.message() == "look in b.py"


def test_it_asks_from_the_beginning_of_the_rest():
    server = Server({"since": 7}, {"over": True})

    assert server.message() is None
    assert server.asked == [
        QUESTION | {"wait": LONG_POLL_S},
        QUESTION | {"wait": LONG_POLL_S, "since": 7},
    ]


def test_a_server_that_is_away_is_asked_again_later():
    server = Server(ServerAway("restarting"), {"wake": "here I am"})

    assert server.message() == "here I am"
    assert [0 < pause <= RETRY_PAUSE_S for pause in server.pauses] == [True]


@pytest.mark.parametrize("answer", [ServerRefused(403, "no"), None, [], "odd"])
def test_an_unusable_answer_ends_the_wait(answer):
    assert Server(answer).message() is None


def test_a_session_that_ends_with_its_answer_is_not_waited_for():
    connection = Connection(client="codex", place="*", url="http://127.0.0.1:9", key="k")

    assert wait_while_idle(adapter_of("codex"), connection, {}, HookWiring()) == REST_STATUS


@pytest.mark.parametrize(
    ("environment", "lives_on"),
    [
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, True),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, False),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "MISSIONCONTROL_WAKE": "1"}, True),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli", "MISSIONCONTROL_WAKE": "0"}, False),
        ({}, False),
    ],
)
def test_only_a_session_that_stays_open_is_waited_for(environment, lives_on):
    assert stays_open(environment) is lives_on


@pytest.mark.parametrize(
    ("error", "misses_one"),
    [
        ("File does not exist. Did you mean b.py?", True),
        ("Exit code 1\ncat: b.py: No such file or directory", True),
        ("ENOENT: no such file", True),
        ("Exit code 1\n3 failed", False),
        (None, False),
    ],
)
def test_a_missing_path_asks_for_the_files_again(error, misses_one):
    assert reports_missing_path({"error": error}) is misses_one


# --- what a request says of its wiring --------------------------------------------


def test_a_header_is_read_back_as_it_was_written():
    wiring = HookWiring(via="http", fail="closed", timeout_s=3900, entry="cli", defer_s=600)

    assert HookWiring.read(wiring.header()) == wiring
    assert HookWiring.read("") == HookWiring()


@pytest.mark.parametrize("odd", ["timeout=soon", "timeout=-1", "timeout=inf", "timeout", ";;="])
def test_an_odd_header_says_nothing(odd):
    assert HookWiring.read(odd).timeout_s is None


@pytest.mark.parametrize(
    ("entry", "holds", "parks"),
    [("sdk-cli", True, 9), ("cli", True, None), ("sdk-cli", False, None)],
)
def test_only_a_held_call_of_a_headless_session_parks(entry, holds, parks):
    wiring = HookWiring(entry=entry, defer_s=9)
    event = HookEvent(client="claude-code", name="x", session="s", holds=holds, wiring=wiring)

    assert event.parks_after_s == parks
