"""The process beside a session: it vouches, misses, carries."""

import pytest

from guard.errors import ServerAway, ServerRefused
from guard.hooks.watcher import HEARTBEAT_INTERVAL_S, MAX_TRIES, Watcher, forward_from_watcher
from guard.sdk.connections import Connection
from guard.sdk.flow import Response


class Server:
    """Answers one after the other what it was given; keeps what it was told."""

    def __init__(self, *answers):
        self.answers, self.received = list(answers), []

    def ask(self, event):
        self.received.append({name: value for name, value in event.items() if name != "witness"})
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, Exception):
            raise answer
        return answer


class Session:
    """A session that can be spoken to; keeps what was done to it."""

    def __init__(self, *, refusals=0, deaf=0):
        self.done, self.refusals, self.deaf = [], refusals, deaf

    def stop(self):
        self.done.append("stop")
        self.refusals -= 1
        return self.refusals < 0

    def send_text(self, text):
        self.deaf -= 1
        if self.deaf >= 0:
            return False
        self.done.append(text)
        return True


class Process:
    """Runs for so many seconds of the watcher's own time."""

    def __init__(self, seconds):
        self.left_s, self.pauses = seconds, []

    def is_agent_running(self):
        return self.left_s > 0

    def pause(self, seconds):
        self.pauses.append(seconds)
        self.left_s -= seconds


def watch(server, *, seconds=0.0, session=None):
    process = Process(seconds)
    Watcher(
        ask=server.ask,
        is_agent_running=process.is_agent_running,
        pause=process.pause,
        session=session,
    ).run()
    return process


VOUCHES = {"wait": HEARTBEAT_INTERVAL_S, "carries": False}


def test_it_sends_heartbeats_and_reports_the_agents_end():
    server = Server()

    watch(server, seconds=30)

    assert server.received == [VOUCHES, VOUCHES, {"gone": True}]


def test_it_reports_within_a_second_of_the_agents_end():
    assert watch(Server(), seconds=3).pauses == [1.0] * 3


def test_it_stops_when_the_run_is_over():
    server = Server({"over": True})

    watch(server, seconds=300)

    assert server.received == [VOUCHES]


@pytest.mark.parametrize("seconds", [0, 30])
def test_an_end_during_an_outage_is_reported_later(seconds):
    server = Server(ServerAway("restarting"), ServerAway("restarting"))

    watch(server, seconds=seconds)

    assert server.received[-1] == {"gone": True}
    assert len(server.received) == 3


def test_a_refusal_ends_the_watcher():
    server = Server(ServerRefused(403, "no"))

    watch(server, seconds=300)

    assert server.received == [VOUCHES]


def test_it_passes_texts_and_stops_to_a_reachable_session():
    session = Session()
    server = Server(
        {"text": "look in b.py", "stop": None},
        {"text": None, "stop": "Terminated by ana."},
        {},
        {"over": True},
    )

    watch(server, seconds=300, session=session)

    assert session.done == ["look in b.py", "stop"]
    assert server.received[2] == {"stopped": True}


@pytest.mark.parametrize("deaf", [MAX_TRIES - 1, MAX_TRIES, 3 * MAX_TRIES])
def test_a_text_that_was_not_taken_is_sent_again(deaf):
    session = Session(deaf=deaf)
    server = Server({"text": "look in b.py"}, {"text": "and c.py"}, {}, {}, {}, {"over": True})

    watch(server, seconds=300, session=session)

    assert session.done == ["look in b.py", "and c.py"]


def test_a_stop_whose_report_was_lost_is_carried_out_again():
    session, stop = Session(), {"stop": "Terminated by ana."}
    server = Server(stop, ServerAway("restarting"), stop, {}, {"over": True})

    watch(server, seconds=300, session=session)

    assert session.done == ["stop", "stop"]
    assert server.received[-2:] == [{"stopped": True}, VOUCHES | {"carries": True}]


def test_a_session_that_does_not_stop_is_asked_again_after_a_pause():
    session, stop = Session(refusals=2), {"text": None, "stop": "Terminated by ana."}
    server = Server(stop, stop, stop, {}, {"over": True})

    process = watch(server, seconds=300, session=session)

    assert session.done == ["stop"] * 3
    assert process.pauses[:2] == [1.0, 1.0]


class Always:
    """A transport that brings one answer."""

    def __init__(self, answer):
        self.answer = answer

    def send(self, _request):
        return self.answer

    def close(self):
        pass


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (429, None, ServerAway),
        (429, {"code": "busy"}, ServerAway),
        (502, None, ServerAway),
        (503, None, ServerAway),
        (403, None, ServerAway),
        (401, {"code": "not_signed_in"}, ServerRefused),
    ],
)
def test_a_proxys_status_is_no_refusal_of_the_server(status, body, error):
    connection = Connection(client="codex", place="*", url="http://127.0.0.1:9", key="mc_k")

    with pytest.raises(error):
        forward_from_watcher(connection, {}, transport=Always(Response(status=status, body=body)))
