"""The forwarder's patience: what it waits for, and what it does not."""

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from guard.adapters.hook import REPEAT_HEADER
from guard.errors import ServerAway, ServerRefused
from guard.hooks import forwarding
from guard.hooks.forwarding import MAX_OUTAGE_S, ProbingTransport, ServerSilent, forward
from guard.sdk.connections import USER_WIDE, Connection
from guard.sdk.flow import Request, Response
from tests.installations import wait_for
from tests.sdk.server import LoopbackServer

HERE = Connection(client="codex", place=USER_WIDE, url="http://127.0.0.1:9", key="mc_k")
CUT, REFUSED = http.client.RemoteDisconnected("cut"), ConnectionRefusedError("refused")
YES = Response(status=200, body={"it": "ran"})
NO = Response(status=403, body={"code": "forbidden"})


@dataclass
class After:
    """What is said after so many seconds of waiting."""

    seconds: float
    answered: Any


class World:
    """A server by script, and a clock that only sleeping moves."""

    def __init__(self, *script):
        self.script, self.requests, self.now = list(script), [], 0.0
        self.probed = YES

    def send(self, request):
        if request.body["hook_event_name"] == "Probe":
            return self.probed
        self.requests.append(request)
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(answer, After):
            self.now, answer = self.now + answer.seconds, answer.answered
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, ServerAway):
            raise answer
        raise ServerAway(str(answer)) from answer

    def close(self):
        pass

    def forward(self, *, timeout_s=3000.0):
        def sleep(seconds):
            self.now += seconds

        return forward(
            HERE,
            {"hook_event_name": "PreToolUse"},
            timeout_s=timeout_s,
            clock=lambda: self.now,
            sleep=sleep,
            transport=self,
        )


def test_it_keeps_waiting_across_a_restart():
    world = World(CUT, REFUSED, REFUSED, Response(status=503), YES)

    assert world.forward() == {"it": "ran"}
    assert len({str(request.body) for request in world.requests}) == 1


def test_a_body_that_is_sent_again_says_so():
    world = World(CUT, YES)

    world.forward()

    assert [REPEAT_HEADER in asked.headers for asked in world.requests] == [False, True]


def test_a_server_that_is_away_from_the_start_is_not_waited_for():
    world = World(REFUSED)

    with pytest.raises(ServerAway):
        world.forward()
    assert len(world.requests) == 1


def test_a_server_that_does_not_come_back_is_given_up():
    world = World(CUT, REFUSED)

    with pytest.raises(ServerAway, match="refused"):
        world.forward()
    assert MAX_OUTAGE_S - 2 <= world.now <= MAX_OUTAGE_S


def test_a_server_frozen_from_the_start_is_not_waited_for():
    world = World(After(40, ServerSilent(had_answered=False)))

    with pytest.raises(ServerAway):
        world.forward()
    assert len(world.requests) == 1


def test_a_server_that_froze_while_it_held_a_call_is_asked_again():
    silent = After(40, ServerSilent(had_answered=False))
    world = World(After(100, ServerSilent(had_answered=True)), silent, silent, YES)

    assert world.forward() == {"it": "ran"}


def test_each_of_several_restarts_is_waited_for():
    away = [REFUSED] * int(MAX_OUTAGE_S - 10)
    world = World(CUT, *away, CUT, *away, YES)

    assert world.forward() == {"it": "ran"}


def test_it_gives_up_before_its_own_time_is_over():
    world = World(CUT, REFUSED)

    with pytest.raises(ServerAway):
        world.forward(timeout_s=30)
    assert world.now < 30


def test_each_request_has_the_time_that_is_left():
    world = World(CUT, REFUSED, YES)
    world.forward(timeout_s=100)

    left_s = [request.timeout_s for request in world.requests]
    assert (left_s[0], left_s[2]) == (100, 100 - world.now)
    assert left_s[0] > left_s[1] > left_s[2]


def test_forwarders_that_a_restart_cut_off_do_not_all_retry_at_once():
    worlds = [World(CUT, *[REFUSED] * 3, YES) for _ in range(20)]
    for world in worlds:
        world.forward(timeout_s=100)

    moments = [{world.requests[n].timeout_s for world in worlds} for n in range(1, 5)]
    assert [len(each) for each in moments] == [20] * 4


@pytest.mark.parametrize("before", [[], [CUT]])
def test_a_refusal_of_the_server_is_final(before):
    with pytest.raises(ServerRefused):
        World(*before, NO).forward()


@pytest.mark.parametrize("page", [Response(status=200), Response(status=403)])
def test_a_proxys_page_is_no_answer(page):
    with pytest.raises(ServerAway, match=str(page.status)):
        World(page).forward()


@pytest.mark.parametrize("page", [Response(status=200), Response(status=403), Response(status=404)])
def test_a_proxys_page_during_a_restart_is_waited_out(page):
    assert World(CUT, REFUSED, *[page] * 20, YES).forward() == {"it": "ran"}


def test_a_proxy_without_a_server_is_no_restart():
    with pytest.raises(ServerAway):
        World(Response(status=502)).forward()


@pytest.mark.parametrize("status", [502, 504, 524])
def test_a_proxy_with_a_shorter_timeout_is_asked_again(status):
    cut_off = [After(60, Response(status=status))] * 30

    assert World(*cut_off, YES).forward() == {"it": "ran"}


def test_a_proxy_whose_server_is_gone_is_not_waited_for():
    world = World(After(60, Response(status=504)))
    world.probed = Response(status=504)

    with pytest.raises(ServerAway):
        world.forward()


def test_a_server_that_restarts_behind_its_proxy_is_waited_for():
    world = World(After(60, Response(status=502)), *[Response(status=502)] * 20, YES)
    world.probed = Response(status=502)

    assert world.forward() == {"it": "ran"}


def test_a_connection_that_died_during_a_hold_is_no_answer():
    dead = After(90, TimeoutError("connection timed out"))

    assert World(dead, REFUSED, YES).forward() == {"it": "ran"}


class Server(LoopbackServer):
    """Holds the call it is asked about, and answers others until it stands still."""

    def __init__(self, *, answers):
        super().__init__()
        self.left, self.thawed = answers, threading.Event()

    def answer(self, asked):
        self.requests.append(asked)
        is_probe = asked.body["hook_event_name"] == "Probe"
        if not is_probe or self.left <= 0:
            self.thawed.wait(60)
        self.left -= is_probe
        return 200, {"it": "ran"}


# What it answers, it answers in that time.
@pytest.mark.parametrize(("answers", "early_s"), [(0, 0.1), (1, 1.0), (2, 1.0)])
def test_a_server_that_accepts_connections_and_never_answers_is_given_up(
    monkeypatch, answers, early_s
):
    monkeypatch.setattr(forwarding, "EARLY_PROBES_S", (0.05, 0.1))
    monkeypatch.setattr(forwarding, "PROBE_INTERVAL_S", 0.2)
    monkeypatch.setattr(forwarding, "EARLY_PROBE_TIMEOUT_S", early_s)
    monkeypatch.setattr(forwarding, "PROBE_TIMEOUT_S", 0.2)
    server = Server(answers=answers)
    server.start()
    transport = ProbingTransport(replace(HERE, url=server.url))
    body = {"hook_event_name": "PreToolUse"}

    with pytest.raises(ServerSilent) as raised:
        transport.send(Request(method="POST", path="hooks/codex/", body=body, timeout_s=60))

    assert raised.value.had_answered is (answers > 0)
    server.thawed.set()
    asked = Request(method="POST", path="hooks/codex/", body=body, timeout_s=60)
    assert transport.send(asked) == YES
    transport.close()
    server.stop()


def test_probes_do_not_disturb_a_held_call(monkeypatch):
    monkeypatch.setattr(forwarding, "EARLY_PROBES_S", ())
    monkeypatch.setattr(forwarding, "PROBE_INTERVAL_S", 0.05)
    server = Server(answers=1_000)
    server.start()
    wait_for_probes = threading.Thread(target=lambda: let_go_after(server, probes=3))
    wait_for_probes.start()

    connection = replace(HERE, url=server.url)
    assert forward(connection, {"hook_event_name": "PreToolUse"}, timeout_s=60) == {"it": "ran"}
    assert sum(asked.body["hook_event_name"] == "PreToolUse" for asked in server.requests) == 1
    server.stop()


class Busy(LoopbackServer):
    """Answers the call once it is asked beside it, and that question never."""

    def __init__(self):
        super().__init__()
        self.is_asked, self.ends = threading.Event(), threading.Event()

    def answer(self, asked):
        is_probe = asked.body["hook_event_name"] == "Probe"
        if is_probe:
            self.is_asked.set()
        (self.ends if is_probe else self.is_asked).wait(60)
        return 200, {"it": "ran"}


@pytest.mark.parametrize("early", [(0.05,), ()])
def test_an_answer_does_not_wait_for_a_probe(monkeypatch, early):
    monkeypatch.setattr(forwarding, "EARLY_PROBES_S", early)
    monkeypatch.setattr(forwarding, "EARLY_PROBE_TIMEOUT_S", 60.0)
    monkeypatch.setattr(forwarding, "PROBE_INTERVAL_S", 0.05 if not early else 30.0)
    monkeypatch.setattr(forwarding, "PROBE_TIMEOUT_S", 60.0)
    server = Busy()
    server.start()
    connection = replace(HERE, url=server.url)
    with ThreadPoolExecutor(1) as agent:
        call = agent.submit(forward, connection, {"hook_event_name": "PreToolUse"}, timeout_s=90)

        assert call.result(timeout=20) == {"it": "ran"}
        server.ends.set()
    server.stop()


def let_go_after(server, *, probes):
    wait_for(lambda: len(server.requests) > probes)
    server.thawed.set()
