"""Every socket by every caller: members hear what happens, nobody else does."""

from __future__ import annotations

import json

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from missioncontrol import live
from missioncontrol.accounts import services as accounts
from tests.build import NOON, a_run
from tests.missioncontrol.api.test_roles import SOCKETS


async def first_of(place, path, headers):
    pairs = [(b"host", b"testserver"), *headers]
    socket = WebsocketCommunicator(live.serve_socket, path, headers=pairs)
    await socket.connect(timeout=60)
    message = await socket.receive_output(timeout=60)
    await socket.disconnect(timeout=60)
    return message.get("code") or json.loads(message["text"])["type"]


WANTED = {
    "owner": "snapshot",
    "operator": "snapshot",
    "viewer": "snapshot",
    "stranger": 4403,
    "agent": 4401,
    "nobody": 4401,
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("caller", sorted(WANTED))
@pytest.mark.parametrize("word", sorted(SOCKETS))
async def test_a_socket_serves_only_members(word, caller, project, people):
    run = await sync_to_async(a_run)(project)
    place = {"project": project, "run": run}[SOCKETS[word]].id

    answer = await first_of(place, f"/ws/{word}/{place}/", people[caller])

    assert answer == WANTED[caller]


@pytest.fixture
def people(owner, operator, viewer, stranger, project):
    """The headers that each caller opens a socket with."""
    members = {"owner": owner, "operator": operator, "viewer": viewer, "stranger": stranger}
    secrets = {
        name: accounts.mint_personal_token(user=user, name="t", at=NOON).secret
        for name, user in members.items()
    }
    secrets["agent"] = accounts.mint_agent_key(project=project, name="k", at=NOON).secret
    sent = {name: [(b"authorization", f"Bearer {it}".encode())] for name, it in secrets.items()}
    return {**sent, "nobody": []}
