"""Agents that end otherwise than by their last answer: their runs are told to be over at once.

Each process lives on meanwhile, as a server's does, and so do its signs of life.
"""

import pytest

from tests.agents.chat_api import ScriptedChatApi
from tests.agents.messages_api import Reply
from tests.agents.test_frameworks import charged
from tests.installations import wait_for

pytestmark = pytest.mark.agents

ENDS = ("limit", "raises", "elsewhere", "left")


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
def test_a_langgraph_run_that_nobody_ends_in_order_has_failed(
    play_agent, api, person, tmp_path, how, kind
):
    api.script = breaks_down if how == "raises" else goes_on
    program = play_agent("langgraph", "langgraph_ends", how, kind)
    run = program.opened(person, "loop")

    wait_for(
        lambda: person.run(run)["status"] == "failed", seconds=60, shown=lambda: person.run(run)
    )
    (tmp_path / "leave").touch()
    assert program.account()["ended"] != "answered" or how == "left"
    charged(person.run(run), calls=len(api.requests))
