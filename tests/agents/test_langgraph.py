"""What only LangGraph has: threads that are interrupted, resumed and taken up again."""

import pytest

from tests.agents.chat_api import ScriptedChatApi
from tests.agents.messages_api import Reply
from tests.installations import wait_for

pytestmark = pytest.mark.agents


def lists_once(request):
    if "settings.py" in request.text:
        return Reply(text="There is settings.py.")
    return Reply(calls=(("approved_list_files", {"folder": "."}),))


def test_a_thread_is_one_run_over_an_interrupt_and_its_call_one_turn(play, person):
    with ScriptedChatApi(lists_once) as api:
        env = {"OPENAI_BASE_URL": api.url, "OPENAI_API_KEY": "dummy"}
        program = play("langgraph", "langgraph_interrupted", **env)
        account = program.account()

    assert account["ran"] == ["."]
    assert account["ended"] == account["again"] == "There is settings.py."
    run = person.run_of(f"langgraph:{program.story}-thread")
    steps = [(turn["role"], turn["tool"], turn["phase"]) for turn in person.turns(run["id"])]
    answered = [("assistant", None, "done")]
    called = [("assistant", "approved_list_files", "done")]
    asked = [("user", None, "done")]
    assert steps == [*asked, *called, *answered, *asked, *answered]
    assert run["status"] == "completed"


def reads_two_files_at_once_again_and_again(request):
    return Reply(calls=tuple(("read_file", {"path": path}) for path in ("a.py", "b.py")))


def test_an_invocation_that_is_cancelled_while_held_is_over(play, person, tmp_path):
    with ScriptedChatApi(reads_two_files_at_once_again_and_again) as api:
        env = {"OPENAI_BASE_URL": api.url, "OPENAI_API_KEY": "dummy"}
        program = play("langgraph", "langgraph_cancelled", **env)
        run = program.card(person)["run"]

        (tmp_path / "cancel").touch()

        wait_for(lambda: person.run(run)["status"] == "failed", shown=lambda: person.run(run))
        wait_for(lambda: person.waiting_on(run) is None)
        (tmp_path / "leave").touch()
        assert program.account()["ended"] == "cancelled"


def reads_two_files_then_answers(request):
    if request.calls < 2:
        return Reply(calls=(("read_file", {"path": f"{request.calls}.py"}),))
    return Reply(text="I may not.")


def test_a_model_call_whose_tool_another_middleware_refuses_is_paid_for(play, person):
    with ScriptedChatApi(reads_two_files_then_answers) as api:
        env = {"OPENAI_BASE_URL": api.url, "OPENAI_API_KEY": "dummy"}
        program = play("langgraph", "langgraph_refused", **env)
        account = program.account()

    assert (account["ran"], account["ended"]) == ([], "I may not.")
    run = person.run_named(f"{program.story}-refused")
    paid = [turn["content"] for turn in person.turns(run) if turn["cost_usd"] is not None]
    asked = [f"(asked for read_file {{'path': '{n}.py'}})" for n in range(2)]
    assert paid == [*asked, "I may not."]
