"""The forwarder's patience: what it waits for, and what it does not."""

import http.client
from dataclasses import dataclass
from typing import Any

import pytest

from guard.errors import ServerAway, ServerRefused
from guard.hooks.forwarding import RETURNS_WITHIN_S, forward
from guard.sdk.exchange import Answer
from guard.sdk.keys import USER_WIDE, Connection

HERE = Connection(client="codex", place=USER_WIDE, url="http://127.0.0.1:9", key="mc_k")
CUT, REFUSED = http.client.RemoteDisconnected("cut"), ConnectionRefusedError("refused")
YES = Answer(status=200, body={"it": "ran"})


@dataclass
class After:
    """What is said after so many seconds of waiting."""

    seconds: float
    said: Any


class World:
    """A server by script, and a clock that only sleeping moves."""

    def __init__(self, *script):
        self.script, self.asked, self.now = list(script), [], 0.0
        self.probed = YES

    def send(self, request):
        if request.body["hook_event_name"] == "Probe":
            return self.probed
        self.asked.append(request)
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(answer, After):
            self.now, answer = self.now + answer.seconds, answer.said
        if isinstance(answer, Answer):
            return answer
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


def test_it_goes_on_waiting_over_a_restart():
    world = World(CUT, REFUSED, REFUSED, Answer(status=503), YES)

    assert world.forward() == {"it": "ran"}
    assert len({str(request.body) for request in world.asked}) == 1


def test_a_server_that_is_away_from_the_start_is_not_waited_for():
    world = World(REFUSED)

    with pytest.raises(ServerAway):
        world.forward()
    assert len(world.asked) == 1


def test_a_server_that_does_not_come_back_is_given_up():
    world = World(CUT, REFUSED)

    with pytest.raises(ServerAway, match="refused"):
        world.forward()
    assert RETURNS_WITHIN_S - 2 <= world.now <= RETURNS_WITHIN_S


def test_restarts_in_a_row_are_each_waited_for():
    away = [REFUSED] * int(RETURNS_WITHIN_S - 10)
    world = World(CUT, *away, CUT, *away, YES)

    assert world.forward() == {"it": "ran"}


def test_it_gives_up_before_its_own_time_is_over():
    world = World(CUT, REFUSED)

    with pytest.raises(ServerAway):
        world.forward(timeout_s=30)
    assert world.now < 30


def test_each_asking_has_the_time_that_is_left():
    world = World(CUT, REFUSED, YES)
    world.forward(timeout_s=100)

    assert [request.timeout_s for request in world.asked] == [100, 99, 98]


@pytest.mark.parametrize("script", [[Answer(status=403)], [CUT, Answer(status=403)]])
def test_a_server_that_says_no_is_believed(script):
    with pytest.raises(ServerRefused):
        World(*script).forward()


def test_a_proxy_without_a_server_is_no_restart():
    with pytest.raises(ServerRefused):
        World(Answer(status=502)).forward()


@pytest.mark.parametrize("status", [502, 504, 524])
def test_a_proxy_that_does_not_wait_as_long_is_asked_again_and_again(status):
    cut_off = [After(60, Answer(status=status))] * 30

    assert World(*cut_off, YES).forward() == {"it": "ran"}


def test_a_proxy_whose_server_is_gone_is_not_waited_for():
    world = World(After(60, Answer(status=504)))
    world.probed = Answer(status=504)

    with pytest.raises(ServerRefused):
        world.forward()


def test_a_server_that_restarts_behind_its_proxy_is_waited_for():
    world = World(After(60, Answer(status=502)), *[Answer(status=502)] * 20, YES)
    world.probed = Answer(status=502)

    assert world.forward() == {"it": "ran"}


def test_a_line_that_went_dead_under_a_hold_is_no_answer():
    dead = After(90, TimeoutError("connection timed out"))

    assert World(dead, REFUSED, YES).forward() == {"it": "ran"}
