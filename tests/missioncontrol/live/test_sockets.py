"""Sockets: who may listen, and that what they hear equals what is fetched."""

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import PersonalToken
from missioncontrol.live.consumers import BoardConsumer
from missioncontrol.live.routing import sockets
from missioncontrol.oversight import access
from tests.build import NOON, a_call, a_run, report

pytestmark = pytest.mark.django_db(transaction=True)


def listening(path, token=None, **headers):
    given = {"authorization": f"Bearer {token}"} if token else headers
    pairs = [(name.encode(), value.encode()) for name, value in given.items()]
    return WebsocketCommunicator(sockets, path, headers=pairs)


@pytest.fixture
def token(owner):
    return accounts.mint_personal_token(user=owner, name="test", at=NOON).secret


@pytest.fixture
def strangers_token(stranger):
    return accounts.mint_personal_token(user=stranger, name="test", at=NOON).secret


async def refusal(socket):
    await socket.connect(timeout=20)
    message = await socket.receive_output(timeout=20)
    return message["code"]


async def test_the_first_frame_is_a_snapshot(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)

    await socket.connect(timeout=20)
    frame = json.loads(await socket.receive_from(timeout=20))

    assert frame["type"] == "snapshot"
    assert [row["id"] for row in frame["runs"]] == [str(run.id)]
    assert frame["seq"] == {str(run.id): 0}
    await socket.disconnect()


async def test_events_follow_with_dense_seq(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/runs/{run.id}/", token)
    await socket.connect(timeout=20)
    await socket.receive_from(timeout=20)

    await sync_to_async(report)(run, a_call("ls"), a_call("pwd"))
    heard = await events_of(socket, 2)

    assert [event["seq"] for event in heard] == [1, 2]
    assert heard[0]["turn"]["args"] == {"command": "ls"}
    await socket.disconnect()


async def test_a_boards_events_carry_no_whole_turns(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=20)
    await socket.receive_from(timeout=20)

    await sync_to_async(report)(run, a_call("ls"))
    (event,) = await events_of(socket, 1)

    assert (event["type"], event["turn"]) == ("turn.recorded", None)
    await socket.disconnect()


async def test_meters_carry_every_new_point_of_the_tape_once(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=20)
    await socket.receive_from(timeout=20)

    for number in range(6):
        await sync_to_async(report)(run, a_call(f"cat {number}"))
    points, judged = [], 0
    while judged < 6:
        frame = json.loads(await socket.receive_from(timeout=20))
        if frame["type"] == "meters":
            meters = frame["runs"][str(run.id)]
            judged = meters["judged_turns"]
            start = judged - len(meters["tape"])
            points = [*points[:start], *meters["tape"]]

    fetched = await sync_to_async(lambda: type(run).objects.get(pk=run.pk).tape)()
    assert points == fetched
    await socket.disconnect()


async def test_between_two_frames_of_meters_there_is_a_quarter_of_a_second():
    consumer = BoardConsumer()
    sent, pauses, may_go_on = [], [], asyncio.Event()

    async def pause(seconds):
        pauses.append(seconds)
        await may_go_on.wait()

    async def send(text):
        sent.append(json.loads(text)["runs"]["a"]["turns"])

    consumer._meters, consumer._ticking, consumer.pause, consumer.send = {}, None, pause, send
    for turns in range(1, 101):
        consumer._note("a", {"turns": turns, "judged_turns": 0, "tape": []})
        await asyncio.sleep(0)
    assert (sent, pauses) == ([1], [0.25])  # ninety-nine more came meanwhile

    may_go_on.set()
    await consumer._ticking
    assert (sent, pauses) == ([1, 100], [0.25, 0.25])


async def test_without_a_session_or_token_it_is_closed_with_4401(project):
    assert await refusal(listening(f"/ws/projects/{project.id}/")) == 4401


async def test_a_session_from_another_origin_is_closed_with_4401(project, as_person, owner):
    client = await sync_to_async(as_person)(owner)
    cookie = f"sessionid={client.cookies['sessionid'].value}"

    foreign = listening(
        f"/ws/projects/{project.id}/", host="mc.test", origin="https://evil.test", cookie=cookie
    )
    own = listening(
        f"/ws/projects/{project.id}/", host="mc.test", origin="https://mc.test", cookie=cookie
    )

    assert await refusal(foreign) == 4401
    await own.connect(timeout=20)
    assert json.loads(await own.receive_from(timeout=20))["type"] == "snapshot"
    await own.disconnect()


async def test_a_strangers_project_and_run_are_closed_with_4403(project, strangers_token):
    run = await sync_to_async(a_run)(project)

    assert await refusal(listening(f"/ws/projects/{project.id}/", strangers_token)) == 4403
    assert await refusal(listening(f"/ws/runs/{run.id}/", strangers_token)) == 4403


@pytest.mark.parametrize("how", ["revoked", "signed out"])
async def test_a_socket_closes_at_once_when_what_opened_it_is_gone(
    how, project, owner, token, as_person
):
    client = await sync_to_async(as_person)(owner)
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    by_session = {"host": "mc.test", "origin": "https://mc.test", "cookie": cookie}
    opened = {"token": token} if how == "revoked" else by_session
    socket = listening(f"/ws/projects/{project.id}/", **opened)
    await socket.connect(timeout=20)
    await socket.receive_from(timeout=20)

    await sync_to_async(_take_away)(how, owner)

    assert await _close_code(socket) == 4401


def _take_away(how, owner):
    told = {"user": owner, "by": "ana", "at": NOON}
    if how == "revoked":
        access.revoke_token(PersonalToken.objects.get(user=owner).id, **told)
    else:
        access.end_other_sessions(kept=None, **told)


async def _close_code(socket):
    while True:
        message = await socket.receive_output(timeout=20)
        if message["type"] == "websocket.close":
            return message["code"]


async def test_an_address_that_is_not_there_is_closed_with_4403(db):
    assert await refusal(listening("/ws/nowhere/", "mcu_x")) == 4403


async def events_of(socket, count, *, after=0):
    """Return the next events above the snapshot's `seq`, as a client takes them."""
    heard = []
    while len(heard) < count:
        frame = json.loads(await asyncio.wait_for(socket.receive_from(timeout=20), 20))
        if frame["type"] == "batch":
            heard += [event for event in frame["events"] if event["seq"] > after]
        elif frame["type"] != "meters" and frame["seq"] > after:
            heard.append(frame)
    return heard
