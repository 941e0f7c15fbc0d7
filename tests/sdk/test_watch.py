"""`guard.watch`: one line puts a function, or a whole loop, under guard."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest

import guard
from guard import Session, Stopped
from guard.sdk import session
from tests.sdk.server import directive
from tests.sdk.watched_calls import add, outcomes, proposals, turns

pytestmark = pytest.mark.usefixtures("environment")


# --- a function ----------------------------------------------------------------------


def test_a_call_is_reported_with_its_arguments_and_its_result(server):
    with guard.watch("sums"):
        assert add(2, b=3) == 5

    (asked,), (came,) = proposals(server), outcomes(server)
    assert (asked["tool"], asked["args"]) == ("add", {"a": 2, "b": 3})
    assert (came["key"], came["result"]) == (asked["key"], "5")
    assert server.requests_to("POST", "runs/")[0].body["name"] == "sums"


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


def test_the_replacement_result_may_be_made_from_the_text(server):
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

    assert server.requests_to("PATCH", "run-1/")[0].body == {"status": "failed"}


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


def test_a_nested_call_is_a_call_of_its_own(server):
    @guard.watch
    def outer():
        return add(1)

    with guard.watch("x"):
        assert outer() == 2

    calls = [(turn["tool"], turn["phase"]) for turn in turns(server)]
    assert calls == [
        ("outer", "proposed"),
        ("add", "proposed"),
        ("add", "done"),
        ("outer", "done"),
    ]


def test_the_self_of_a_method_is_not_reported(server):
    class Desk:
        @guard.watch
        def read(self, path):
            return path

    with guard.watch("x"):
        assert Desk().read("a.py") == "a.py"

    assert proposals(server)[0]["args"] == {"path": "a.py"}


def test_the_options_of_watch_are_respected(server):
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


def test_arguments_may_be_left_out(server):
    @guard.watch(args=False)
    def login(password):
        return "ok"

    with guard.watch("x"):
        login("hunter2")

    assert "args" not in proposals(server)[0] or proposals(server)[0]["args"] == {}


def test_a_wrong_call_is_refused_by_the_function_itself(server):
    with guard.watch("x"), pytest.raises(TypeError, match="missing"):
        add()


def test_an_option_of_a_run_needs_the_runs_name():
    with pytest.raises(TypeError, match="goal only after a run's name"):
        guard.watch(goal="x")


# --- which run --------------------------------------------------------------------------


def test_without_a_surrounding_run_calls_belong_to_the_processs_run(server):
    add(1)
    add(2)

    assert len(server.requests_to("POST", "runs/")) == 1
    assert len(proposals(server)) == 2


def test_watched_calls_belong_to_a_surrounding_session(server):
    with Session("mine") as session:
        add(1)

        assert session.run_id == "run-1"
    assert [post.body["name"] for post in server.requests_to("POST", "runs/")] == ["mine"]


def test_a_call_belongs_to_the_innermost_run(server):
    with guard.watch("outer"), guard.watch("inner"):
        assert session.current_session()._conversation.opening["name"] == "inner"


def test_a_thread_started_by_the_run_belongs_to_it(server):
    with guard.watch("x"), ThreadPoolExecutor(2) as pool:
        assert list(pool.map(add, range(4))) == [1, 2, 3, 4]

    assert len(server.requests_to("POST", "runs/")) == 1
    assert len(outcomes(server)) == 4


def test_a_decorated_loop_is_a_run_each_time(server):
    @guard.watch("fix-auth", goal="Make it pass", agent="coder")
    def agent(n):
        return [add(step) for step in range(n)]

    assert agent(2) == [1, 2]
    assert agent(1) == [1]

    opened = [post.body for post in server.requests_to("POST", "runs/")]
    assert [body["name"] for body in opened] == ["fix-auth"] * 2
    assert opened[0]["goal"] == "Make it pass"
    assert opened[0]["key"] != opened[1]["key"]
    assert len(server.requests_to("PATCH", "run-1/")) == 2


def test_a_loop_that_raises_is_reported_as_failed(server):
    @guard.watch("x")
    def agent():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        agent()

    assert server.requests_to("PATCH", "run-1/")[0].body == {"status": "failed"}
