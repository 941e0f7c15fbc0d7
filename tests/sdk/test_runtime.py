"""The runtime against a scripted OpenAI-compatible endpoint: streams, hand-offs, errors."""

import json
import os
import re
import subprocess
import sys
import threading

import pytest

from guard import Engine, Role, Session, Turn
from guard.errors import ModelFailed, ToolFailed
from guard.runtime import Agent, ChatModel, Tool, Workspace, run_agent, run_multi_agent
from guard.runtime.model import StreamedAnswer
from tests.guard.chat_endpoint import ChatServer, Reply, a_completion, a_refusal
from tests.installations import ROOT

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 40},
}


@pytest.fixture
def session(server):
    with Session("demo", url=server.url, key="k", outbox=False) as opened:
        yield opened


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "a.py").write_text("print('a')")
    return Workspace(tmp_path)


def a_call(tool, index=0, **args):
    function = {"name": tool, "arguments": json.dumps(args)}
    return {"index": index, "id": f"call-{tool}-{index}", "type": "function", "function": function}


def calling(*calls):
    return a_completion(None, finish="tool_calls", tool_calls=list(calls))


def chunk(finish=None, **delta):
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "chatcmpl-9", "model": "gpt-4o-mini", "choices": choices}


def last_chunk():
    return {"id": "chatcmpl-9", "model": "gpt-4o-mini", "choices": [], "usage": USAGE}


def streamed(*texts, **more):
    events = [chunk(content=text) for text in texts]
    return Reply(events=[*events, chunk("stop"), last_chunk(), "[DONE]"], **more)


def an_agent(chat, name="coder"):
    return Agent(name=name, instructions="Work.", model=ChatModel(url=chat.url, name="gpt-4o-mini"))


def turns(server):
    return [turn for asked in server.requests_to("POST", "turns/") for turn in asked.turns]


def ask(chat, **fields):
    model = ChatModel(url=chat.url, name="gpt-4o-mini", key="sk-test")
    return model.complete([{"role": "user", "content": "hi"}], [], **fields)


# --- streaming ---------------------------------------------------------------------------


def test_text_is_streamed_while_the_model_writes():
    texts, going_on = [], threading.Event()

    def hear(text):
        texts.append(text)
        going_on.set()

    with ChatServer(streamed("Hel", "lo", between=lambda: going_on.wait(60))) as chat:
        completion = ask(chat, on_text=hear)

    assert texts == ["Hel", "lo"]
    assert completion.text == "Hello"
    assert (completion.usage.input, completion.usage.cache_read) == (60, 40)
    assert (completion.call_id, completion.model) == ("chatcmpl-9", "gpt-4o-mini")
    assert chat.asked[0]["stream"] is True
    assert chat.asked[0]["stream_options"] == {"include_usage": True}


def test_calls_are_assembled_from_their_chunks():
    def part(index, text, **more):
        call = {"index": index, "function": {"arguments": text, **more.pop("function", {})}, **more}
        return chunk(tool_calls=[call])

    events = [
        part(0, "", id="c-1", function={"name": "read_file"}),
        part(0, '{"path": '),
        part(0, '"a.py"}'),
        part(1, '{"path": "b.py"}', id="c-2", function={"name": "read_file"}),
        chunk("tool_calls"),
        "[DONE]",
    ]
    with ChatServer(Reply(events=events)) as chat:
        completion = ask(chat, on_text=print)

    assert [(call.id, call.args["path"]) for call in completion.calls] == [
        ("c-1", "a.py"),
        ("c-2", "b.py"),
    ]
    assert completion.usage is None


def test_calls_without_an_index_are_told_apart_by_their_ids():
    draft = StreamedAnswer()
    for call_id in ("c-1", "c-2"):
        call = {"id": call_id, "function": {"name": "list_files", "arguments": "{}"}}
        draft.add_chunk(chunk("tool_calls", tool_calls=[call]))

    calls = draft.answer()["choices"][0]["message"]["tool_calls"]
    assert [call["id"] for call in calls] == ["c-1", "c-2"]


def test_an_endpoint_that_does_not_stream_is_read_all_the_same():
    texts = []
    with ChatServer(a_completion("Hello")) as chat:
        assert ask(chat, on_text=texts.append).text == "Hello"

    assert texts == ["Hello"]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(events=[chunk(content="Hel")]), "broke off in the middle"),
        (Reply(events=[{"error": {"message": "overloaded"}}]), "broke off: overloaded"),
        (Reply(events=["{no json"]), "no JSON"),
        (Reply(events=["[1]"]), "no completion"),
        (
            a_refusal("Wrong API key: sk-abcdefghij0123456789", 401),
            "answered 401: Wrong",
        ),
    ],
)
def test_a_stream_that_fails_says_why(reply, why):
    with ChatServer(reply) as chat, pytest.raises(ModelFailed, match=why) as failed:
        ask(chat, on_text=print)

    assert "abcdefghij" not in str(failed.value)


def test_an_error_in_on_text_is_not_a_model_failure():
    def fail(text):
        raise ValueError("no room")

    with ChatServer(streamed("Hello")) as chat, pytest.raises(ValueError, match="no room"):
        ask(chat, on_text=fail)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (
            a_refusal("The model does not exist", 404),
            "gpt-4o-mini: .*404: The model does not exist",
        ),
        (Reply({"error": {"message": "quota"}}), "gpt-4o-mini: quota"),
        (Reply({"choices": []}), "no completion"),
        (Reply(b"<html>", 502), "answered 502"),
    ],
)
def test_an_endpoint_that_refuses_says_why(reply, why):
    with ChatServer(reply) as chat, pytest.raises(ModelFailed, match=why):
        ask(chat)


# --- one agent -----------------------------------------------------------------------------


def test_an_agent_streams_under_its_name_and_reports_its_usage(server, session, workspace):
    texts = []
    with ChatServer(calling(a_call("read_file", path="a.py")), streamed("It ", "prints.")) as chat:
        answer = run_agent(
            session,
            "What does a.py do?",
            agent=an_agent(chat),
            workspace=workspace,
            on_text=lambda name, text: texts.append((name, text)),
        )

    assert answer == "It prints."
    assert texts == [("coder", "It "), ("coder", "prints.")]
    turn = turns(server)[-1]
    assert (turn["content"], turn["agent"]) == ("It prints.", "coder")
    assert turn["usage"]["input"] == 60
    assert turn["call_id"] == "chatcmpl-9"


def test_a_custom_tool_is_declared_and_run(server, session, workspace):
    add = Tool(
        name="add",
        description="Add",
        parameters={"a": "one", "b": "other"},
        run=lambda a, b: str(int(a) + int(b)),
    )
    with ChatServer(calling(a_call("add", a="1", b="2")), a_completion("3")) as chat:
        assert (
            run_agent(session, "1 + 2?", agent=an_agent(chat), workspace=workspace, tools=[add])
            == "3"
        )

    declared = [tool["function"]["name"] for tool in chat.asked[0]["tools"]]
    assert declared == ["read_file", "list_files", "write_file", "add"]
    assert turns(server)[2]["result"] == "3"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [("[1]", "no JSON object"), ("{", "no JSON object"), ('{"x": "1"}', "wrong arguments")],
)
def test_a_call_with_wrong_arguments_is_an_error_the_model_reads(
    server, session, workspace, arguments, error
):
    wrong = a_call("read_file")
    wrong["function"]["arguments"] = arguments
    with ChatServer(calling(wrong), a_completion("Sorry.")) as chat:
        run_agent(session, "Read.", agent=an_agent(chat), workspace=workspace)

    assert error in turns(server)[2]["error"]
    assert error in chat.asked[1]["messages"][-1]["content"]


def test_a_tool_that_fails_is_an_error_the_model_reads(server, session, workspace):
    def fail():
        raise ToolFailed("the disk is gone")

    tool = Tool(name="probe", description="Probe", run=fail)
    with ChatServer(calling(a_call("probe")), a_completion("Sorry.")) as chat:
        run_agent(session, "Go.", agent=an_agent(chat), workspace=workspace, tools=[tool])

    assert turns(server)[2]["error"] == "the disk is gone"


# --- several ---------------------------------------------------------------------------------


def passing_on(chat_body):
    """Two agents that hand the matter to each other for ever."""
    me = "writer" if "writer" in chat_body["messages"][0]["content"] else "reviewer"
    other = {"writer": "reviewer", "reviewer": "writer"}[me]
    place = len(chat_body["messages"])
    return calling(a_call("hand_over", place, to=other, note="You decide."))


def two(chat):
    model = ChatModel(url=chat.url, name="gpt-4o-mini")
    return [
        Agent(name=name, instructions=f"You are the {name}.", model=model)
        for name in ("writer", "reviewer")
    ]


def test_each_hand_over_is_a_turn_of_the_agent_that_hands_over(server, session, workspace):
    with ChatServer(passing_on) as chat:
        run_multi_agent(session, "Go.", agents=two(chat), workspace=workspace, most_steps=4)

    proposed = [turn for turn in turns(server) if turn.get("phase") == "proposed"]
    assert [(turn["agent"], turn["tool"], turn["args"]["to"]) for turn in proposed] == [
        ("writer", "hand_over", "reviewer"),
        ("reviewer", "hand_over", "writer"),
    ] * 2


def test_a_task_handed_round_in_a_circle_is_detected(server, session, workspace):
    with ChatServer(passing_on) as chat:
        run_multi_agent(session, "Go.", agents=two(chat), workspace=workspace, most_steps=12)

    engine = Engine()
    replayed = [
        Turn(
            role=Role(turn["role"]),
            key=turn["key"],
            agent=turn.get("agent"),
            phase=turn["phase"],
            tool=turn.get("tool"),
            args=turn.get("args"),
            content=turn.get("content"),
            result=turn.get("result"),
        )
        for turn in turns(server)
    ]
    trips = [seen.trip for turn in replayed if (seen := engine.observe(turn)).trip]
    assert trips


def test_the_agent_that_takes_over_answers(server, session, workspace):
    def play(body):
        if "writer" in body["messages"][0]["content"]:
            return calling(a_call("hand_over", to="reviewer", note="Please answer."))
        assert body["messages"][-1]["content"] == "writer: Please answer."
        return a_completion("42")

    with ChatServer(play) as chat:
        answer = run_multi_agent(session, "Go.", agents=two(chat), workspace=workspace)

    assert answer == "42"
    assert turns(server)[-1]["agent"] == "reviewer"


def test_handing_over_to_nobody_is_an_error(server, session, workspace):
    replies = calling(a_call("hand_over", to="the king", note="x")), a_completion("Then I do it.")
    with ChatServer(*replies) as chat:
        run_multi_agent(session, "Go.", agents=two(chat), workspace=workspace)

    assert turns(server)[2]["error"] == "there is no other agent the king"


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_agents_need_names_of_their_own(session, workspace, names):
    model = ChatModel(url="http://127.0.0.1:9/v1", name="x")
    agents = [Agent(name=name, instructions="", model=model) for name in names]

    with pytest.raises(ValueError, match="name of its own"):
        run_multi_agent(session, "Go.", agents=agents, workspace=workspace)


# --- what the documentation shows -----------------------------------------------------------


def blocks(page):
    """The Python of a page of docs/, block by block."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_smallest_agent_of_the_documentation_runs(server, workspace, tmp_path):
    (tmp_path / "README.md").write_text("one\ntwo\n")
    (program,) = blocks("runtime.md")
    assert len(program.splitlines()) <= 40
    replies = calling(a_call("count_lines", path="README.md")), streamed("It has ", "two lines.")
    with ChatServer(*replies) as chat:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env={
                **os.environ,
                "OPENAI_BASE_URL": chat.url,
                "OPENAI_API_KEY": "sk-test",
                "MISSIONCONTROL_URL": server.url,
                "MISSIONCONTROL_KEY": "mc_k",
                "PYTHONPATH": str(ROOT),
            },
        )

    assert done.stdout == "It has two lines."
    calls = [(turn.get("tool"), turn.get("result")) for turn in turns(server)]
    assert ("count_lines", "2") in calls
    assert server.requests_to("POST", "runs/")[0].body["workspace"] == ["README.md", "a.py"]


def test_the_one_line_of_the_documentation_runs(server, workspace, monkeypatch):
    monkeypatch.setenv("MISSIONCONTROL_URL", server.url)
    monkeypatch.setenv("MISSIONCONTROL_KEY", "mc_k")
    monkeypatch.chdir(workspace.root)
    (program,) = [block for block in blocks("agents.md") if "@guard.watch" in block]
    read = []

    exec(program, {"my_loop": lambda tools: read.append(tools[0]("a.py"))})  # noqa: S102 - ours

    assert read == ["print('a')"]
    assert turns(server)[0]["tool"] == "read_file"
