"""The cache of agent keys: simultaneous requests share one lookup."""

import asyncio

import pytest

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.tokens import digest
from missioncontrol.api import keys
from missioncontrol.errors import NotSignedIn
from tests.build import NOON

MANY = 50


@pytest.fixture
def lookups(monkeypatch):
    """Which keys were looked up in the database."""
    seen, find = [], keys.find_holder

    def noted(hashed):
        seen.append(hashed)
        return find(hashed)

    monkeypatch.setattr(keys, "find_holder", noted)
    return seen


@pytest.fixture
def token(project):
    return accounts.mint_agent_key(project=project, name="test", at=NOON).secret


async def request_simultaneously(token):
    return await asyncio.gather(
        *(keys.holder_of(token) for _ in range(MANY)), return_exceptions=True
    )


@pytest.mark.django_db(transaction=True)
async def test_simultaneous_requests_with_an_expired_cache_entry_share_one_lookup(
    project, token, lookups
):
    for _ in range(2):
        keys.forget(digest(token))
        holders = await request_simultaneously(token)

        assert {holder.project for holder in holders} == {project.id}

    assert len(lookups) == 2


@pytest.mark.django_db(transaction=True)
async def test_simultaneous_requests_with_an_unknown_key_share_one_lookup(lookups):
    refused = await request_simultaneously("mc_nobodys")

    assert all(isinstance(one, NotSignedIn) for one in refused)
    assert len(lookups) == 1


@pytest.mark.django_db(transaction=True)
async def test_a_caller_that_hangs_up_does_not_cancel_the_shared_lookup(project, token, lookups):
    keys.forget(digest(token))
    first = asyncio.ensure_future(keys.holder_of(token))
    second = asyncio.ensure_future(keys.holder_of(token))
    await asyncio.sleep(0)

    first.cancel()

    assert (await second).project == project.id
    assert len(lookups) == 1
