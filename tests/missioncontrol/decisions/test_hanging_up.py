"""A caller who hangs up, or whose time is over, at the very moment at which something comes."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from guard.adapters import adapter_of
from guard.adapters.hook import HookEvent
from missioncontrol.api import hook_waits
from missioncontrol.api.endpoint import CLIENT_DISCONNECTED
from missioncontrol.broadcast import wait_for_event
from missioncontrol.decisions.models import Decision
from missioncontrol.detection.dispatcher import Dispatcher
from missioncontrol.redaction import NO_REDACTION
from tests.build import a_proposal, a_run
from tests.installations import wait_for
from tests.missioncontrol.taps import tap


async def ended(waiting):
    """Return how a cancelled task ended."""
    with pytest.raises(asyncio.CancelledError) as how:
        await asyncio.wait_for(waiting, 60)
    return how.value.args


async def test_a_client_that_disconnects_when_woken_ends_its_wait():
    woken = asyncio.Event()
    waiting = asyncio.create_task(wait_for_event(woken, 3600))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    woken.set()
    await asyncio.sleep(0)
    waiting.cancel(CLIENT_DISCONNECTED)

    assert await ended(waiting) == (CLIENT_DISCONNECTED,)


async def test_a_client_that_disconnects_at_its_verdict_gets_none():
    dispatcher, run = Dispatcher(), uuid4()
    # It takes itself to be listening: no worker is needed.
    dispatcher._tasks = [asyncio.current_task()]
    waiting = asyncio.create_task(dispatcher.wait_for_verdict(run, obs=1, timeout_s=3600))
    await asyncio.sleep(0)

    dispatcher._verdict_waiters[run][0].future.set_result(None)
    waiting.cancel(CLIENT_DISCONNECTED)

    assert await ended(waiting) == (CLIENT_DISCONNECTED,)


def open_card(run, then=lambda: None):
    try:
        card = wait_for(Decision.objects.filter(run=run).first)
        then()
        return card
    finally:
        connections.close_all()  # this thread's, which ends now


@pytest.mark.django_db(transaction=True)
async def test_a_client_that_disconnects_as_its_card_opens_withdraws_it():
    run = await sync_to_async(a_run)(agent="claude-code")
    event = HookEvent(
        client="claude-code", name="Ask", session="s", permission_call=a_proposal("rm -r build")
    )
    asked = asyncio.create_task(
        hook_waits.ask_permission(
            adapter_of("claude-code"), event, run.id, for_s=3600, own=NO_REDACTION
        )
    )
    for _ in range(3):
        await asyncio.sleep(0)

    # The loop stands still until the card is there: the request does not know of it yet.
    with ThreadPoolExecutor(1) as beside:
        card = beside.submit(open_card, run).result()
    asked.cancel(CLIENT_DISCONNECTED)

    assert await ended(asked) == (CLIENT_DISCONNECTED,)
    await sync_to_async(card.refresh_from_db)()
    assert card.resolution == "answered"


@pytest.mark.django_db(transaction=True)
async def test_an_answer_that_arrives_at_the_timeout_is_still_sent():
    run = await sync_to_async(a_run)(agent="claude-code")
    event = HookEvent(
        client="claude-code", name="Ask", session="s", permission_call=a_proposal("rm -r build")
    )

    def allow():
        run.refresh_from_db()
        tap(run, "allow_once", decision=Decision.objects.get(run=run).id)

    asked = asyncio.create_task(
        hook_waits.ask_permission(
            adapter_of("claude-code"), event, run.id, for_s=0, own=NO_REDACTION
        )
    )
    for _ in range(3):
        await asyncio.sleep(0)
    with ThreadPoolExecutor(1) as beside:
        beside.submit(open_card, run, allow).result()

    assert b'"allow"' in (await asked).body
