"""`guard.watch`: one line puts a function, or a whole loop, under guard."""

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from enum import Enum
from pathlib import Path

import pytest

import guard
from guard import AsyncSession, Session, Stopped
from guard.sdk import current
from guard.sdk.capture import captured_args, captured_result
from tests.sdk.server import directive


@pytest.fixture(autouse=True)
def environment(server, monkeypatch):
    monkeypatch.setenv("MISSIONCONTROL_URL", server.url)
    monkeypatch.setenv("MISSIONCONTROL_KEY", "mc_k")
    yield
    current.end_own()


def turns(server):
    return [turn for asked in server.of("POST", "turns/") for turn in asked.turns]


def proposals(server):
    return [turn for turn in turns(server) if turn.get("phase") == "proposed"]


def outcomes(server):
    return [turn for turn in turns(server) if turn.get("phase") == "done"]


@guard.watch
def add(a, b=1):
    """Add two numbers."""
    return a + b


# --- a function ----------------------------------------------------------------------


def test_a_call_is_told_with_its_arguments_and_its_result(server):
    with guard.watch("sums"):
        assert add(2, b=3) == 5

    (asked,), (came,) = proposals(server), outcomes(server)
    assert (asked["tool"], asked["args"]) == ("add", {"a": 2, "b": 3})
    assert (came["key"], came["result"]) == (asked["key"], "5")
    assert server.of("POST", "runs/")[0].body["name"] == "sums"


def test_a_watched_function_keeps_its_name_its_text_and_its_signature():
    assert (add.__name__, add.__doc__) == ("add", "Add two numbers.")
    assert str(inspect.signature(add)) == "(a, b=1)"


def test_an_exception_comes_out_as_it_was_raised(server):
    broken = ValueError("no such file")

    @guard.watch
    def fail():
        raise broken

    with guard.watch("x"), pytest.raises(ValueError, match="no such file") as raised:
        fail()

    assert raised.value is broken
    assert outcomes(server)[0]["error"] == "ValueError: no such file"


def test_a_result_comes_out_as_it_was_returned(server):
    given = object()

    @guard.watch
    def give():
        return given

    with guard.watch("x"):
        assert give() is given

    assert outcomes(server)[0]["result"] == "<object>"


def test_a_call_that_is_not_run_gives_the_text_in_its_place(server):
    server.answer_turn = lambda _: (200, directive("proceed", "Read b.py.", call="skip"))
    ran = []

    @guard.watch
    def read(path):
        ran.append(path)

    with guard.watch("x"):
        assert read("a.py") == "Read b.py."

    assert ran == []


def test_what_takes_its_place_may_be_made_of_the_text(server):
    server.answer_turn = lambda _: (200, directive("proceed", "Read b.py.", call="skip"))

    @guard.watch(skipped=lambda text: {"error": text})
    def read(path):
        return {}

    with guard.watch("x"):
        assert read("a.py") == {"error": "Read b.py."}


def test_a_stop_is_raised_into_the_loop(server):
    server.answer_turn = lambda _: (200, directive("stop", reason="enough"))

    with pytest.raises(Stopped, match="enough"), guard.watch("x"):
        add(1)

    assert server.of("PATCH", "run-1/")[0].body == {"status": "failed"}


def test_an_error_comes_before_a_stop(server):
    @guard.watch
    def fail():
        server.answer_turn = lambda _: (200, directive("stop", reason="enough"))
        raise KeyError("a")

    with guard.watch("x"):
        with pytest.raises(KeyError):
            fail()
        with pytest.raises(Stopped):
            fail()


def test_messages_wait_for_the_host(server):
    server.answer_turn = lambda _: (200, directive("proceed", "Look into b.py."))

    with guard.watch("x") as session:
        assert add(1) == 2
        assert session.unread == ["Look into b.py."]


def test_messages_may_be_added_to_a_text(server):
    server.answer_turn = lambda _: (200, directive("proceed", "Look into b.py."))

    @guard.watch(append=True)
    def read(path):
        return "text"

    with guard.watch("x") as session:
        assert read("a.py") == "text\n\n[Mission Control] Look into b.py."
        assert session.unread == []


def test_a_call_inside_a_call_is_one_of_its_own(server):
    @guard.watch
    def outer():
        return add(1)

    with guard.watch("x"):
        assert outer() == 2

    told = [(turn["tool"], turn["phase"]) for turn in turns(server)]
    assert told == [
        ("outer", "proposed"),
        ("add", "proposed"),
        ("add", "done"),
        ("outer", "done"),
    ]


def test_a_method_does_not_tell_its_object(server):
    class Desk:
        @guard.watch
        def read(self, path):
            return path

    with guard.watch("x"):
        assert Desk().read("a.py") == "a.py"

    assert proposals(server)[0]["args"] == {"path": "a.py"}


def test_how_it_is_told_can_be_said(server):
    @guard.watch(
        tool="Bash",
        args=["command"],
        agent="coder",
        nature={"loop_key": ["command"], "retry": "poll"},
    )
    def run(command, password):
        return "ok"

    with guard.watch("x"):
        run("ls", "hunter2")

    (asked,) = proposals(server)
    assert (asked["tool"], asked["args"], asked["agent"]) == ("Bash", {"command": "ls"}, "coder")
    assert asked["nature"]["retry"] == "poll"


def test_arguments_may_stay_untold(server):
    @guard.watch(args=False)
    def login(password):
        return "ok"

    with guard.watch("x"):
        login("hunter2")

    assert "args" not in proposals(server)[0] or proposals(server)[0]["args"] == {}


def test_a_wrong_call_is_the_functions_to_refuse(server):
    with guard.watch("x"), pytest.raises(TypeError, match="missing"):
        add()


def test_an_option_of_a_run_needs_the_runs_name():
    with pytest.raises(TypeError, match="goal only after a run's name"):
        guard.watch(goal="x")


# --- which run --------------------------------------------------------------------------


def test_without_a_run_around_them_calls_are_in_the_processs_own(server):
    add(1)
    add(2)

    assert len(server.of("POST", "runs/")) == 1
    assert len(proposals(server)) == 2


def test_a_session_is_a_run_around_calls_too(server):
    with Session("mine") as session:
        add(1)

        assert session.run_id == "run-1"
    assert [post.body["name"] for post in server.of("POST", "runs/")] == ["mine"]


def test_the_innermost_run_has_the_call(server):
    with guard.watch("outer"), guard.watch("inner"):
        assert current.current_session()._conversation.opening["name"] == "inner"


def test_a_thread_that_the_run_starts_is_in_it(server):
    with guard.watch("x"), ThreadPoolExecutor(2) as pool:
        assert list(pool.map(add, range(4))) == [1, 2, 3, 4]

    assert len(server.of("POST", "runs/")) == 1
    assert len(outcomes(server)) == 4


def test_a_decorated_loop_is_a_run_each_time(server):
    @guard.watch("fix-auth", goal="Make it pass", agent="coder")
    def agent(n):
        return [add(step) for step in range(n)]

    assert agent(2) == [1, 2]
    assert agent(1) == [1]

    opened = [post.body for post in server.of("POST", "runs/")]
    assert [body["name"] for body in opened] == ["fix-auth"] * 2
    assert opened[0]["goal"] == "Make it pass"
    assert opened[0]["key"] != opened[1]["key"]
    assert len(server.of("PATCH", "run-1/")) == 2


def test_a_loop_that_fails_is_told_as_failed(server):
    @guard.watch("x")
    def agent():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        agent()

    assert server.of("PATCH", "run-1/")[0].body == {"status": "failed"}


# --- other kinds of functions -------------------------------------------------------------


@guard.watch
async def fetch(path):
    await asyncio.sleep(0)
    return f"text of {path}"


async def test_a_coroutine_function_stays_one(server):
    async with guard.watch("x") as session:
        assert await fetch("a.py") == "text of a.py"

    assert isinstance(session, AsyncSession)
    assert outcomes(server)[0]["result"] == "text of a.py"


async def test_a_plain_function_works_in_an_asyncio_run(server):
    async with guard.watch("x") as session:
        assert add(1) == 2
        session.unread.clear()

    assert len(server.of("POST", "runs/")) == 1
    assert len(outcomes(server)) == 1


def escalated(_):
    said = directive("proceed", "try another way")
    said["messages"][0]["escalation"] = {"reason": "It did the same.", "repeats": 3}
    return (200, said)


async def test_an_escalation_reaches_an_asyncio_run_through_a_plain_function(server):
    server.answer_turn = escalated
    heard = []

    async with guard.watch("x", on_escalation=heard.append):
        add(1)

        assert [one.reason for one in heard] == ["It did the same."]


async def test_a_coroutine_hears_of_an_escalation_through_a_plain_function(server):
    server.answer_turn = escalated
    heard = asyncio.Queue()

    async with guard.watch("x", on_escalation=heard.put):
        add(1)

        assert (await asyncio.wait_for(heard.get(), 5)).reason == "It did the same."


async def test_a_coroutine_that_fails_at_an_escalation_breaks_no_plain_function(server, caplog):
    server.answer_turn = escalated

    async def fail(_):
        raise ValueError("no stronger model")

    async with guard.watch("x", on_escalation=fail):
        assert add(1) == 2

    assert "on_escalation callback failed" in caplog.text


async def test_a_coroutine_function_works_in_a_plain_run(server):
    with guard.watch("x"):
        assert await fetch("a.py") == "text of a.py"

    assert len(outcomes(server)) == 1


async def test_a_held_coroutine_holds_no_other(server):
    tapped = threading.Event()
    server.answer_turn = lambda _: (200, directive("hold"))
    server.answer_poll = lambda _: (tapped.wait(60), (200, directive("proceed", version=2)))[1]
    async with guard.watch("x"):
        held = asyncio.create_task(fetch("a.py"))
        await asyncio.to_thread(server.await_polls)

        tapped.set()
        assert await held == "text of a.py"


async def test_an_asyncio_loop_is_a_run(server):
    @guard.watch("fix-auth")
    async def agent():
        return await asyncio.gather(fetch("a.py"), fetch("b.py"))

    assert await agent() == ["text of a.py", "text of b.py"]
    assert len(server.of("POST", "runs/")) == 1
    assert len(outcomes(server)) == 2


async def test_an_error_of_a_coroutine_comes_out_as_it_was_raised(server):
    broken = OSError("gone")

    @guard.watch
    async def fail():
        raise broken

    async with guard.watch("x"):
        with pytest.raises(OSError, match="gone") as raised:
            await fail()

    assert raised.value is broken
    assert outcomes(server)[0]["error"] == "OSError: gone"


@guard.watch
def lines(n):
    got = []
    for number in range(n):
        heard = yield f"line {number}"
        got.append(heard)
    return got


def test_a_generator_is_one_call_to_its_end(server):
    with guard.watch("x"):
        assert list(lines(3)) == ["line 0", "line 1", "line 2"]

    (came,) = outcomes(server)
    assert '"items": 3' in came["result"]
    assert "line 2" in came["result"]


def test_a_generator_hears_what_is_sent_to_it(server):
    with guard.watch("x"):
        source = lines(2)
        next(source)
        source.send("first")
        with pytest.raises(StopIteration) as finished:
            source.send("second")

    assert finished.value.value == ["first", "second"]


def test_a_generator_that_is_left_early_has_ended(server):
    closed = []

    @guard.watch
    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    with guard.watch("x"):
        source = endless()
        next(source)
        source.close()

    assert closed == [True]
    assert '"items": 1' in outcomes(server)[0]["result"]


def test_a_generator_that_is_not_run_gives_the_text(server):
    server.answer_turn = lambda _: (200, directive("proceed", "Read b.py.", call="skip"))

    with guard.watch("x"):
        assert list(lines(3)) == ["Read b.py."]


def test_a_loop_that_gives_its_steps_is_a_run_until_its_last(server):
    @guard.watch("x")
    def agent():
        yield add(1)
        yield add(2)

    assert list(agent()) == [2, 3]
    assert len(server.of("PATCH", "run-1/")) == 1


async def test_an_asynchronous_generator_is_one_call(server):
    @guard.watch
    async def stream(n):
        for number in range(n):
            yield number

    @guard.watch("x")
    async def agent():
        async for number in stream(3):
            yield number

    assert [number async for number in agent()] == [0, 1, 2]
    assert '"items": 3' in outcomes(server)[0]["result"]


# --- what is told of values ----------------------------------------------------------------


class Colour(Enum):
    RED = "red"


class Hostile:
    def __repr__(self):
        raise RuntimeError("never asked")

    __str__ = __repr__


def take(value):
    """Take one value."""


def told(*args, function=take, **kwargs):
    return captured_args(inspect.signature(function), args, kwargs, True)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Hostile(), "<Hostile>"),
        ([Hostile(), 1], ["<Hostile>", 1]),
        ({"a": {1: Path("b.py")}}, {"a": {"1": "b.py"}}),
        (Decimal("1.5"), "1.5"),
        (Colour.RED, "red"),
        (b"abc", "<3 bytes>"),
        ({2, 1}, ["1", "2"]),
        (iter([1]), "<list_iterator>"),
        (None, None),
    ],
)
def test_an_argument_is_plain_data_or_the_name_of_its_type(value, plain):
    assert told(value) == {"value": plain}


def test_what_is_long_is_cut():
    shown = told({"text": "x" * 10_000, "list": list(range(1000))})["value"]

    assert len(shown["text"]) < 2100
    assert len(shown["list"]) == 51
    assert shown["list"][-1] == "… 950 more"


def test_what_holds_itself_ends():
    endless = []
    endless.append(endless)

    assert "<list>" in str(told(endless))


def test_secrets_are_masked_by_name_and_by_form():
    def login(host, api_key, **more):
        pass

    shown = told("db", "opaque", token="sk-abcdefghij0123456789", function=login)

    assert shown["api_key"] == "[masked]"
    assert "abcdefghij" not in str(shown)


def test_a_long_result_is_cut():
    assert len(captured_result("x" * 100_000)) < 21_000
