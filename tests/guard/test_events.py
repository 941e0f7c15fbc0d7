"""A host hears what the engine sees, and cannot break it."""

from __future__ import annotations

import logging

from guard.engine import Engine
from guard.events import Nudged, Observed, Reset, Shadowed, Tripped
from guard.policy import Policy
from tests.guard.build import a_call, a_user

MISSING = a_call("Read", error="File does not exist.", path="tokens.py")


def emitted_by(policy, turns):
    events = []
    engine = Engine(policy, emit=events.append)
    for turn in turns:
        engine.observe(turn)
    return engine, events


def only(**fields) -> Policy:
    return Policy.from_mapping({"detectors": ["repeat"], **fields})


def test_a_host_hears_every_turn_and_what_follows_in_order():
    _, events = emitted_by(only(), [MISSING] * 3)

    assert [type(event) for event in events] == [Observed, Observed, Nudged, Observed, Tripped]
    assert events[0].turn is MISSING
    assert events[-1].signal.detector == "repeat"


def test_a_nudge_says_whether_the_agent_is_told():
    policy = only(ladder={"every": {"nudge": "tell"}})

    for given, told in ((only(), False), (policy, True)):
        emitted = emitted_by(given, [MISSING] * 2)[1]
        assert [e.sent for e in emitted if isinstance(e, Nudged)] == [told]


def test_a_shadow_is_heard_once():
    policy = only(ladder={"repeat": {"trip": "observe"}})

    _, events = emitted_by(policy, [MISSING] * 6)

    assert sum(isinstance(event, Shadowed) for event in events) == 1
    assert not any(isinstance(event, Tripped) for event in events)


def test_a_reset_says_whose_it_was():
    engine, events = emitted_by(only(), [a_user()])
    engine.reset()

    assert [event.why for event in events if isinstance(event, Reset)] == ["user", "host"]


def test_a_callback_that_fails_breaks_nothing_and_is_logged_once(caplog):
    def fail(event):
        raise RuntimeError("my dashboard is down")

    engine = Engine(only(), emit=fail)
    with caplog.at_level(logging.ERROR, logger="guard"):
        trips = [engine.observe(MISSING).trip is not None for _ in range(3)]

    assert trips == [False, False, True]
    assert len(caplog.records) == 1
    assert "Observed" in caplog.text
