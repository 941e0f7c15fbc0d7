"""Sockets: who may listen, and that what they hear equals what is fetched."""

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from celery.signals import worker_ready
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper
from redis.asyncio import Redis

from missioncontrol import asgi, broadcast, live
from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import PersonalToken, Role
from missioncontrol.decisions import interventions
from missioncontrol.detection import tasks
from missioncontrol.live import serve_socket
from missioncontrol.projects import access, members
from missioncontrol.runs import journal, publishing
from missioncontrol.runs.lifecycle import Move
from tests.build import NOON, a_call, a_person, a_run, after, put, report
from tests.missioncontrol.test_subscriptions import cut

pytestmark = pytest.mark.django_db(transaction=True)


def listening(path, token=None, **headers):
    given = {"host": "testserver", **headers}
    if token:
        given["authorization"] = f"Bearer {token}"
    pairs = [(name.encode(), value.encode()) for name, value in given.items()]
    return WebsocketCommunicator(serve_socket, path, headers=pairs)


@pytest.fixture
def token(owner):
    return accounts.mint_personal_token(user=owner, name="test", at=NOON).secret


@pytest.fixture
def token_of_a_stranger(stranger):
    return accounts.mint_personal_token(user=stranger, name="test", at=NOON).secret


async def refusal(socket):
    await socket.connect(timeout=60)
    message = await socket.receive_output(timeout=60)
    return message["code"]


async def test_the_first_frame_is_a_snapshot(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)

    await socket.connect(timeout=60)
    frame = json.loads(await socket.receive_from(timeout=60))

    assert frame["type"] == "snapshot"
    assert [row["id"] for row in frame["runs"]] == [str(run.id)]
    assert frame["seq"] == {str(run.id): 0}
    await socket.disconnect()


async def test_events_follow_with_dense_seq(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/runs/{run.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(report)(run, a_call("ls"), a_call("pwd"))
    events = await events_of(socket, 2)

    assert [event["seq"] for event in events] == [1, 2]
    assert events[0]["turn"]["args"] == {"command": "ls"}
    await socket.disconnect()


async def test_events_of_a_board_contain_no_whole_turns(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(report)(run, a_call("ls"))
    (event,) = await events_of(socket, 1)

    assert (event["type"], event["turn"]) == ("turn.recorded", None)
    await socket.disconnect()


async def test_meters_contain_every_new_point_of_the_tape_once(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    for number in range(6):
        await sync_to_async(report)(run, a_call(f"cat {number}"))
    points, judged = [], 0
    while judged < 6:
        frame = json.loads(await socket.receive_from(timeout=60))
        if frame["type"] == "meters":
            meters = frame["runs"][str(run.id)]
            judged = meters["judged_turns"]
            start = judged - len(meters["tape"])
            points = [*points[:start], *meters["tape"]]

    fetched = await sync_to_async(lambda: type(run).objects.get(pk=run.pk).meters.tape)()
    assert points == fetched
    await socket.disconnect()


async def test_a_new_status_comes_with_the_meters(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    end = sync_to_async(interventions.report_end)
    await end(run.id, "completed", projects=[project.id], by="agent", at=NOON)
    # Meters of its opening may still be on their way.
    (moved,) = await events_of(socket, 1)
    meters = json.loads(await socket.receive_from(timeout=10))

    assert (moved["type"], moved["status"]) == ("run.moved", "completed")
    assert meters["runs"][str(run.id)]["turns"] == 0
    await socket.disconnect()


def end_without_publishing(run, at):
    """End a run as a process does that is killed between the commit and telling of it."""
    with journal.lock_run(run.id, at=at) as (tx, one):
        tx.is_silent = True
        tx.move(one, Move.END, by="agent", reason="the session ended")


async def test_events_that_a_killed_process_did_not_publish_are_published_by_the_next(
    project, token
):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(end_without_publishing)(run, after(1))
    await sync_to_async(tasks.tell_again)(after(2).isoformat())
    (event,) = await events_of(socket, 1)

    assert (event["type"], event["status"], event["seq"]) == ("run.moved", "completed", 1)
    assert event["reason"] == "the session ended"
    await socket.disconnect()


async def test_a_starting_worker_publishes_them_again():
    async with Redis.from_url(settings.BROKER_URL) as broker:
        await broker.delete(settings.CELERY_TASK_DEFAULT_QUEUE)
        await sync_to_async(worker_ready.send)(sender=None)
        (message,) = await broker.lrange(settings.CELERY_TASK_DEFAULT_QUEUE, 0, -1)

    assert json.loads(message)["headers"]["task"] == tasks.tell_again.name


async def test_a_starting_server_with_lifespan_publishes_them_again():
    server = ApplicationCommunicator(asgi.application, {"type": "lifespan"})
    async with Redis.from_url(settings.BROKER_URL) as broker:
        await broker.delete(settings.CELERY_TASK_DEFAULT_QUEUE)
        await server.send_input({"type": "lifespan.startup"})
        started = await server.receive_output(60)
        _, message = await broker.blpop(settings.CELERY_TASK_DEFAULT_QUEUE, 60)
        await server.send_input({"type": "lifespan.shutdown"})
        await server.wait(60)

    assert started["type"] == "lifespan.startup.complete"
    assert json.loads(message)["headers"]["task"] == tasks.tell_again.name


async def test_an_event_that_is_published_again_keeps_its_number(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/runs/{run.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(report)(run, a_call("ls"), at=after(1))
    (first,) = await events_of(socket, 1)
    await sync_to_async(publishing.republish_events)(since=NOON, until=after(1))
    (again,) = await events_of(socket, 1)

    assert again == {**first, "turn": None}
    await socket.disconnect()


async def test_nothing_is_published_again_while_no_process_starts(project, token, monkeypatch):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/runs/{run.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(report)(run, a_call("ls"), at=after(1))
    monkeypatch.setattr(tasks, "now", lambda: after(10))
    await sync_to_async(tasks.sweep)()
    await sync_to_async(report)(run, a_call("pwd"), at=after(11))

    await events_of(socket, 2)
    await socket.disconnect()


async def test_a_run_that_has_continued_publishes_nothing_again(project, token):
    run = await sync_to_async(a_run)(project)
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(report)(run, a_call("ls"), at=after(1))
    await sync_to_async(report)(run, a_call("pwd"), at=after(3))
    await sync_to_async(publishing.republish_events)(since=NOON, until=after(2))
    await sync_to_async(report)(run, a_call("id"), at=after(4))

    await events_of(socket, 3)
    await socket.disconnect()


async def test_sockets_that_join_while_turns_come_in_miss_none(project, token):
    """The first of them come while frames are made for nobody."""
    run = await sync_to_async(a_run)(project)
    listeners = []
    for number in range(60):
        if number % 5 == 0:
            listeners.append(asyncio.create_task(_receive_until(60, run, token)))
        await sync_to_async(put)(run, a_call(f"cat {number}"))

    known = await asyncio.gather(*listeners)

    assert len(set(known)) > 3


async def _receive_until(last, run, token):
    """Open a run's page and hear all events up to the last; return what was known at first."""
    socket = listening(f"/ws/runs/{run.id}/", token)
    await socket.connect(timeout=60)
    known = json.loads(await socket.receive_from(timeout=60))["seq"][str(run.id)]
    await events_of(socket, last - known, after=known)
    await socket.disconnect()
    return known


async def test_without_a_session_or_token_it_is_closed_with_4401(project):
    assert await refusal(listening(f"/ws/projects/{project.id}/")) == 4401


async def test_a_session_from_another_origin_is_closed_with_4401(project, as_person, owner):
    client = await sync_to_async(as_person)(owner)
    cookie = f"mc_session={client.cookies['mc_session'].value}"

    foreign = listening(f"/ws/projects/{project.id}/", origin="https://evil.test", cookie=cookie)
    own = listening(f"/ws/projects/{project.id}/", origin="http://testserver", cookie=cookie)

    assert await refusal(foreign) == 4401
    await own.connect(timeout=60)
    assert json.loads(await own.receive_from(timeout=60))["type"] == "snapshot"
    await own.disconnect()


async def test_our_page_under_another_scheme_or_host_is_closed_with_4401(
    project, as_person, owner, token
):
    client = await sync_to_async(as_person)(owner)
    cookie = f"mc_session={client.cookies['mc_session'].value}"
    path = f"/ws/projects/{project.id}/"

    by_tls = listening(path, origin="https://testserver", cookie=cookie)
    rebound = listening(path, host="evil.test", origin="http://evil.test", cookie=cookie)
    script = listening(path, token, host="evil.test")

    assert [await refusal(one) for one in (by_tls, rebound, script)] == [4401] * 3


async def test_a_page_over_tls_opens_a_socket_over_tls(project, as_person, owner):
    client = await sync_to_async(as_person)(owner)
    cookie = f"__Host-mc_session={client.cookies['mc_session'].value}"
    path = f"/ws/projects/{project.id}/"
    own = listening(path, origin="https://testserver", cookie=cookie)
    own.scope["scheme"] = "wss"
    plain = listening(path, origin="http://testserver", cookie=cookie)
    plain.scope["scheme"] = "wss"

    await own.connect(timeout=60)
    assert json.loads(await own.receive_from(timeout=60))["type"] == "snapshot"
    await own.disconnect()
    assert await refusal(plain) == 4401


async def test_a_strangers_project_and_run_are_closed_with_4403(project, token_of_a_stranger):
    run = await sync_to_async(a_run)(project)

    assert await refusal(listening(f"/ws/projects/{project.id}/", token_of_a_stranger)) == 4403
    assert await refusal(listening(f"/ws/runs/{run.id}/", token_of_a_stranger)) == 4403


@pytest.mark.parametrize("how", ["revoked", "signed out"])
async def test_a_socket_closes_at_once_when_what_opened_it_is_gone(
    how, project, owner, token, as_person
):
    client = await sync_to_async(as_person)(owner)
    cookie = f"mc_session={client.cookies['mc_session'].value}"
    by_session = {"origin": "http://testserver", "cookie": cookie}
    opened = {"token": token} if how == "revoked" else by_session
    socket = listening(f"/ws/projects/{project.id}/", **opened)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(_revoke)(how, owner)

    assert await _close_code(socket) == 4401


def _revoke(how, owner):
    fields = {"user": owner, "by": "ana", "at": NOON}
    if how == "revoked":
        access.revoke_token(PersonalToken.objects.get(user=owner).id, **fields)
    else:
        access.end_other_sessions(current_key=None, **fields)


@pytest.mark.parametrize("word", ["projects", "runs"])
async def test_a_socket_closes_at_once_when_its_person_is_removed(word, project, owner, token):
    run = await sync_to_async(a_run)(project)
    bea = await sync_to_async(a_person)("bea", project, "owner")
    socket = listening(f"/ws/{word}/{project.id if word == 'projects' else run.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(members.remove_member)(project.id, owner.pk, by=bea, at=NOON)

    assert await _close_code(socket) == 4403
    await socket.disconnect(timeout=60)


async def test_a_database_outage_does_not_end_the_access_checks(project, owner, token, monkeypatch):
    bea = await sync_to_async(a_person)("bea", project, "owner")
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)
    refused = asyncio.Event()

    def away(*_):
        refused.set()
        raise OperationalError("the server went away")

    with monkeypatch.context() as patched:
        patched.setattr(CursorWrapper, "execute", away)
        await sync_to_async(broadcast.recheck_access)(owner.pk)
        await asyncio.wait_for(refused.wait(), 60)
        await asyncio.sleep(0.2)
    await sync_to_async(members.remove_member)(project.id, owner.pk, by=bea, at=NOON)

    assert await _close_code(socket) == 4403
    await socket.disconnect(timeout=60)


@pytest.mark.parametrize("word", ["projects", "runs"])
async def test_a_socket_that_missed_messages_makes_its_browser_reconnect(word, project, token):
    run = await sync_to_async(a_run)(project)
    path = f"/ws/{word}/{project.id if word == 'projects' else run.id}/"
    socket = listening(path, token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    async with Redis.from_url(settings.BROKER_URL) as broker:
        await cut(broker)

    assert await _close_code(socket) == 4012
    await socket.disconnect(timeout=60)
    again = listening(path, token)
    await again.connect(timeout=60)
    snapshot = json.loads(await again.receive_from(timeout=60))
    assert snapshot["type"] == "snapshot"
    await sync_to_async(put)(run, a_call("ls"))
    (event,) = await events_of(again, 1, after=snapshot["seq"][str(run.id)])
    assert event["type"] == "turn.recorded"
    await again.disconnect(timeout=60)


async def test_a_person_with_access_stays_connected(project, owner, token):
    bea = await sync_to_async(a_person)("bea", project, "owner")
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    await sync_to_async(members.change_role)(project.id, owner.pk, Role.VIEWER, by=bea, at=NOON)
    (event,) = await events_of(socket, 1, after=-1)

    assert (event["type"], event["what"]) == (
        "access.changed",
        "changed “ana” from owner to viewer",
    )
    assert await socket.receive_nothing(timeout=0.5)
    await socket.disconnect(timeout=60)


async def test_an_idle_socket_receives_a_keepalive(project, token, monkeypatch):
    monkeypatch.setattr(live, "ACCESS_CHECK_INTERVAL_S", 0.05)
    socket = listening(f"/ws/projects/{project.id}/", token)
    await socket.connect(timeout=60)
    await socket.receive_from(timeout=60)

    heard = [json.loads(await socket.receive_from(timeout=60)) for _ in range(2)]

    assert heard == [{"type": "meters", "runs": {}}] * 2
    await socket.disconnect(timeout=60)


async def _close_code(socket):
    while True:
        message = await socket.receive_output(timeout=60)
        if message["type"] == "websocket.close":
            return message["code"]


async def test_an_address_that_is_not_there_is_closed_with_4403(db):
    assert await refusal(listening("/ws/nowhere/", "mcu_x")) == 4403


async def events_of(socket, count, *, after=0):
    """Return the next events above the snapshot's `seq`, as a client takes them: dense."""
    events = []
    while len(events) < count:
        frame = json.loads(await asyncio.wait_for(socket.receive_from(timeout=60), 60))
        if frame["type"] == "batch":
            events += [event for event in frame["events"] if event["seq"] > after]
        elif frame["type"] != "meters" and frame["seq"] > after:
            events.append(frame)
    assert [event["seq"] for event in events] == [after + 1 + n for n in range(len(events))]
    return events
