"""A session whose server goes away: it goes on, keeps, and delivers later."""

import asyncio
import os
import signal
import subprocess
import sys
import threading

import pytest

from guard import AsyncSession, Session
from guard.errors import ServerAway
from guard.sdk.background import MAX_LINGERING, heartbeat
from guard.sdk.outbox import Outbox, ownerless_files
from tests.installations import wait_for
from tests.sdk.outage import fail_once, outbox_files, reported_to
from tests.sdk.server import directive


def test_turns_of_an_outage_are_delivered_in_order_and_once(server, session_options, outbox):
    server.stop()
    with Session("x", run_key="stable", **session_options) as session:
        keys = []
        for n in range(5):
            go = session.before("read_file", {"path": f"{n}.py"})
            session.after(go, result=f"text {n}")
            keys.append(go.turn.key)
        server.start()
        wait_for(lambda: session.run_id)

    assert reported_to(server) == [(key, phase) for key in keys for phase in ("proposed", "done")]
    assert {asked.body["key"] for asked in server.requests_to("POST", "runs/")} == {"stable"}
    assert outbox_files(outbox) == []


@pytest.mark.parametrize(("stands", "opened"), [(True, 1), (False, 2)])
def test_a_run_is_opened_again_only_if_the_server_no_longer_has_it(
    server, session_options, stands, opened
):
    """A fleet that comes back at once would be refused: few runs may be opened at a time."""
    server.rules = {"mode": "pause"}
    with Session("x", run_key="stable", **session_options) as session:
        wait_for(lambda: server.requests_to("GET", "rules/"))
        server.stop()
        fail_once(session)
        server.rules = server.rules if stands else None
        server.start()
        wait_for(lambda: len(reported_to(server)) == 2)

        assert [asked.body["key"] for asked in server.requests_to("POST", "runs/")] == [
            "stable"
        ] * opened


def test_a_firewall_that_blocks_the_rules_does_not_keep_a_session_offline(server, session_options):
    with Session("x", **session_options) as session:
        session.before("read_file", {"path": "a.py"})
        server.stop()
        fail_once(session)
        server.answer_rules = lambda: (403, None)
        server.start()

        wait_for(lambda: len(reported_to(server)) == 3)
        wait_for(lambda: not session._conversation.offline.away)


def test_a_session_opened_during_an_outage_fetches_the_rules_afterwards(server, session_options):
    server.stop()
    server.rules = {"mode": "pause"}
    with Session("x", **session_options) as session:
        fail_once(session)
        server.start()
        wait_for(lambda: session.run_id)

        wait_for(lambda: server.requests_to("GET", "rules/"))


def test_a_turn_delivered_later_carries_its_own_time(server, session_options):
    server.stop()
    with Session("x", **session_options) as session:
        fail_once(session)
        server.start()
        wait_for(lambda: session.run_id)

    assert all(turn["ts"] for post in server.requests_to("POST", "turns/") for turn in post.turns)


def test_an_end_during_an_outage_is_reported_by_the_process_that_lives_on(
    server, session_options, outbox
):
    server.stop()
    with Session("x", **session_options) as session:
        fail_once(session)
    assert len(outbox_files(outbox)) == 1

    server.start()

    wait_for(lambda: not outbox_files(outbox), seconds=60)
    assert [asked.body for asked in server.requests_to("PATCH", "run-1/")] == [
        {"status": "completed"}
    ]
    assert len(reported_to(server)) == 2


def test_a_run_delivered_after_its_end_sends_no_heartbeat(server, session_options, outbox):
    server.stop()
    with Session("x", **session_options) as session:
        fail_once(session)
    server.start()
    wait_for(lambda: not outbox_files(outbox), seconds=60)

    # The rules are asked for after whatever begins with the run's opening.
    wait_for(lambda: server.requests_to("GET", "rules/"), seconds=60)
    assert session._conversation.offline not in heartbeat._next_beat_at
    assert not server.requests_to("POST", "presence/")


def test_the_end_of_a_task_cancelled_while_held_is_reported_later(server, session_options, outbox):
    server.answer_turn = lambda _: (200, directive("hold"))
    server.answer_poll = lambda _: (503, None)

    async def is_held():
        async with AsyncSession("x", **session_options) as session:
            await session.before("read_file", {"path": "a.py"})

    async def give_up():
        held = asyncio.create_task(is_held())
        await asyncio.to_thread(server.await_polls)
        await asyncio.to_thread(server.stop)
        held.cancel()
        await asyncio.wait([held])
        assert len(outbox_files(outbox)) == 1
        server.start()
        await asyncio.to_thread(wait_for, lambda: not outbox_files(outbox), seconds=60)

    asyncio.run(give_up())

    assert [asked.body for asked in server.requests_to("PATCH", "run-1/")] == [{"status": "failed"}]


def test_the_end_is_reported_later_even_if_the_event_loop_has_ended(
    server, session_options, outbox
):
    server.stop()

    async def play():
        async with AsyncSession("x", **session_options) as session:
            await session.before("read_file", {"path": "a.py"})

    asyncio.run(play())
    server.start()

    wait_for(lambda: not outbox_files(outbox), seconds=60)
    assert [asked.body for asked in server.requests_to("PATCH", "run-1/")] == [
        {"status": "completed"}
    ]


def test_sessions_closed_during_an_outage_leave_few_threads(server, session_options, outbox):
    server.stop()
    before = set(threading.enumerate())
    for _ in range(MAX_LINGERING + 4):
        with Session("x", **session_options) as session:
            fail_once(session)
    wait_for(lambda: len(set(threading.enumerate()) - before) <= MAX_LINGERING, seconds=60)

    server.start()

    # Those that stayed bring what the others left.
    wait_for(lambda: not outbox_files(outbox), seconds=60)
    assert len(server.requests_to("PATCH", "run-1/")) == MAX_LINGERING + 4


def test_a_turn_whose_answer_was_lost_keeps_its_place_and_its_key(server, session_options):
    with Session("x", **session_options) as session:
        first = fail_once(session)
        server.answer_turn = lambda _: (503, None)
        second = session.before("Bash", {"command": "ls"})
        server.answer_turn = lambda _: (200, directive())
        wait_for(lambda: reported_to(server)[-1:] == [(second.turn.key, "proposed")])
        session.after(second, result="a.py")
        wait_for(lambda: not outbox_files(session_options["outbox"]))

    # Twice on the wire: the server counts the second as a duplicate, by its key.
    found = list(dict.fromkeys(reported_to(server)))
    assert found == [
        (first.turn.key, "proposed"),
        (first.turn.key, "done"),
        (second.turn.key, "proposed"),
        (second.turn.key, "done"),
    ]


def test_after_an_outage_a_call_waits_for_the_server_again(server, session_options):
    events = []
    server.stop()
    with Session("x", emit=events.append, **session_options) as session:
        fail_once(session)
        server.start()
        wait_for(lambda: [e for e in events if type(e).__name__ == "Delivered"])
        server.answer_turn = lambda _: (200, directive("proceed", "read b.py", call="skip"))

        assert session.before("Bash").text == "read b.py"

    names = [type(event).__name__ for event in events]
    assert names[:4] == ["Away", "Opened", "Back", "Delivered"]


def test_only_the_background_thread_looks_for_a_server_that_is_away(outbox):
    threads = []

    class Away:
        def send(self, request):
            threads.append(threading.current_thread().name)
            raise ServerAway("nobody there")

        def close(self):
            pass

    with Session("x", key="k", transport=Away(), outbox=outbox) as session:
        for n in range(20):
            session.before("Bash", {"command": str(n)})
        wait_for(lambda: len(threads) > 3)

    assert threads[0] == "MainThread"
    assert set(threads[1:]) == {"missioncontrol-background"}


def test_an_unknown_key_leaves_the_outbox_as_it_is(server, session_options, outbox, caplog):
    server.stop()
    with Session("x", **session_options) as session:
        fail_once(session)
    answer = server.answer
    server.answer = lambda _: (401, {"code": "not_signed_in", "detail": "Unknown key."})
    server.start()
    with Session("y", **session_options):
        pass
    assert len(outbox_files(outbox)) == 1

    server.answer = answer
    with Session("z", **session_options):
        wait_for(lambda: not outbox_files(outbox))


def test_a_run_records_how_many_turns_did_not_fit(server, session_options, monkeypatch):
    monkeypatch.setattr(Outbox.__init__, "__kwdefaults__", {"max_bytes": 10**6, "max_turns": 4})
    server.stop()
    with Session("x", **session_options) as session:
        for n in range(6):
            session.after(session.before("read_file", {"path": f"{n}.py"}), result=str(n))
    server.start()
    with Session("next", **session_options):
        wait_for(lambda: not outbox_files(session_options["outbox"]))

    *kept, gap = [turn for post in server.requests_to("POST", "turns/") for turn in post.turns]
    assert len(kept) == 4
    assert (gap["role"], gap["content"]) == (
        "system",
        "Mission Control was away: at least 8 turns did not fit into the outbox.",
    )


def test_an_outbox_may_be_switched_off(server, session_options):
    server.stop()
    with Session("x", **{**session_options, "outbox": False}) as session:
        assert fail_once(session).run
        server.start()
        wait_for(lambda: session.run_id)

    assert reported_to(server) == []


def test_an_asyncio_agent_continues_and_delivers_too(server, session_options, outbox):
    async def agent():
        async with AsyncSession("x", **session_options) as session:
            for n in range(3):
                go = await session.before("read_file", {"path": f"{n}.py"})
                await session.after(go, result=str(n))
            server.start()
            await asyncio.to_thread(wait_for, lambda: session.run_id)

    server.stop()
    asyncio.run(agent())

    assert [phase for _, phase in reported_to(server)] == ["proposed", "done"] * 3
    assert outbox_files(outbox) == []


HOST = """
import sys, time
import guard
session = guard.Session("killed", url=sys.argv[1], key="mc_k", outbox=sys.argv[2], run_key="stable")
session.__enter__()
for n in range(7):
    session.after(session.before("read_file", {"path": f"{n}.py"}), result=str(n))
print("unsent", flush=True)
time.sleep(600)
"""


def test_the_next_agent_delivers_what_a_killed_one_left(server, session_options, outbox):
    server.stop()
    told_to = [sys.executable, "-c", HOST, server.url, str(outbox)]
    host = subprocess.Popen(told_to, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert host.stdout.readline() == b"unsent\n"
    finally:
        host.send_signal(signal.SIGKILL)
        host.wait()
        host.stdout.close()
    server.start()

    with Session("next", **session_options):
        wait_for(lambda: not outbox_files(outbox))

    keys = [key for key, _ in reported_to(server)]
    assert [phase for _, phase in reported_to(server)] == ["proposed", "done"] * 7
    assert keys[::2] == keys[1::2]
    assert len(set(keys)) == 7
    assert "stable" in [post.body["key"] for post in server.requests_to("POST", "runs/")]


def test_a_session_that_fails_closed_keeps_messages_for_later(server, session_options):
    server.stop()
    with Session("x", fail="closed", **session_options) as session:
        session.say("I would read b.py.")
        server.start()
        wait_for(lambda: session.run_id)

    assert [
        turn["content"] for post in server.requests_to("POST", "turns/") for turn in post.turns
    ] == ["I would read b.py."]


def test_a_forked_child_keeps_a_file_of_its_own(outbox):
    parent = Outbox(outbox, {"key": "k"})
    parent.append({"turn": {"key": "parent"}})
    child = os.fork()
    if child == 0:
        parent.append({"turn": {"key": "child"}})
        os._exit(0)
    os.waitpid(child, 0)

    (left,) = ownerless_files(outbox)
    assert [record["turn"]["key"] for record in left.next_batch().records[1:]] == ["child"]
    left.remove()
    assert [record["turn"]["key"] for record in parent.next_batch().records[1:]] == ["parent"]
    parent.close()


def test_a_forked_child_leaves_the_parents_file_to_the_parent(outbox):
    parent = Outbox(outbox, {"key": "k"})
    parent.append({"turn": {"key": "parent"}})

    child = os.fork()
    if child == 0:
        os._exit(parent.has_pending or bool(parent.next_batch().records))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert parent.has_pending
    parent.close()


def test_a_calls_arguments_are_masked_once(outbox):
    command = "curl -H 'Authorization: Bearer abcdefgh12345678' https://example.test"
    read = []

    def note(frame, event, _):
        if event == "call" and command in frame.f_locals.values():
            read.append(frame.f_code.co_name)

    with Session("s", url="http://127.0.0.1:9", key="k", outbox=outbox, ask=False) as session:
        session.after(session.before("Bash", {"command": "make"}), result="ok")
        sys.setprofile(note)
        try:
            session.after(session.before("Bash", {"command": command}), result="ok")
        finally:
            sys.setprofile(None)

    assert read.count("_redact") == 1
    assert read.count("classify") == 1


def test_fields_in_the_form_of_the_api_do_not_break_the_host_in_an_outage(server, session_options):
    """The engine of this process adds up what the server would have read from JSON."""
    facts = {
        "cost_usd": "0.01",
        "usage": {"input": 7, "cache_read": None},
        "ts": "2026-11-21T21:08:00Z",
    }
    with Session("x", **session_options) as session:
        session.before("read_file", {"path": "a.py"}, **facts)
        session.say("on it", **facts)
        server.stop()

        assert session.before("read_file", {"path": "b.py"}, **facts).run


@pytest.mark.parametrize(
    "facts", [{"ts": "soon"}, {"cost_usd": "free"}, {"files": 7}, {"model": 7}, {"call_id": []}]
)
def test_an_unreadable_field_never_breaks_the_host(server, session_options, facts):
    with Session("x", **session_options) as session:
        session.before("read_file", {"path": "a.py"}, **facts)
        server.stop()

        assert session.before("read_file", {"path": "b.py"}, **facts).run
