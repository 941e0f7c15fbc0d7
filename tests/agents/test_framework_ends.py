"""Agents that end otherwise than by their last answer: their runs are told to be over at once.

Each process lives on meanwhile, as a server's does, and so do its signs of life.
"""

import pytest

from tests.agents.chat_api import ScriptedChatApi
from tests.agents.claude_code import binary
from tests.agents.frameworks.play import SURVEY
from tests.agents.messages_api import Reply
from tests.agents.test_claude_agent_sdk import charged as claude_charged
from tests.agents.test_frameworks import charged
from tests.installations import wait_for

pytestmark = pytest.mark.agents

SURVEYED = ("0.py", "1.py", "2.py")


def goes_on(request):
    """Read another file again and again."""
    return Reply(calls=(("read_file", {"path": f"{request.calls}.py"}),))


def breaks_down(request):
    """Read a file, then call what breaks, then give up."""
    if request.calls == 0:
        return Reply(calls=(("read_file", {"path": "a.py"}),))
    if "b.py" in request.text:
        return Reply(text="I give up.")
    return Reply(calls=(("break_down", {"path": "b.py"}),))


def interrupts(request):
    """Read a file, then call what is interrupted."""
    if request.calls == 0:
        return Reply(calls=(("read_file", {"path": "a.py"}),))
    return Reply(calls=(("interrupt", {"path": "b.py"}),))


ENDS = {
    "limit": goes_on,
    "raises": breaks_down,
    "elsewhere": goes_on,
    "left": goes_on,
    "interrupted": interrupts,
}


def loops_beside_a_survey(request):
    """Who surveys reads three files and answers; who looks reads the same one again and again."""
    if SURVEY not in request.text:
        return Reply(calls=(("read_file", {"path": "setings.py"}),))
    if request.calls < len(SURVEYED):
        return goes_on(request)
    return Reply(text="That is all.")


@pytest.fixture
def api():
    with ScriptedChatApi(goes_on) as serving:
        yield serving


@pytest.fixture
def play_agent(play, api):
    def start(*program):
        return play(*program, OPENAI_BASE_URL=api.url, OPENAI_API_KEY="dummy")

    return start


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("how", ENDS)
def test_a_langgraph_run_that_does_not_end_normally_has_failed(
    play_agent, api, person, tmp_path, how, kind
):
    api.script = ENDS[how]
    program = play_agent("langgraph", "langgraph_ends", how, kind)
    run = program.opened(person, "loop")

    failed_at_once(person, run)
    (tmp_path / "leave").touch()
    assert program.account()["ended"] != "answered" or how == "left"
    charged(person.run(run), calls=len(api.requests))


def test_the_adapter_passes_on_any_message_of_the_host(play_agent):
    program = play_agent("langgraph", "langgraph_own_message")

    assert program.account()["answer"] == "yes"


@pytest.mark.parametrize("how", ["limit", "raises", "stream-limit", "stream-raises"])
def test_an_openai_agents_run_that_raises_has_failed(play_agent, api, person, tmp_path, how):
    api.script = breaks_down if how.endswith("raises") else goes_on
    program = play_agent("openai-agents", "openai_agents_ends", how)
    run = program.opened(person, "loop")

    failed_at_once(person, run)
    (tmp_path / "leave").touch()
    assert program.account()["ended"] in {"MaxTurnsExceeded", "ValueError", "UserError"}
    charged(person.run(run), calls=len(api.requests))


@pytest.mark.parametrize("how", ["cancelled", "stream-cancelled"])
def test_an_openai_agents_run_that_is_cancelled_while_held_is_over(
    play_agent, api, person, tmp_path, how
):
    api.script = reads_two_files_at_once
    program = play_agent("openai-agents", "openai_agents_ends", how)
    run = program.card(person)["run"]
    (tmp_path / "cancel").touch()

    failed_at_once(person, run)
    wait_for(lambda: person.waiting_on(run) is None)
    (tmp_path / "leave").touch()
    assert program.account()["ended"] == "CancelledError"


AT_ONCE = {
    "openai-agents": ("openai-agents", "openai_agents_ends", "together"),
    "openai-agents-stream": ("openai-agents", "openai_agents_ends", "stream-together"),
    "langgraph": ("langgraph", "langgraph_together"),
    "langgraph-async": ("langgraph", "langgraph_together", "async"),
    "crewai": ("crewai", "crewai_together"),
    "crewai-stream": ("crewai", "crewai_together", "stream"),
}


@pytest.mark.parametrize("agent", AT_ONCE)
def test_holding_one_of_two_runs_in_a_process_does_not_hold_the_other(
    play_agent, api, person, tmp_path, agent
):
    api.script = loops_beside_a_survey
    program = play_agent(*AT_ONCE[agent])
    held = program.card(person)
    (tmp_path / "survey").touch()
    surveying = program.opened(person, "survey")

    wait_for(
        lambda: person.run(surveying)["status"] == "completed",
        seconds=60,
        shown=lambda: person.run(surveying),
    )
    surveyed = [turn["args"]["path"] for turn in person.turns(surveying) if turn["tool"]]
    assert surveyed == [*SURVEYED]
    charged(person.run(surveying), calls=len(SURVEYED) + 1)
    assert person.run(held["run"])["status"] == "held"

    person.tap(held, "terminate")
    assert "ended" in str(program.account()["ended"])
    looked = [turn["args"]["path"] for turn in person.turns(held["run"]) if turn["tool"]]
    assert looked == ["setings.py"] * 3
    charged(person.run(held["run"]), calls=3)


def test_holding_one_of_two_litellm_sessions_does_not_hold_the_other(
    play_agent, api, person, tmp_path
):
    api.script = loops_beside_a_survey
    program = play_agent("litellm", "litellm_together")

    def run_of(story):
        run = person.run_of(f"litellm:{program.story}-{story}")
        return run["id"] if run else None

    held = program.card(person, key=f"litellm:{program.story}-loop")
    (tmp_path / "survey").touch()
    wait_for(
        lambda: run_of("survey") and person.turns(run_of("survey"))[-1]["content"],
        seconds=60,
        shown=lambda: person.turns(run_of("survey")),
    )
    charged(person.run(run_of("survey")), calls=len(SURVEYED) + 1)
    assert person.run(held["run"])["status"] == "held"

    person.tap(held, "terminate")
    assert "ended" in str(program.account()["ended"])
    charged(person.run(held["run"]), calls=3)
    assert person.run(run_of("survey"))["status"] == "completed"


@pytest.mark.parametrize("how", ["cancelled", "raises"])
def test_a_litellm_loop_cancelled_while_held_is_over(play_agent, api, person, tmp_path, how):
    api.script = loops_beside_a_survey
    program = play_agent("litellm", "litellm_together", how)

    run = program.card(person, key=f"litellm:{program.story}-loop")["run"]
    (tmp_path / "survey").touch()

    failed_at_once(person, run)
    wait_for(lambda: person.waiting_on(run) is None)
    (tmp_path / "leave").touch()
    assert program.account()["ended"] in {"CancelledError", "ValueError"}
    charged(person.run(run), calls=3)


def test_cancelling_one_litellm_loop_does_not_end_two_others(play_agent, api, person, tmp_path):
    """Each of its requests once broke the end off: the other runs were never told to be over."""
    api.script = loops_or_goes_on
    program = play_agent("litellm", "litellm_together", "raises", "beside")
    run = program.card(person, key=f"litellm:{program.story}-loop")["run"]
    (tmp_path / "survey").touch()
    wait_for(lambda: person.run_of(f"litellm:{program.story}-survey"))
    wait_for(lambda: person.run_of(f"litellm:{program.story}-another"))
    (tmp_path / "give up").touch()

    failed_at_once(person, run)
    (tmp_path / "leave").touch()
    assert program.account()["ended"] == "ValueError"


def loops_or_goes_on(request):
    return goes_on(request) if SURVEY in request.text else loops_beside_a_survey(request)


def failed_at_once(person, run):
    wait_for(
        lambda: person.run(run)["status"] == "failed", seconds=60, shown=lambda: person.run(run)
    )


def reads_two_files_at_once(request):
    return Reply(calls=tuple(("read_file", {"path": path}) for path in ("a.py", "b.py")))


def goes_on_while_it_has_tools(request):
    """Read another file again and again, and answer once nothing else is left."""
    return goes_on(request) if request.tools else Reply(text="That is all.")


CREWS = {
    "limit": (goes_on_while_it_has_tools, "completed"),
    "raises": (breaks_down, "completed"),
    "interrupted": (interrupts, "failed"),
}


@pytest.mark.parametrize("how", CREWS)
def test_a_crews_run_is_over_when_its_kickoff_is(play_agent, api, person, tmp_path, how):
    api.script, status = CREWS[how]
    program = play_agent("crewai", "crewai_ends", how)
    run = program.opened(person, "loop")

    wait_for(lambda: person.run(run)["status"] == status, seconds=60, shown=lambda: person.run(run))
    (tmp_path / "leave").touch()
    account = program.account()
    assert (account["ended"] == "answered") is (status == "completed")
    told = [turn for turn in person.turns(run) if turn["tool"]]
    assert [turn["args"]["path"] for turn in told] == account["ran"]
    charged(person.run(run), calls=len(api.requests))


@pytest.fixture
def play_claude(play, model, tmp_path):
    if (client := binary()) is None:
        pytest.skip("Claude Code is not installed: run .ci/install-agents")

    def start(how, script):
        for path in SURVEYED:
            (tmp_path / path).write_text(f"# what {path} says\n")
        env = {
            "CLAUDE": str(client),
            "ANTHROPIC_BASE_URL": model(script).url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        return play("claude-agent-sdk", "claude_sdk_ends", how, **env)

    return start


def looks_beside_a_survey(conversation):
    """As `loops_beside_a_survey`, with Claude Code's own tool."""
    path = "setings.py"
    if SURVEY in conversation.text:
        if len(conversation.calls()) == len(SURVEYED):
            return Reply(text="That is all.")
        path = f"{len(conversation.calls())}.py"
    return Reply(calls=(("Read", {"file_path": path}),))


def looks_twice_at_once(conversation):
    return Reply(calls=tuple(("Read", {"file_path": path}) for path in ("a.py", "b.py")))


def test_the_claude_sdks_run_is_over_at_its_limit(play_claude, person, tmp_path):
    program = play_claude("limit", looks_beside_a_survey)
    run = program.opened(person, "loop")

    wait_for(
        lambda: person.run(run)["status"] in {"completed", "failed"},
        seconds=60,
        shown=lambda: person.run(run),
    )
    (tmp_path / "leave").touch()
    account = program.account()
    assert person.run(run)["status"] == "failed", account
    claude_charged(person.run(run), calls=2)


def test_the_claude_sdks_run_is_over_when_it_is_cancelled_while_held(play_claude, person, tmp_path):
    program = play_claude("cancelled", looks_twice_at_once)
    run = program.card(person)["run"]
    (tmp_path / "cancel").touch()

    failed_at_once(person, run)
    wait_for(lambda: person.waiting_on(run) is None)
    (tmp_path / "leave").touch()
    assert program.account()["ended"] == "CancelledError"


def test_holding_one_of_two_claude_sdk_runs_does_not_hold_the_other(play_claude, person, tmp_path):
    program = play_claude("together", looks_beside_a_survey)
    held = program.card(person)
    (tmp_path / "survey").touch()
    surveying = program.opened(person, "survey")

    wait_for(
        lambda: person.run(surveying)["status"] == "completed",
        seconds=60,
        shown=lambda: person.run(surveying),
    )
    claude_charged(person.run(surveying), calls=len(SURVEYED) + 1)
    assert person.run(held["run"])["status"] == "held"

    person.tap(held, "terminate")
    assert "ended" in str(program.account()["ended"])
    claude_charged(person.run(held["run"]), calls=3)
