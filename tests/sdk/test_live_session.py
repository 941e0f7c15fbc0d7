"""guard.Session against a real Mission Control: every promise, one real round trip."""

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from guard import AsyncSession, Session, Stopped
from tests.agents.person import Person
from tests.installations import wait_for


@pytest.fixture
def person(installation):
    return Person(installation)


@pytest.fixture
def where(installation):
    return {"url": installation.url, "key": installation.agent_key, "mode": "pause"}


@pytest.fixture
def session(where):
    files = ["settings.py"]
    with Session("fix-auth", agent="coder", goal="Find it", workspace=files, **where) as opened:
        yield opened


def read_missing(session, **more):
    """One turn of the loop: ask, and fail the same way if let."""
    go = session.before("read_file", {"path": "setings.py"}, **more)
    if go.run:
        session.after(go, error="setings.py: no such file")
    return go


@pytest.fixture
def held(session, person):
    """A call that is held after two that failed, and its card."""
    read_missing(session)
    read_missing(session)
    pool = ThreadPoolExecutor(4)
    waiting = pool.submit(read_missing, session)
    yield waiting, person.open_card(session.run_id)
    pool.shutdown(wait=False)


def test_a_run_and_its_turns_are_stored(session, person):
    session.say("Find it", role="user")
    go = session.before("Bash", {"command": "ls"}, model="gpt-4o-mini", call_id="c1")
    session.after(go, result="settings.py", usage={"input": 1000, "output": 10})

    asked, ran = person.turns(session.run_id)
    run = person.run(session.run_id)
    assert (asked["role"], asked["content"]) == ("user", "Find it")
    assert (ran["phase"], ran["tool"], ran["result"]) == ("done", "Bash", "settings.py")
    assert (run["name"], run["status"], run["turns"]) == ("fix-auth", "running", 2)
    wait_for(lambda: person.run(session.run_id)["usage"]["input"] == 1000)


def test_a_run_that_ends_is_completed(where, person):
    with Session("brief", **where) as brief:
        pass

    assert person.run(brief.run_id)["status"] == "completed"


def test_the_third_same_call_waits_and_a_tap_answers_it(held, person, session):
    waiting, card = held

    assert not waiting.done()
    assert person.run(session.run_id)["status"] == "held"

    person.tap(card, "inject", message="Read settings.py.")
    go = waiting.result(30)

    assert (go.run, go.text) == (False, "Read settings.py.")
    wait_for(lambda: "message.delivered" in person.journal(session.run_id))


def test_continue_lets_the_held_call_run(held, person):
    waiting, card = held

    person.tap(card, "continue")

    assert waiting.result(30).run


def test_terminate_is_raised_in_the_held_call(held, person, session):
    waiting, card = held

    person.tap(card, "terminate")

    with pytest.raises(Stopped):
        waiting.result(30)
    session.close("failed")
    wait_for(lambda: person.run(session.run_id)["status"] == "terminated")


def test_an_allowed_call_is_not_held_again(held, person, session):
    waiting, card = held

    person.tap(card, "allowlist", scope="run")

    assert waiting.result(30).run
    assert all(read_missing(session).run for _ in range(4))


def test_parallel_held_calls_get_a_message_once(held, person, session):
    first, card = held
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(read_missing, session)
        wait_for(lambda: len(person.turns(session.run_id)) == 4)
        person.tap(card, "inject", message="Read settings.py.")
        goes = [first.result(30), second.result(30)]

    assert [go.run for go in goes] == [False, False]
    assert [go.text for go in goes].count("Read settings.py.") == 1


def test_the_mode_auto_corrects_without_a_tap(where, person):
    options = where | {"mode": "auto"}
    with Session("auto", workspace=["settings.py"], **options) as session:
        read_missing(session)
        read_missing(session)
        go = read_missing(session)

    assert not go.run
    assert "settings.py" in go.text
    fixes = person.get("autofixes/")["results"]
    assert [fix for fix in fixes if fix["run"] == session.run_id]


def test_the_same_run_key_is_the_same_run(where):
    options = where | {"run_key": uuid.uuid4().hex}
    with Session("one", **options) as one, Session("two", **options) as two:
        assert one.run_id == two.run_id


def test_a_wrong_key_does_not_break_the_agent(where):
    with Session("x", **where | {"key": "mc_wrong"}) as session:
        assert session.before("Bash").run


async def test_an_asyncio_agent_is_held_and_released(where, person):
    async with AsyncSession("async", **where) as session:
        for _ in range(2):
            go = await session.before("read_file", {"path": "x"})
            await session.after(go, error="x: no such file")
        waiting = asyncio.create_task(session.before("read_file", {"path": "x"}))
        card = await asyncio.to_thread(person.open_card, session.run_id)

        await asyncio.to_thread(person.tap, card, "inject", message="Read y.")

        assert (await asyncio.wait_for(waiting, 60)).text == "Read y."


def test_a_held_call_keeps_waiting_across_a_restart(installation, where):
    with Session("restart", **where) as session, ThreadPoolExecutor(1) as pool:
        read_missing(session)
        read_missing(session)
        waiting = pool.submit(read_missing, session)
        card = Person(installation).open_card(session.run_id)

        with installation.away():
            pass
        again = Person(installation).open_card(session.run_id)
        Person(installation).tap(again, "inject", message="Read settings.py.")

        assert (again["id"], again["version"]) == (card["id"], card["version"])
        assert waiting.result(60).text == "Read settings.py."


def test_a_text_for_one_of_two_agents_comes_with_that_ones_call(session, person):
    session.before("ls", {}, agent="coder"), session.before("ls", {}, agent="tester")
    person.say(session.run_id, "Round per invoice.", agent="tester")

    others, own = (session.before("pwd", {}, agent=name) for name in ("coder", "tester"))

    assert (others.messages, own.messages) == ((), ("Round per invoice.",))


def test_calls_without_an_agent_get_the_messages_of_the_runs_own_agent(where, person):
    key = uuid.uuid4().hex
    with (
        Session("crew", agent="coder", run_key=key, **where) as named,
        Session("crew", agent="", run_key=key, **where) as unnamed,
    ):
        named.before("ls", {})
        unnamed.before("ls", {})
        assert {turn["agent"] for turn in person.turns(unnamed.run_id)} == {"coder"}
        person.say(unnamed.run_id, "Round per invoice.", agent="coder")

        go = unnamed.before("pwd", {})

    assert go.messages == ("Round per invoice.",)
