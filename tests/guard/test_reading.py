"""What a turn is, read beside those before it: an action, an answer, a person's words, noise."""

import pytest

from guard.engine import Engine
from guard.reading.attempts import TurnKind, TurnReader
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message, a_user, first_trip


def kinds(*turns):
    reader = TurnReader()
    return [reader.read(turn, seq).kind for seq, turn in enumerate(turns)]


def test_a_line_that_only_names_who_is_next_is_noise():
    planner = Turn(role=Role.ASSISTANT, agent="planner", content="We need the tests green first.")
    route = Turn(role=Role.ASSISTANT, agent="router", content="Next speaker: planner")

    assert kinds(planner, a_call("ls", "a.py"), route)[-1] is TurnKind.NOISE


def test_a_line_that_gives_the_floor_to_whom_a_call_asked_answers_it_not():
    route = Turn(role=Role.ASSISTANT, agent="router", content="Next speaker: Librarian")
    answer = Turn(role=Role.ASSISTANT, agent="Librarian", content="It stands on shelf nine.")
    asked = a_call("ask_Librarian", None, agent="Lead", request="Where is it?")

    assert kinds(asked, route, answer) == [TurnKind.ACTION, TurnKind.NOISE, TurnKind.ANSWER]


def test_a_line_that_gives_the_floor_to_the_agent_is_noise_though_nobody_has_a_name():
    route = Turn(role=Role.ASSISTANT, agent="router", content="Next speaker: agent")

    assert kinds(a_call("ls", "a.py"), route) == [TurnKind.ACTION, TurnKind.NOISE]


def test_a_call_of_an_agent_without_a_name_is_answered_by_one_that_has_one():
    answer = Turn(role=Role.ASSISTANT, agent="environment", content="a.py b.py")

    assert kinds(a_call("ls", None), answer) == [TurnKind.ACTION, TurnKind.ANSWER]


def test_what_a_tool_answers_is_no_routing_line_though_it_names_an_agent():
    named = Turn(role=Role.TOOL, content="planner")

    assert kinds(a_message("We begin.", agent="planner"), a_call("who", None), named)[-1] is (
        TurnKind.ANSWER
    )


def test_who_is_given_the_floor_again_and_again_and_says_nothing_is_seen():
    route = Turn(role=Role.ASSISTANT, agent="router", content="Next speaker: proxy")
    turns = [a_message("I am done.", agent="coder"), *[route, a_message(" ", agent="proxy")] * 8]

    assert first_trip(turns) is not None


def test_routing_lines_do_not_make_an_engine_forget():
    page = "\n".join(f"The {name} stands in the old harbour." for name in "abcdefghijklmnop")
    route = Turn(role=Role.ASSISTANT, agent="router", content="Next speaker: reader")
    engine = Engine()
    engine.observe(a_call("read", page, agent="reader", path="a.md"))
    for _ in range(60):
        engine.observe(route)
        engine.observe(a_call("ls", "a.md b.md", agent="reader"))

    engine.observe(a_call("read", page, agent="reader", path="b.md"))

    assert engine.history.last.news == 0.0


def test_who_says_nothing_but_a_routers_words_is_seen():
    message = a_message("Transfer running, handoff active.")

    assert first_trip([message] * 20) is not None
    assert kinds(*[message] * 5) == [TurnKind.NOISE] * 4 + [TurnKind.ACTION]


def test_routing_lines_between_turns_stay_noise_however_many():
    route = Turn(role=Role.ASSISTANT, agent="router", content="Next speaker: coder")
    found = kinds(*[route, a_call("ls", "a.py", agent="coder"), route, a_user()] * 4)

    assert set(found[2::2]) == {TurnKind.NOISE}


def test_an_answer_in_a_routers_words_answers_an_open_call():
    answer = Turn(role=Role.ASSISTANT, agent="deploy", content="Agent active, running.")

    assert kinds(a_call("status", None, agent="lead"), answer)[-1] is TurnKind.ANSWER


def test_the_floor_is_given_back_to_one_that_only_gave_it():
    given = Turn(role=Role.ASSISTANT, agent="dispatcher", content="Next speaker: agent")
    back = Turn(role=Role.ASSISTANT, agent="coder", content="Transfer to dispatcher.")

    assert kinds(given, back) == [TurnKind.NOISE, TurnKind.NOISE]


def test_a_named_agent_that_calls_itself_answers_no_call_of_one_without_a_name():
    message = a_message("I read the harbour file next.", agent="reviewer")
    own = a_call("cat", "text", agent="reviewer", path="a.py")

    assert kinds(own, a_call("ls", None), message)[-1] is TurnKind.ACTION


def test_a_users_turn_after_the_only_open_call_is_its_answer():
    assert kinds(a_call("ls", None), a_user("a.py b.py")) == [TurnKind.ACTION, TurnKind.ANSWER]


def test_a_users_turn_after_several_open_calls_is_a_person():
    assert kinds(a_call("ls", None), a_call("pwd", None), a_user("Stop that now")) == [
        TurnKind.ACTION,
        TurnKind.ACTION,
        TurnKind.PERSON,
    ]


def test_where_this_log_gave_answers_in_the_users_name_before_several_calls_are_answered_so():
    first = (a_call("ls", None), a_user("a.py b.py"))
    both = (a_call("cat", None, path="a.py"), a_call("pwd", None), a_user("/home/me"))

    assert kinds(*first, *both)[-1] is TurnKind.ANSWER


def test_words_that_a_person_says_again_answer_no_call():
    begun = (a_user("Please make the login tests pass"), a_message("I shall look at it."))
    again = (a_call("ls", None), a_user("Please make the login tests pass"))

    assert kinds(*begun, *again)[-1] is not TurnKind.ANSWER


@pytest.mark.parametrize("between", [(), (Turn(role=Role.SYSTEM, content="Context: 40 %"),)])
def test_what_stands_between_a_nudge_and_its_answer_takes_nothing_from_it(between):
    engine = Engine()
    nudge = a_user("Please go on until the login tests pass")
    for turn in (nudge, a_message("I shall look at it."), nudge, *between, a_call("ls", "a.py")):
        engine.observe(turn)

    assert engine.history.steps[-1].after_nudge
