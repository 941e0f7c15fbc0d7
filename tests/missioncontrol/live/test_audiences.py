"""What an audience is told: everything once, in order, encoded once, and not too often."""

import asyncio
import json

import pytest

from missioncontrol.broadcast import new_frame
from missioncontrol.live import Audience


class Clockwork:
    """An audience whose pauses end when the test says so."""

    def __init__(self, sockets=1):
        self.audience, self.sent, self.pauses = Audience(), [[] for _ in range(sockets)], []
        self.audience.pause = self.pause
        self._may_go_on = asyncio.Event()
        for texts in self.sent:
            self.audience.sockets[self._socket(texts)] = None

    @staticmethod
    def _socket(texts):
        async def hear(text):
            texts.append(text)

        return hear

    async def pause(self, at_once, seconds):
        self.pauses.append(seconds)
        await self._may_go_on.wait()
        self._may_go_on.clear()

    async def take(self, **brought):
        self.audience.add_frame({**new_frame(), **brought})
        await settled()

    async def go_on(self):
        self._may_go_on.set()
        await settled()


async def settled():
    for _ in range(30):
        await asyncio.sleep(0)


def of_turn(number):
    return {"a": {"turns": number, "judged_turns": number, "calls": 0, "tape": [[number, True]]}}


async def test_the_first_frame_is_sent_at_once_and_later_ones_together():
    it = Clockwork()
    for number in range(1, 101):
        await it.take(events=[f'{{"seq":{number}}}'], meters=of_turn(number))

    assert (len(it.sent[0]), it.pauses) == (2, [0.25])

    await it.go_on()
    first, _, batch, meters = (json.loads(text) for text in it.sent[0])
    assert [first["seq"], *(event["seq"] for event in batch["events"])] == [*range(1, 101)]
    assert meters["runs"]["a"]["tape"] == [[n, True] for n in range(2, 101)]
    assert it.pauses == [0.25, 0.25]


async def test_late_meters_of_an_earlier_commit_do_not_undo_newer_ones():
    it = Clockwork()
    await it.take(meters=of_turn(1))
    stored = {"turns": 3, "judged_turns": 1, "calls": 0, "tape": []}
    judged = {"turns": 3, "judged_turns": 2, "calls": 0, "tape": [[2, True]]}

    await it.take(meters={"a": judged})
    await it.take(meters={"a": stored})
    await it.go_on()

    assert json.loads(it.sent[0][-1])["runs"] == {"a": judged}


async def test_meters_of_an_end_keep_calls_that_completed_before_they_were_sent():
    it = Clockwork()
    await it.take(meters=of_turn(1))
    came_back = of_turn(2)["a"] | {"calls": 2}

    await it.take(meters={"a": came_back})
    await it.take(meters={"a": came_back | {"calls": 1, "tape": []}})
    await it.go_on()

    assert json.loads(it.sent[0][-1])["runs"] == {"a": came_back}


async def test_points_keep_their_places_if_one_between_is_late():
    it = Clockwork()
    await it.take(meters=of_turn(1))
    # Of the third another process tells.
    stored = {"turns": 9, "judged_turns": 3, "calls": 0, "tape": []}

    await it.take(meters=of_turn(2))
    await it.take(meters={"a": stored})
    await it.go_on()
    told = json.loads(it.sent[0][-1])["runs"]["a"]
    await it.take(meters=of_turn(4))
    await it.take(meters=of_turn(6))
    await it.go_on()

    assert told == {"turns": 9, "judged_turns": 2, "calls": 0, "tape": [[2, True]]}
    assert json.loads(it.sent[0][-1])["runs"] == of_turn(6)


async def test_all_sockets_receive_the_same_text():
    it = Clockwork(sockets=3)

    await it.take(events=['{"seq":1}'], meters=of_turn(1))

    assert len({id(texts[1]) for texts in it.sent}) == 1
    assert it.sent[0] == it.sent[1] == it.sent[2]


async def test_many_sockets_are_sent_to_less_often():
    it = Clockwork(sockets=200)

    await it.take(events=['{"seq":1}'])
    for _ in range(300):
        await asyncio.sleep(0)

    assert it.pauses == [pytest.approx(0.4)]


async def test_an_event_that_a_person_may_have_to_answer_does_not_wait():
    audience, received = Audience(), []

    async def hear(text):
        received.append(text)

    audience.sockets[hear] = None
    audience.add_frame({**new_frame(), "events": ["1"]})
    await settled()
    audience.add_frame({**new_frame(), "events": ["2"]})
    await settled()
    assert received == ["1"]

    audience.add_frame({**new_frame(), "events": ["3"], "at_once": True})
    await settled()
    assert received == ["1", '{"type":"batch","events":[2,3]}']
    audience.close()


async def test_a_failing_socket_does_not_keep_frames_from_the_others(caplog):
    it = Clockwork(sockets=1)

    async def broken(text):
        raise ConnectionError("gone")

    sockets = it.audience.sockets
    it.audience.sockets = {broken: None, **sockets}
    await it.take(events=["1"])
    await it.take(events=["2"])
    await it.go_on()

    assert it.sent == [["1", "2"]]
    assert caplog.text.count("could not be told") == 1


async def test_a_socket_that_left_receives_nothing_more():
    it = Clockwork(sockets=2)
    await it.take(events=["1"])
    it.audience.sockets.popitem()

    await it.take(events=["2"])
    await it.go_on()

    assert it.sent == [["1", "2"], ["1"]]
