"""What a turn is, read beside those before it: an action, an answer, a person's words, noise."""

import pytest

from guard.engine import Engine
from guard.reading.attempts import Kind, TurnReader
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message, a_user


def kinds(*turns):
    reader = TurnReader()
    return [reader.take(turn, seq).kind for seq, turn in enumerate(turns)]


def test_a_line_that_only_names_who_is_next_is_noise():
    planner = Turn(role=Role.ASSISTANT, agent="planner", content="We need the tests green first.")
    route = Turn(role=Role.ASSISTANT, agent="router", content="Next speaker: planner")

    assert kinds(planner, a_call("ls", "a.py"), route)[-1] is Kind.NOISE


def test_a_users_turn_after_the_only_open_call_is_its_answer():
    assert kinds(a_call("ls", None), a_user("a.py b.py")) == [Kind.ACTION, Kind.ANSWER]


def test_a_users_turn_after_several_open_calls_is_a_person():
    assert kinds(a_call("ls", None), a_call("pwd", None), a_user("Stop that now")) == [
        Kind.ACTION,
        Kind.ACTION,
        Kind.PERSON,
    ]


def test_where_this_log_gave_answers_in_the_users_name_before_several_calls_are_answered_so():
    first = (a_call("ls", None), a_user("a.py b.py"))
    both = (a_call("cat", None, path="a.py"), a_call("pwd", None), a_user("/home/me"))

    assert kinds(*first, *both)[-1] is Kind.ANSWER


def test_words_that_a_person_says_again_answer_no_call():
    begun = (a_user("Please make the login tests pass"), a_message("I shall look at it."))
    again = (a_call("ls", None), a_user("Please make the login tests pass"))

    assert kinds(*begun, *again)[-1] is not Kind.ANSWER


@pytest.mark.parametrize("between", [(), (Turn(role=Role.SYSTEM, content="Context: 40 %"),)])
def test_what_stands_between_a_nudge_and_its_answer_takes_nothing_from_it(between):
    engine = Engine()
    nudge = a_user("Please go on until the login tests pass")
    for turn in (nudge, a_message("I shall look at it."), nudge, *between, a_call("ls", "a.py")):
        engine.observe(turn)

    assert engine.history.steps[-1].nudged
