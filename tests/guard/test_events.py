"""A host hears what the engine sees, and cannot break it."""

from __future__ import annotations

import logging

from guard.engine import Engine
from guard.events import Nudged, Observed, Reset, Shadowed, Tripped
from guard.policy import Policy
from tests.guard.build import a_call, a_user

MISSING = a_call("Read", error="File does not exist.", path="tokens.py")


def heard_by(policy, turns):
    heard = []
    engine = Engine(policy, emit=heard.append)
    for turn in turns:
        engine.observe(turn)
    return engine, heard


def only(**fields) -> Policy:
    return Policy.from_mapping({"detectors": ["repeat"], **fields})


def test_a_host_hears_every_turn_and_what_follows_in_order():
    _, heard = heard_by(only(), [MISSING] * 3)

    assert [type(event) for event in heard] == [Observed, Observed, Nudged, Observed, Tripped]
    assert heard[0].turn is MISSING
    assert heard[-1].signal.detector == "repeat"


def test_a_nudge_says_whether_the_agent_is_told():
    told = only(ladder={"every": {"nudge": "tell"}})

    assert [e.told for e in heard_by(only(), [MISSING] * 2)[1] if isinstance(e, Nudged)] == [False]
    assert [e.told for e in heard_by(told, [MISSING] * 2)[1] if isinstance(e, Nudged)] == [True]


def test_a_shadow_is_heard_once():
    policy = only(ladder={"repeat": {"trip": "observe"}})

    _, heard = heard_by(policy, [MISSING] * 6)

    assert sum(isinstance(event, Shadowed) for event in heard) == 1
    assert not any(isinstance(event, Tripped) for event in heard)


def test_a_reset_says_whose_it_was():
    engine, heard = heard_by(only(), [a_user()])
    engine.reset()

    assert [event.why for event in heard if isinstance(event, Reset)] == ["user", "host"]


def test_a_callback_that_fails_breaks_nothing_and_is_logged_once(caplog):
    def fail(event):
        raise RuntimeError("my dashboard is down")

    engine = Engine(only(), emit=fail)
    with caplog.at_level(logging.ERROR, logger="guard"):
        trips = [engine.observe(MISSING).trip is not None for _ in range(3)]

    assert trips == [False, False, True]
    assert len(caplog.records) == 1
    assert "Observed" in caplog.text
