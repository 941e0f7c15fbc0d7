"""A session whose server goes away: it goes on, keeps, asks, and delivers later."""

import asyncio
import os
import signal
import subprocess
import sys
import threading

import pytest

from guard import AsyncSession, Session, Stopped
from guard.errors import ServerAway
from guard.sdk import background, terminal
from guard.sdk.outbox import Outbox, leftovers, project_folder
from guard.sdk.rules import FILE, Rules
from guard.sdk.terminal import Choice
from tests.installations import wait_for
from tests.sdk.server import LoopbackServer, directive

RULES = {
    "policy": {},
    "project_policy": {},
    "mode": "pause",
    "project_mode": "pause",
    "unanswered": "stop",
    "hold_limit": 60,
    "allowlist": [],
    "policy_version": 1,
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(background, "LONGEST_PAUSE_S", 0.1)


@pytest.fixture
def outbox(tmp_path):
    return tmp_path / "outbox"


@pytest.fixture
def where(server, outbox):
    return {"url": server.url, "key": "mc_k", "agent": "coder", "outbox": outbox}


def fail(session, path="setings.py"):
    """One turn of a loop: ask, and fail the same way if let."""
    go = session.before("read_file", {"path": path})
    if go.run:
        session.after(go, error=f"{path}: no such file")
    return go


def fail_often(session, times):
    """Fail in a loop; gives how often it was let before it was stopped."""
    for n in range(times):
        try:
            fail(session)
        except Stopped as stopped:
            return n, str(stopped)
    return times, ""


def seen_rules(server, where, **rules):
    """Have a session of the project see its rules, as one does that ran before."""
    server.rules = {**RULES, **rules}
    with Session("before", **where):
        wait_for((project_folder(where["outbox"], server.url, "mc_k") / FILE).exists)
    server.asked.clear()


def told(server):
    """Every observation of a turn that the server was told, in order: (key, phase)."""
    posts = server.of("POST", "turns/")
    return [(turn["key"], turn.get("phase")) for post in posts for turn in post.turns]


def paths(server):
    return [asked.path.rsplit("/", 2)[-2] for asked in server.asked if asked.method != "GET"]


def files(outbox):
    return list(outbox.rglob("*.jsonl"))


# --- keeping and delivering --------------------------------------------------------


def test_what_happened_while_it_was_away_is_delivered_in_order_and_once(server, where, outbox):
    server.stop()
    with Session("x", run_key="stable", **where) as session:
        keys = []
        for n in range(5):
            go = session.before("read_file", {"path": f"{n}.py"})
            session.after(go, result=f"text {n}")
            keys.append(go.turn.key)
        server.start()
        wait_for(lambda: session.run_id)

    assert told(server) == [(key, phase) for key in keys for phase in ("proposed", "done")]
    assert {asked.body["key"] for asked in server.of("POST", "runs/")} == {"stable"}
    assert files(outbox) == []


def test_a_delivered_turn_says_when_it_was(server, where):
    server.stop()
    with Session("x", **where) as session:
        fail(session)
        server.start()
        wait_for(lambda: session.run_id)

    assert all(turn["ts"] for post in server.of("POST", "turns/") for turn in post.turns)


def test_an_end_while_it_is_away_is_kept_for_the_next_session(server, where, outbox):
    server.stop()
    with Session("first", **where) as session:
        fail(session)
    assert len(files(outbox)) == 1

    server.start()
    with Session("second", **where):
        wait_for(lambda: not files(outbox))

    assert [post.body["name"] for post in server.of("POST", "runs/")] == ["second", "first"]
    assert {"status": "completed"} in [asked.body for asked in server.of("PATCH", "run-1/")]
    assert len(told(server)) == 2


def test_a_turn_whose_answer_was_lost_keeps_its_place_and_its_key(server, where):
    with Session("x", **where) as session:
        first = fail(session)
        server.answer_turn = lambda _: (503, None)
        second = session.before("Bash", {"command": "ls"})
        server.answer_turn = lambda _: (200, directive())
        wait_for(lambda: told(server)[-1:] == [(second.turn.key, "proposed")])
        session.after(second, result="a.py")
        wait_for(lambda: not files(where["outbox"]))

    # Twice on the wire: the server counts the second as a duplicate, by its key.
    found = list(dict.fromkeys(told(server)))
    assert found == [
        (first.turn.key, "proposed"),
        (first.turn.key, "done"),
        (second.turn.key, "proposed"),
        (second.turn.key, "done"),
    ]


def test_once_it_is_back_a_call_waits_for_the_server_again(server, where):
    heard = []
    server.stop()
    with Session("x", emit=heard.append, **where) as session:
        fail(session)
        server.start()
        wait_for(lambda: [e for e in heard if type(e).__name__ == "Delivered"])
        server.answer_turn = lambda _: (200, directive("proceed", "read b.py", call="skip"))

        assert session.before("Bash").text == "read b.py"

    names = [type(event).__name__ for event in heard]
    assert names[:4] == ["Away", "Opened", "Back", "Delivered"]


def test_only_the_courier_looks_for_a_server_that_is_away(outbox):
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


def test_a_key_the_server_does_not_know_keeps_what_waits(server, where, outbox, caplog):
    server.stop()
    with Session("x", **where) as session:
        fail(session)
    answer = server.answer
    server.answer = lambda _: (401, {"code": "not_signed_in", "detail": "Unknown key."})
    server.start()
    with Session("y", **where):
        pass
    assert len(files(outbox)) == 1

    server.answer = answer
    with Session("z", **where):
        wait_for(lambda: not files(outbox))


def test_a_run_says_how_many_turns_did_not_fit(server, where, monkeypatch):
    monkeypatch.setattr(Outbox.__init__, "__kwdefaults__", {"most_bytes": 10**6, "most_turns": 4})
    server.stop()
    with Session("x", **where) as session:
        for n in range(6):
            session.after(session.before("read_file", {"path": f"{n}.py"}), result=str(n))
    server.start()
    with Session("next", **where):
        wait_for(lambda: not files(where["outbox"]))

    *kept, gap = [turn for post in server.of("POST", "turns/") for turn in post.turns]
    assert len(kept) == 4
    assert (gap["role"], gap["content"]) == (
        "system",
        "Mission Control was away: at least 8 turns did not fit into the outbox.",
    )


def test_an_outbox_may_be_switched_off(server, where):
    server.stop()
    with Session("x", **{**where, "outbox": False}) as session:
        assert fail(session).run
        server.start()
        wait_for(lambda: session.run_id)

    assert told(server) == []


def test_an_asyncio_agent_goes_on_and_delivers_too(server, where, outbox):
    async def agent():
        async with AsyncSession("x", **where) as session:
            for n in range(3):
                go = await session.before("read_file", {"path": f"{n}.py"})
                await session.after(go, result=str(n))
            server.start()
            await asyncio.to_thread(wait_for, lambda: session.run_id)

    server.stop()
    asyncio.run(agent())

    assert [phase for _, phase in told(server)] == ["proposed", "done"] * 3
    assert files(outbox) == []


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


def test_what_a_killed_agent_could_not_send_the_next_one_delivers(server, where, outbox):
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

    with Session("next", **where):
        wait_for(lambda: not files(outbox))

    keys = [key for key, _ in told(server)]
    assert [phase for _, phase in told(server)] == ["proposed", "done"] * 7
    assert keys[::2] == keys[1::2]
    assert len(set(keys)) == 7
    assert "stable" in [post.body["key"] for post in server.of("POST", "runs/")]


# --- the same engine, the last policy ----------------------------------------------


def test_a_loop_is_noticed_while_it_is_away_and_ended_as_the_project_says(server, where):
    seen_rules(server, where, unanswered="stop")
    server.stop()

    with Session("x", **where) as session:
        times, why = fail_often(session, 5)
        with pytest.raises(Stopped):
            session.say("Once more?")

    assert times == 2
    assert "about to do so again" in why


def test_where_no_rules_were_ever_seen_a_looping_agent_goes_on(server, where):
    server.stop()

    with Session("x", **where) as session:
        assert all(fail(session).run for _ in range(5))


def test_the_streak_goes_on_when_the_server_goes_away(server, where):
    seen_rules(server, where, unanswered="stop")
    with Session("x", **where) as session:
        fail(session)
        fail(session)
        server.stop()

        times, _ = fail_often(session, 3)

    assert times == 0


def test_the_last_policy_seen_holds(server, where):
    seen_rules(server, where, project_policy={"repeat": {"calls": 5}})
    server.stop()

    with Session("x", **where) as session:
        times, _ = fail_often(session, 9)
    assert times == 4


def test_a_policy_that_changes_is_learned_anew(server, where):
    server.rules = RULES
    folder = project_folder(where["outbox"], server.url, "mc_k")
    with Session("x", **where) as session:
        wait_for((folder / FILE).exists)
        for version in (1, 2):
            server.rules = {**RULES, "hold_limit": 60 + version}
            server.answer = _versioned(server, LoopbackServer.answer, version)
            session.say(f"version {version}")
        wait_for(lambda: '"hold_limit": 62' in (folder / FILE).read_text())


def _versioned(server, answer, version):
    def answered(asked):
        status, body = answer(server, asked)
        return status, {**body, "policy_version": version} if isinstance(body, dict) else body

    return answered


def test_calls_that_people_allow_may_repeat(server, where):
    calls = [{"scope": "project", "agent": None, "pattern": "read_file *", "match": "glob"}]
    seen_rules(server, where, allowlist=calls)
    server.stop()

    with Session("x", **where) as session:
        assert all(fail(session).run for _ in range(6))


def test_in_auto_the_local_judge_corrects(server, where):
    seen_rules(server, where, project_mode="auto")
    server.stop()

    with Session("x", workspace=["settings.py"], **where) as session:
        goes = [fail(session) for _ in range(3)]

    assert not goes[2].run
    assert "settings.py" in goes[2].text


def test_what_the_policy_nudges_about_is_told_at_once(server, where):
    ladder = {"ladder": {"every": {"nudge": "tell"}}}
    seen_rules(server, where, project_policy=ladder)
    server.stop()

    with Session("x", **where) as session:
        told = []
        for _ in range(2):
            go = session.before("read_file", {"path": "setings.py"})
            told += [*go.messages, *session.after(go, error="setings.py: no such file")]

    assert len(told) == 1
    assert told[0].startswith("Noticed by the loop guard: It ")


def test_in_warn_nothing_stands_in_its_way(server, where, caplog):
    seen_rules(server, where, project_mode="warn")
    server.stop()

    with Session("x", **where) as session:
        assert all(fail(session).run for _ in range(6))
    assert "about to do so again" in caplog.text


def test_what_the_judge_finds_to_be_no_loop_is_written_to_the_log(server, where, caplog):
    seen_rules(server, where, project_policy={"detectors": ["loopguard"]})
    server.stop()
    caplog.set_level("INFO", logger="guard")

    with Session("x", **where) as session:
        for failures in (3, 2, 1):
            go = session.before("Bash", {"command": "pytest -q"})
            session.after(go, result=f"{failures} failed")

    assert "The last 3 events are the same. No loop: Fewer checks fail" in caplog.text


@pytest.mark.parametrize("unanswered", ["stop", "proceed"])
def test_what_became_of_the_call_is_told_after_it(server, where, unanswered):
    seen_rules(server, where, unanswered=unanswered)
    server.stop()
    try:
        with Session("x", **where) as session:
            for _ in range(3):
                fail(session)
    except Stopped:
        pass
    server.start()
    with Session("next", **where):
        wait_for(lambda: server.of("PATCH", "run-1/"))

    (choice,) = server.of("POST", "choices/")
    third = told(server)[4][0]
    assert choice.body["action"] == {"stop": "terminate", "proceed": "continue"}[unanswered]
    assert (choice.body["by"], choice.body["turn"]) == ("policy", third)
    assert "read_file" in choice.body["calls"][0]
    before = server.asked[: server.asked.index(choice)]
    posted = [t["key"] for asked in before if asked.path.endswith("/turns/") for t in asked.turns]
    assert posted[-1] == third


# --- the terminal --------------------------------------------------------------------


@pytest.fixture
def person(monkeypatch):
    """A person at the terminal, who answers as told."""
    asked = []

    def answers(*choices):
        given = iter(choices)

        def ask(question, *, unless):
            asked.append(question)
            return next(given)

        monkeypatch.setattr(terminal, "ask", ask)
        return asked

    return answers


def test_a_person_at_the_terminal_is_asked(server, where, person):
    asked = person(Choice(action="continue"))
    server.stop()
    with Session("fix-auth", **where) as session:
        assert all(fail(session).run for _ in range(3))

    (question,) = asked
    assert question.run == "fix-auth"
    assert "about to do so again" in question.reason
    assert "setings.py" in question.call


def test_a_text_of_theirs_takes_the_place_of_the_call(server, where, person):
    person(Choice(action="inject", message="Read settings.py."))
    server.stop()
    with Session("x", **where) as session:
        goes = [fail(session) for _ in range(3)]

    assert (goes[2].run, goes[2].text) == (False, "Read settings.py.")


def test_they_may_end_it(server, where, person):
    person(Choice(action="terminate"))
    server.stop()
    with Session("x", **where) as session:
        times, why = fail_often(session, 5)

    assert times == 2
    assert why.endswith("Terminated at the agent's terminal.")


def test_a_call_they_allow_is_not_asked_about_again(server, where, person):
    asked = person(Choice(action="allowlist"))
    server.stop()
    with Session("x", **where) as session:
        assert all(fail(session).run for _ in range(9))

    assert len(asked) == 1


def test_a_call_they_let_go_is_asked_about_when_it_repeats_anew(server, where, person):
    asked = person(Choice(action="continue"), Choice(action="continue"))
    server.stop()
    with Session("x", **where) as session:
        assert all(fail(session).run for _ in range(6))

    assert len(asked) == 2


def test_a_host_may_forbid_to_ask(server, where, person):
    asked = person(Choice(action="terminate"))
    server.stop()
    with Session("x", ask=False, **where) as session:
        assert all(fail(session).run for _ in range(4))

    assert asked == []


def test_a_server_that_comes_back_answers_instead(server, where, monkeypatch):
    def ask(question, *, unless):
        server.answer_turn = lambda _: (200, directive("proceed", "read b.py", call="skip"))
        server.start()
        wait_for(unless)

    monkeypatch.setattr(terminal, "ask", ask)
    server.stop()
    with Session("x", **where) as session:
        goes = [fail(session) for _ in range(3)]

    assert goes[2].text == "read b.py"


# --- failing closed, forks, rules ------------------------------------------------------


def test_a_closed_agent_keeps_what_it_says(server, where):
    server.stop()
    with Session("x", fail="closed", **where) as session:
        session.say("I would read b.py.")
        server.start()
        wait_for(lambda: session.run_id)

    assert [turn["content"] for post in server.of("POST", "turns/") for turn in post.turns] == [
        "I would read b.py."
    ]


def test_a_forked_child_keeps_a_file_of_its_own(outbox):
    parent = Outbox(outbox, {"key": "k"})
    parent.keep({"turn": {"key": "parent"}})
    child = os.fork()
    if child == 0:
        parent.keep({"turn": {"key": "child"}})
        os._exit(0)
    os.waitpid(child, 0)

    (left,) = leftovers(outbox)
    assert [record["turn"]["key"] for record in left.batch().records[1:]] == ["child"]
    left.remove()
    assert [record["turn"]["key"] for record in parent.batch().records[1:]] == ["parent"]
    parent.close()


@pytest.mark.parametrize(
    "body",
    [{}, {"policy": {"no_such": {}}, "mode": "dance", "hold_limit": "x", "allowlist": [3]}],
)
def test_rules_that_cannot_be_read_are_the_default(body):
    assert Rules.of_run(body) == Rules()


def test_what_another_run_was_allowed_does_not_hold_here():
    rows = [
        {"scope": "run", "pattern": "a", "match": "exact"},
        {"scope": "agent", "agent": "coder", "pattern": "b", "match": "exact"},
        {"scope": "agent", "agent": "other", "pattern": "c", "match": "exact"},
        {"scope": "project", "pattern": "d", "match": "exact"},
    ]

    rules = Rules.of_project({"allowlist": rows}, {"agent": "coder"})

    assert [one.pattern for one in rules.allowed] == ["b", "d"]


def test_what_a_call_asks_for_is_read_and_masked_once(outbox):
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

    assert read.count("redact") == 1
    assert read.count("classify") == 1
