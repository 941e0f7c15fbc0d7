"""The small loop: sandbox, skip, stop, messages, usage."""

import pytest

from guard import Session, Stopped
from guard.errors import ModelFailed, ToolFailed
from guard.runtime import Agent, ChatModel, Workspace, run_agent, run_multi_agent
from missioncontrol.demo import endpoint, scenes
from missioncontrol.demo.endpoint import scripted_endpoint
from tests.sdk.server import LoopbackServer, directive


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    return Workspace(tmp_path / "inside")


@pytest.fixture
def server():
    serving = LoopbackServer()
    serving.start()
    yield serving
    serving.stop()


@pytest.fixture
def model():
    with scripted_endpoint(pace=0) as url:
        yield ChatModel(url=url, name="gpt-4o-mini", provider="openai")


@pytest.fixture
def session(server):
    with Session("demo", url=server.url, key="k") as opened:
        yield opened


def turns(server):
    return [asked.turn for asked in server.requests_to("POST", "turns/")]


def proposals(server):
    return [turn for turn in turns(server) if turn.get("phase") == "proposed"]


def answer_third_proposal(server, message):
    """Answer the third proposed call with a directive, every other turn with proceed."""

    def answer_turn(asked):
        third = asked.turn.get("phase") == "proposed" and len(proposals(server)) == 3
        return 200, message if third else directive()

    server.answer_turn = answer_turn


# --- the workspace ---------------------------------------------------------------


def test_it_writes_reads_and_lists_what_is_inside(workspace):
    workspace.write_file("a/b.txt", "hi")

    assert workspace.read_file("a/b.txt") == "hi"
    assert workspace.list_files() == "a/b.txt"


@pytest.mark.parametrize("path", ["../outside.txt", "a/../../outside.txt", "/etc/passwd"])
def test_a_path_that_leads_out_is_refused(workspace, path):
    with pytest.raises(ToolFailed, match="outside"):
        workspace.read_file(path)
    with pytest.raises(ToolFailed, match="outside"):
        workspace.write_file(path, "x")


def test_a_link_that_leads_out_is_refused(workspace):
    (workspace.root / "link").symlink_to(workspace.root.parent)

    with pytest.raises(ToolFailed, match="outside"):
        workspace.read_file("link/outside.txt")


def test_a_file_that_is_not_there_is_named(workspace):
    with pytest.raises(ToolFailed, match=r"package\.json: no such file"):
        workspace.read_file("package.json")


def test_a_file_that_is_no_text_is_refused(workspace):
    (workspace.root / "x.bin").write_bytes(b"\xff\xfe\xfa")

    with pytest.raises(ToolFailed, match="no text"):
        workspace.read_file("x.bin")


# --- the loop ----------------------------------------------------------------------


def npm_minded(session, model, tmp_path):
    agent = Agent(name="npm-minded", instructions=endpoint.NPM_MINDED, model=model)
    return run_agent(
        session,
        "What version is this project?",
        agent=agent,
        workspace=scenes.make_workspace(tmp_path / "project", scenes.PYTHON_PROJECT),
        most_steps=12,
    )


def test_a_corrected_agent_answers_from_the_real_file(session, server, model, tmp_path):
    fix = directive("proceed", "The file that exists is pyproject.toml.", call="skip")
    answer_third_proposal(server, fix)

    assert npm_minded(session, model, tmp_path) == "This project is version 2.4.1."

    paths = [turn["args"]["path"] for turn in proposals(server)]
    assert paths == ["package.json"] * 3 + ["pyproject.toml"]


def test_without_intervention_it_loops_to_its_last_step(session, server, model, tmp_path):
    assert npm_minded(session, model, tmp_path) == ""
    assert {turn["args"]["path"] for turn in proposals(server)} == {"package.json"}


def test_a_message_with_a_call_that_runs_is_read_too(session, server, model, tmp_path):
    answer_third_proposal(server, directive("proceed", "Look into pyproject.toml."))

    assert npm_minded(session, model, tmp_path) == "This project is version 2.4.1."


def test_a_stop_ends_the_loop(session, server, model, tmp_path):
    answer_third_proposal(server, directive("stop", reason="enough"))

    with pytest.raises(Stopped, match="enough"):
        npm_minded(session, model, tmp_path)

    assert len(proposals(server)) == 3


def test_each_model_call_reports_its_usage_under_one_id(session, server, model, tmp_path):
    answer_third_proposal(server, directive("proceed", "See pyproject.toml.", call="skip"))
    npm_minded(session, model, tmp_path)

    replies = [turn for turn in turns(server) if turn["role"] == "assistant"]
    assert all(turn["usage"]["input"] + turn["usage"]["cache_read"] > 0 for turn in replies)
    assert {turn["model"] for turn in replies} == {"gpt-4o-mini"}
    assert len({turn["call_id"] for turn in replies}) == 5


def test_a_file_that_is_missing_is_an_error_and_no_result(session, server, model, tmp_path):
    npm_minded(session, model, tmp_path)

    done = next(turn for turn in turns(server) if turn.get("tool") and turn["phase"] == "done")
    assert done["error"] == "package.json: no such file or directory"
    assert "result" not in done


def two_agents(session, model, tmp_path):
    agents = (
        Agent(name="writer", instructions=endpoint.WRITER, model=model),
        Agent(name="reviewer", instructions=endpoint.REVIEWER, model=model),
    )
    desk = scenes.make_workspace(tmp_path / "desk", scenes.RELEASE)
    answer = run_multi_agent(session, "Write it.", agents=agents, workspace=desk, most_steps=9)
    return answer, desk


def test_two_agents_hand_a_task_to_each_other_for_ever(session, server, model, tmp_path):
    answer, _ = two_agents(session, model, tmp_path)

    assert answer == ""
    assert [turn["agent"] for turn in proposals(server)][:4] == ["writer", "reviewer"] * 2


@pytest.mark.parametrize(
    ("message", "dates"),
    [
        ("Decide for one side and finish it.", ["2026-03-04", "2026-03-01"]),
        ("Write American dates.", ["03/04/2026", "03/01/2026"]),
    ],
)
def test_a_decision_of_a_third_one_settles_it(session, server, model, tmp_path, message, dates):
    answer_third_proposal(server, directive("proceed", message, call="skip"))

    answer, desk = two_agents(session, model, tmp_path)

    assert answer.startswith("Settled")
    assert all(date in desk.read_file("RELEASE.md") for date in dates)


def test_the_librarian_reads_everything_and_never_repeats_itself(session, server, model, tmp_path):
    agent = Agent(name="librarian", instructions=endpoint.LIBRARIAN, model=model)
    library = scenes.make_workspace(tmp_path / "library", scenes.library())

    answer = run_agent(session, "Sort it.", agent=agent, workspace=library)

    calls = [str((turn["tool"], turn["args"])) for turn in proposals(server)]
    assert "SUMMARY.md" in answer
    assert len(set(calls)) == len(calls) > 40


def test_an_unreachable_endpoint_raises_model_failed(session, tmp_path):
    away = ChatModel(url="http://127.0.0.1:9/v1", name="x")

    with pytest.raises(ModelFailed):
        npm_minded(session, away, tmp_path)


def test_an_unknown_path_raises_model_failed(session, model, tmp_path):
    lost = ChatModel(url=model.url + "/elsewhere", name="x")

    with pytest.raises(ModelFailed, match="404"):
        npm_minded(session, lost, tmp_path)
