"""Keys are rotated under a working agent: real sessions, a real Mission Control."""

import pytest

from guard import Session
from tests.contract.conversation import the_person_of
from tests.installations import wait_for


@pytest.fixture
def person(installation):
    return the_person_of(installation)


@pytest.fixture
def keys(person, installation):
    """Two live keys of the project; what is left of them is revoked."""
    made = [
        person.ask("POST", "/api/v1/keys/", {"name": name, "project": installation.project}).json
        for name in ("old", "new")
    ]
    yield made
    for key in made:
        person.ask("DELETE", f"/api/v1/keys/{key['id']}/")


def do(session, command):
    go = session.before("Bash", {"command": command})
    session.after(go, result="ok")
    return session.run_id


def test_two_keys_work_until_the_old_one_is_revoked(installation, person, keys):
    old, new = keys
    where = {"url": installation.url, "mode": "pause", "run_key": f"rotated-{old['id']}"}

    with Session("rotated", key=old["secret"], **where) as session:
        run = do(session, "ls")
        person.ask("DELETE", f"/api/v1/keys/{old['id']}/")
        wait_for(lambda: _status(installation, old["secret"]) == 401)
    with Session("rotated", key=new["secret"], **where) as session:
        assert do(session, "pwd") == run

    commands = [
        turn["args"]["command"] for turn in person.get(f"/api/v1/runs/{run}/turns/")["results"]
    ]
    assert commands == ["ls", "pwd"]


def _status(installation, secret):
    """Ask a thin endpoint, which knows keys from a cache of a few seconds."""
    from tests.contract.conversation import Caller

    agent = Caller(installation.url, {"Authorization": f"Bearer {secret}"})
    path = "/api/v1/runs/00000000-0000-7000-8000-000000000000/turns/"
    body = {"turns": [{"role": "assistant", "content": "x", "key": "k"}]}
    return agent.ask("POST", path, body).status
