import asyncio
import gc
import socket
import threading

import pytest

from guard import AsyncSession, Stopped
from guard.errors import ServerAway
from guard.sdk import conversation
from guard.sdk.aio import AsyncHttpTransport
from guard.sdk.flow import Request
from tests.sdk.server import directive


@pytest.fixture
async def session(server):
    async with AsyncSession("fix-auth", url=server.url, key="mc_k", agent="coder") as opened:
        yield opened


async def test_a_call_is_proposed_and_then_completed_under_one_key(server, session):
    go = await session.before("Bash", {"command": "pytest -q"})
    await session.after(go, result="1 passed")

    proposed, done = (asked.turn for asked in server.requests_to("POST", "turns/"))
    assert done["key"] == proposed["key"]
    assert done["result"] == "1 passed"


async def test_held_calls_wait_without_a_thread_each(server, session):
    tapped = threading.Event()
    server.answer_turn = lambda _: (200, directive("hold"))

    def answer_poll(_):
        tapped.wait(60)
        return 200, directive("proceed", "use b.py", version=2, call="skip")

    server.answer_poll = answer_poll
    held = [asyncio.create_task(session.before("Read", {"n": n})) for n in range(20)]
    await asyncio.to_thread(server.await_polls, 20)
    ours = [t for t in threading.enumerate() if t.name.startswith("asyncio")]
    tapped.set()
    texts = [(await task).text for task in held]

    assert len(ours) <= 1
    assert texts.count("use b.py") == 1
    assert texts.count(conversation.ANSWERED_ELSEWHERE) == 19


async def test_a_stop_is_raised(server, session):
    server.answer_turn = lambda _: (200, directive("stop", reason="ended by Ann"))

    with pytest.raises(Stopped, match="ended by Ann"):
        await session.before("Bash")


async def test_a_call_awaits_the_function(server, session):
    async def add(a, b):
        return a + b

    assert await session.call("add", {"a": 1, "b": 2}, add) == "3"


async def test_without_a_server_the_agent_goes_on():
    async with AsyncSession("x", url="http://127.0.0.1:9", key="k") as session:
        assert (await session.before("Bash")).run


async def test_a_held_call_keeps_waiting_across_a_restart(server, session, monkeypatch):
    monkeypatch.setattr(conversation, "MAX_PAUSE_S", 0.1)
    server.answer_turn = lambda _: (200, directive("hold"))
    server.answer_poll = lambda _: (503, None)
    call = asyncio.create_task(session.before("Bash"))
    await asyncio.to_thread(server.await_polls)

    await asyncio.to_thread(server.stop)
    server.answer_poll = lambda _: (200, directive("proceed", version=2))
    server.start()

    assert (await asyncio.wait_for(call, 60)).run


async def test_a_cancelled_hold_closes_its_connection(server, session):
    server.answer_turn = lambda _: (200, directive("hold"))
    forever = threading.Event()
    server.answer_poll = lambda _: (204, forever.wait(60) and None)
    call = asyncio.create_task(session.before("Bash"))
    await asyncio.to_thread(server.await_polls)

    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    forever.set()


@pytest.mark.parametrize("steps", range(12))
async def test_a_call_that_is_cancelled_while_it_connects_is_cancelled(steps):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        transport = AsyncHttpTransport(f"http://127.0.0.1:{silent.getsockname()[1]}", "k")
        sending = asyncio.create_task(transport.send(Request(method="GET", path="runs/")))
        for _ in range(steps):
            await asyncio.sleep(0)

        sending.cancel()

        with pytest.raises(asyncio.CancelledError):
            await sending


async def test_a_coroutine_callback_for_escalations_is_awaited(server):
    answer = directive("proceed", "try another way")
    answer["messages"][0]["escalation"] = {"reason": "It did the same.", "repeats": 3}
    server.answer_turn = lambda _: (200, answer)
    escalations = []

    async def switch_model(escalation):
        await asyncio.sleep(0)
        escalations.append((escalation.reason, escalation.repeats))

    async with AsyncSession("x", url=server.url, key="k", on_escalation=switch_model) as session:
        await session.before("Bash")
        await session.say("On with it.")

    assert escalations == [("It did the same.", 3)]


async def test_a_request_that_cannot_be_written_leaves_no_connection_open():
    ended, ring = asyncio.Event(), []
    ring.append(ring)

    async def serve(reader, writer):
        await reader.read()
        ended.set()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as serving:
        port = serving.sockets[0].getsockname()[1]
        transport = AsyncHttpTransport(f"http://127.0.0.1:{port}", "k")

        with pytest.raises(ServerAway) as failure:
            await transport.send(Request(method="POST", path="runs/", body=ring))

        await asyncio.wait_for(ended.wait(), 60)
        assert "Circular" in str(failure.value)


# The loop that has ended left a connection open, which only it could close.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_session_continues_in_another_event_loop(server):
    session = AsyncSession("fix-auth", url=server.url, key="mc_k", heartbeat=False, outbox=False)

    assert [asyncio.run(session.before("Bash")).run for _ in range(2)] == [True, True]
    asyncio.run(session.close())
    gc.collect()

    assert len(server.requests_to("POST", "turns/")) == 2


# The loop that has ended left a connection open, which only it could close.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_two_running_event_loops_do_not_share_connections(server):
    transport = AsyncHttpTransport(server.url, "k")
    held, asked = threading.Event(), Request(method="GET", path="runs/x/directive/")
    server.answer_poll = lambda _: (204, held.wait(60) and None)

    async def ask_beside() -> None:
        await transport.send(Request(method="GET", path="runs/x/"))
        held.set()
        await asyncio.to_thread(first.join)
        assert (await transport.send(Request(method="GET", path="runs/x/"))).status == 200
        await transport.close()

    first = threading.Thread(target=lambda: asyncio.run(transport.send(asked)))
    first.start()
    server.await_polls()
    asyncio.run(ask_beside())
    gc.collect()
