"""What a harness writes around an agent's turns, or instead of an answer, moves nothing."""

from __future__ import annotations

import pytest

from guard.formats.recording import Recording
from guard.reading.attempts import TurnKind, TurnReader
from guard.replay import replay
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message, a_user, first_trip

OPEN = a_call("browser_open", "A form with a name and a password.", url="https://mill.example")
CLICK = "Eval: unknown\nGoal: click the Enter button."


@pytest.mark.parametrize(
    "stamp",
    [
        "📍 Step {}",
        "=== STEP {} ===",
        "Executing step {}/20",
        "[Turn {}/30]",
        "**Iteration {}**",
        "[12:03:1{}]",
        "[2026-11-25T12:03:1{}Z] The form is open.",
    ],
)
def test_a_stamp_over_a_message_does_not_make_it_another(stamp):
    clicks = [a_message(f"{stamp.format(at)}\n{CLICK}") for at in range(2, 6)]

    assert first_trip([OPEN, *clicks]) == 3


@pytest.mark.parametrize("counted", ["Batch {} of 9 is in.", "Step {}: oil the wheel.", "Page {}"])
def test_what_counts_its_own_work_goes_on(counted):
    clicks = [a_message(counted.format(at)) for at in range(1, 7)]

    assert first_trip([OPEN, *clicks]) is None


AGAIN = "Observed duplicate responses. Consider new strategies."
ASKS = (
    "I am sorry for the repetition. Please give me the task or question you have.",
    "I understand the frustration. Please tell me the task, so that we can begin.",
)
CHAPTERS = (
    "The miller rose before dawn, lit a lantern and crossed the frozen yard.",
    "Beyond the weir a stranger waited with a lame horse and a letter.",
    "The letter spoke of debts, of a brother at sea, and of a buried chest.",
    "They dug beneath the willow until rain filled every furrow.",
    "A rusted key turned; inside lay seeds, nothing but seeds.",
)


def answered(texts, role, words=AGAIN):
    nudge = Turn(role=role, content=words)
    return [turn for text in texts for turn in (a_message(text), nudge)]


@pytest.mark.parametrize("role", [Role.USER, Role.SYSTEM])
def test_who_is_told_the_same_and_asks_the_same_does_nothing(role):
    assert first_trip(answered(ASKS * 4, role)) is not None


@pytest.mark.parametrize("role", [Role.USER, Role.SYSTEM])
def test_who_is_told_to_go_on_with_a_tale_goes_on(role):
    assert first_trip(answered(CHAPTERS, role, "Go on.")) is None


def test_a_reminder_that_comes_with_every_call_is_no_nudge():
    reader, reminder = TurnReader(), Turn(role=Role.SYSTEM, content="Keep the plan in mind.")

    kinds = [reader.read(turn, at).kind for at, turn in enumerate([OPEN, reminder, reminder])]

    assert kinds == [TurnKind.ACTION, TurnKind.NOISE, TurnKind.NOISE]


@pytest.mark.parametrize(
    "notice",
    [
        "[system notice] You have {} turns left.",
        "ENVIRONMENT REMINDER: you have {} steps left to complete the task.",
        "You have {} more tool calls remaining.",
        "You have {} steps left. Please submit your answer soon.\n",
    ],
)
def test_a_notice_after_each_call_begins_nothing_anew(notice):
    mill = a_call("Bash", command="make mill", error="exit status 2")
    noted = [turn for left in "9876" for turn in (mill, a_user(notice.format(left)))]

    assert first_trip(noted) == 4


@pytest.mark.parametrize(
    "words",
    [
        "You have the mill left to do, then the weir.",
        "You have 2 steps left: mend the mill, then the weir.",
        "You have 10 turns left.\n\nMend the weir.",
        "Environment reminder jobs fail; mend them.",
    ],
)
def test_a_person_who_tells_how_much_is_left_is_heard(words):
    assert TurnReader().read(a_user(words), 0).kind is TurnKind.PERSON


@pytest.mark.parametrize(
    "remark",
    [
        "I tried reusing the same input, I must stop using this action input.",
        "You have already called this tool with the same arguments. Use the data you have.",
        "[duplicate call — the result is repeated below]",
        "File unchanged since last read. Refer to the earlier result.",
        "LOOP DETECTED: summarize what you found so far.",
    ],
)
def test_an_answer_that_only_refers_back_is_the_answer_given_before(remark):
    read = [a_call("Read", text, path="mill.txt") for text in ("The wheel turns.", remark, remark)]

    assert first_trip(read) == 2


def test_a_call_without_arguments_that_is_refused_as_made_before_is_that_call():
    remark = "I tried reusing the same input, I must stop using this action input."
    thoughts = ("First I read about mills.", "I need more.", "I shall write.", "Now the draft.")
    answers = ("A mill is a broad field.", remark, remark, remark)
    said = zip(thoughts, answers, strict=True)
    calls = [a_call("about_mills", answer, content=thought) for thought, answer in said]

    assert first_trip(calls) == 3


def test_an_answer_about_calls_that_were_made_is_an_answer():
    log = [a_call("Read", f"The miller called {n} times today.", path="log") for n in "3579"]

    assert first_trip(log) is None


def test_white_space_at_the_end_of_an_argument_asks_for_nothing_else():
    asked = [a_call("ask_colleague", "Not found.", name=name) for name in ("Ann\n", "Ann", "Ann ")]

    assert first_trip(asked) == 2


def test_a_command_started_anew_each_time_is_no_poll_that_moves():
    names = [f"{letter}mber-reef" for letter in "abcdefgh"]
    running = "Command still running (session {}, pid {}). Use process to follow it."
    told_of = [running.format(name, 48200 + at) for at, name in enumerate(names)]
    turns = tuple(a_call("exec", answer, command="git diff") for answer in told_of)

    assert replay(Recording(run="anew", turns=turns)).first_alarm == 7


FOUND = "qc.txt:12: the mill was built in 1804\nqc.txt:40: the wheel is of oak"
SEARCH = tuple(
    a_call("Bash", FOUND, command=f"grep -n mill notes | head -{n}") for n in (20, 30, 50, 20)
)


@pytest.mark.parametrize(
    "words",
    [
        "You keep running the same commands, stop and answer.",
        "You're stuck in a loop. Try something else!",
        "Stop repeating yourself.",
        "It is the same search over and over.",
    ],
)
def test_who_is_told_that_it_goes_round_and_goes_on_is_found(words):
    assert first_trip([*SEARCH, a_user(words), *SEARCH]) in range(5, 8)


@pytest.mark.parametrize(
    "words", ["Run it again, please.", "Write the names in a loop.", "Now look for the wheel."]
)
def test_who_is_told_what_to_do_starts_afresh(words):
    assert first_trip([*SEARCH, a_user(words), *SEARCH]) is None


@pytest.mark.parametrize(
    "nothing",
    [
        "None",
        "[]",
        "No matches found.",
        "Found 0 results",
        "(0 rows)",
        "(Bash completed with no output)",
        "Your command ran successfully and finished without output",
    ],
)
def test_nothing_found_is_one_answer_however_it_is_spelled(nothing):
    looks = [a_call("search", answer, query="mill wheel") for answer in ("", nothing, "null")]

    assert first_trip(looks) == 2


@pytest.mark.parametrize(
    "answers", ["No errors found", "0 tests failed", "12 rows", "No match for x"]
)
def test_what_tells_something_is_not_nothing(answers):
    looks = [a_call("search", answer, query="mill wheel") for answer in ("", answers, "")]

    assert first_trip(looks) is None
