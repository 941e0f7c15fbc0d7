"""A machine that answers what an agent writes, in the user's name or as a tool.

No tool is told of in such a log: what is written is what is done.
"""

from __future__ import annotations

import pytest

from guard import Engine
from guard.reading.attempts import TurnKind, TurnReader
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message, a_user

FAREWELLS = ["I will tidy that up.", "All is set now.", "The list is complete."]
LATE_FAREWELLS = (*FAREWELLS, "Everything has its place.", "Nothing is left over.", "It shines.")


def an_answer(text: str) -> Turn:
    return Turn(role=Role.TOOL, content=text)


def first_trip(turns: list[Turn]) -> int | None:
    engine = Engine()
    return next((at for at, turn in enumerate(turns) if engine.observe(turn).trip), None)


def a_talk(
    *pairs: tuple[str, str], order: str = "Find the lantern and leave the mill."
) -> list[Turn]:
    talk = [turn for words, reply in pairs for turn in (a_message(words), a_user(reply))]
    return [a_user(order), *talk]


TALKS = [
    ("Perhaps I may look around first?", "There is no verb Perhaps"),
    ("Kindly tell me what the mill is like.", "There is no verb Kindly"),
    ("Maybe a door could be opened.", "There is no verb Maybe"),
    ("Surely there is a lantern somewhere.", "There is no verb Surely"),
    ("Then the wheel should be turned.", "There is no verb Then"),
    ("Very well, the ladder it is.", "There is no verb Very"),
]


def test_who_talks_to_a_game_that_wants_commands_is_stuck():
    assert first_trip(a_talk(*TALKS)) in {6, 8, 10}


def test_three_like_replies_tell_a_machine_and_make_what_was_said_attempts():
    engine = Engine()
    for turn in a_talk(*TALKS[:3]):
        engine.observe(turn)

    steps = engine.history.steps
    assert [step.is_call for step in steps] == [True, True, True]
    assert all(step.failed for step in steps)


def test_a_reply_refused_three_times_in_the_same_words_is_a_loop():
    refusal = "Invalid format: the input is missing after the action"
    look = a_call("look", "A hall with a lantern.")
    replies = ["I read the file now.", "Sorry, I read the file.", "Let me look into the file."]
    refused = [turn for text in replies for turn in (a_message(text), a_user(refusal))]

    assert first_trip([a_user("Find the lantern."), look, *refused]) == 7


def test_a_game_whose_moves_get_on_is_left_alone():
    played = [
        ("look", "A hall with a lantern on a hook."),
        ("read lantern", "There is no verb read"),
        ("grab lantern", "There is no verb grab"),
        ("eat lantern", "There is no verb eat"),
        ("take lantern", "Taken."),
        ("north", "A stair leads up beside the wheel."),
        ("up", "The loft. Flour sacks, and a hatch."),
        ("open hatch", "It opens. Moonlight falls in."),
    ]

    assert first_trip(a_talk(*played)) is None


@pytest.mark.parametrize("reply", ["Yes, do that.", "Continue."])
def test_a_person_who_agrees_each_time_is_no_machine(reply):
    reader = TurnReader()
    turns = a_talk(*[(f"Shall I rename module {n}?", reply) for n in ("orders", "prices", "tax")])

    kinds = [reader.read(turn, at).kind for at, turn in enumerate(turns)]

    assert TurnKind.ANSWER not in kinds


def test_a_tools_turn_after_a_message_says_what_came_of_it():
    reader = TurnReader()
    reader.read(a_message("open the sluice"), 3)

    read = reader.read(an_answer("It is rusted shut."), 4)

    assert (read.kind, read.call) == (TurnKind.ANSWER, 3)
    assert (read.turn.tool, read.turn.args) == ("open", {"input": "the sluice"})
    assert read.turn.result == "It is rusted shut."


def test_who_is_told_to_go_on_and_goes_on_is_left_alone():
    turns = [a_user("Tidy the shed.")]
    for n, tool in enumerate(["sweep", "paint", "stack", "oil", "label", "lock"]):
        turns += [a_call(tool, f"{tool}: corner {n} looks new", corner=n)]
        turns += [a_message(f"I saw to corner {n}: {tool}."), a_user("Please go on.")]

    assert first_trip(turns) is None


def test_a_bare_word_to_go_on_that_is_said_again_starts_nothing_afresh():
    turns = [a_user("Start the pump.")]
    for words in ("Try again.", "And again, please.", "Go on.", "Again.", "Again!", "Continue."):
        turns += [a_call("start_pump", error="valve 7 is shut"), a_user(words)]

    assert first_trip(turns) is not None


def test_the_same_refusal_that_quotes_each_tool_is_one_refusal():
    tools = ("mail_report", "post_report", "fax_report", "ship_report")
    refusal = "No tool of the name {} is known here"

    calls = [a_call(tool, error=refusal.format(tool), to="Ada") for tool in tools]

    assert first_trip([a_user("Send the report."), *calls]) == 4


def test_what_an_agent_says_again_to_new_words_is_counted_on():
    words = "I cannot reach the ledger service at the moment, please bear with me."
    asked = [
        "What do I owe?",
        "Is the May bill paid?",
        "Who signed it?",
        "And June?",
        "Hello there?",
    ]

    turns = [turn for question in asked for turn in (a_user(question), a_message(words))]

    assert first_trip(turns) is not None


LESSONS = [
    ("A sluice is a gate that slides in grooves and holds the water of a channel.", "yes"),
    ("Millstones are dressed with furrows, through which meal leaves the eye.", "ok"),
    ("Bolting cloth of silk parts flour from bran by the width of its meshes.", "next"),
    ("The great spur wheel drives stone nuts, which lift out on a screw jack.", "go on"),
    ("A governor with two balls raises the runner stone when the wind freshens.", "continue"),
    ("Elm was chosen for floats, since it lasts under water without rotting.", "yes"),
]


def test_who_teaches_something_new_each_time_may_be_told_to_go_on():
    turns = [a_user("Teach me the parts of a mill."), a_call("open_book", "The Mill, 1890")]
    turns += [turn for words, reply in LESSONS for turn in (a_message(words), a_user(reply))]

    assert first_trip(turns) is None


@pytest.mark.parametrize("word", ["No.", "Stop.", "Wait."])
def test_a_person_who_halts_it_after_agreeing_is_heard(word):
    reader = TurnReader()
    turns = [
        a_user("Start the pump."),
        a_call("start_pump", error="valve 7 is shut"),
        a_user("Yes."),
        a_call("start_pump", error="valve 7 is shut"),
        a_user(word),
    ]

    kinds = [reader.read(turn, at).kind for at, turn in enumerate(turns)]

    assert kinds[-1] is TurnKind.PERSON


def test_two_orders_that_differ_in_their_verb_alone_are_not_the_same():
    reader = TurnReader()
    turns = [
        a_message("open the sluice gate"),
        a_user("A boat arrives from the north with barley."),
        a_message("close the sluice gate"),
        a_user("Now tell me about painting windmills in oil."),
        a_user("And of taxes, please."),
    ]

    kinds = [reader.read(turn, at).kind for at, turn in enumerate(turns)]

    assert [kinds[1], kinds[3], kinds[4]] == [TurnKind.PERSON] * 3


def a_strict_person(reader: TurnReader) -> list[TurnKind]:
    """Complain of three poems in the same words, as a machine would."""
    poems = [f"Poem: {word} over still water" for word in ("herons", "reeds", "moonlight")]
    wrong = "Still wrong, count the syllables."
    turns = a_talk(*[(poem, wrong) for poem in poems], order="Write a haiku.")
    return [reader.read(turn, at).kind for at, turn in enumerate(turns)]


def test_a_host_that_starts_afresh_starts_afresh_with_who_speaks():
    reader = TurnReader()
    assert a_strict_person(reader)[-1] is TurnKind.ANSWER

    reader.clear(messages=True)

    assert reader.read(a_user("Please draft a contract for a barge."), 20).kind is TurnKind.PERSON


def test_who_says_nothing_again_for_long_is_no_machine_any_more():
    reader = TurnReader()
    a_strict_person(reader)
    tasks = ["limerick", "recipe", "riddle", "sonnet", "fable", "letter", "toast", "psalm", "ode"]
    wishes = [(f"Here: {one}.", f"Lovely. Now of a {one} on {one}s.") for one in tasks]

    kinds = [reader.read(turn, 20 + at).kind for at, turn in enumerate(a_talk(*wishes)[1:])]

    assert kinds[-1] is TurnKind.PERSON


def test_an_engine_made_anew_from_its_window_says_the_same_of_who_only_talks():
    turns = [a_user("Tidy the shed."), a_call("sweep", "swept", n=1)]
    for n in range(Engine.WINDOW):
        turns += [a_user(f"What is on shelf {n}, row {n * n}?"), a_message(f"Jar {n * 7} there.")]
    for words in LATE_FAREWELLS:
        turns += [a_message(words), a_user("Please go on.")]
    live, anew = Engine(), Engine()
    for turn in turns[: -Engine.WINDOW]:
        live.observe(turn)

    for turn in turns[-Engine.WINDOW :]:
        once, again = live.observe(turn).signals, anew.observe(turn).signals
        assert [(one.kind, one.score) for one in once] == [(one.kind, one.score) for one in again]


def test_a_terminal_in_the_group_answers_the_script_that_a_message_shows():
    script = "```python\nprint(open('quay.csv').read())\n```"
    refused = "exitcode: 1 (execution failed)\nCode output: No such file: 'quay.csv'"
    words = ("First the list.", "The list is needed.", "We have to read it.", "Run it, please.")
    group = [
        turn
        for said in words
        for turn in (
            a_message(f"{said}\n\n{script}", agent="Keeper"),
            a_message(refused, agent="Console"),
        )
    ]

    engine = Engine()
    trips = [engine.observe(turn).trip for turn in group]

    assert [step.is_call for step in engine.history.steps] == [True] * len(words)
    assert any(trip and trip.detector == "repeat" for trip in trips)


NO_TOOL = """[ERROR] You did not use a tool in your previous response! Please retry with a tool use.
(This is an automated message, so do not respond to it conversationally.)
<environment_details>
# Current Time
2026-11-27T10:29:1{0}.448Z
# Current Cost
$0.{0}3
</environment_details>"""
ASKS_ON = (
    "The plan is ready. Would you like me to proceed with it?",
    "I have prepared the plan for the weir. Shall I go on?",
    "Would you prefer to adjust the plan first?",
    "Please tell me whether to proceed with the plan.",
    "The plan stands as described. May I proceed?",
    "I await your decision on the plan.",
)


def refused(sayings):
    turns = [a_user("Mend the sluice.")]
    for at, said in enumerate(sayings):
        turns += [a_message(said), a_user(NO_TOOL.format(at))]
    return turns


def test_words_that_a_harness_refuses_again_and_again_are_tries_in_vain():
    assert first_trip(refused(ASKS_ON)) is not None


def test_who_is_refused_once_each_and_goes_on_is_at_work():
    turns = [a_user("Mend the sluice.")]
    for at, said in enumerate(ASKS_ON):
        seen = a_call("read_file", f"lever {at} of wheel {at}", path=f"part{at}.ts")
        turns += [a_message(said), a_user(NO_TOOL.format(at)), seen]

    assert first_trip(turns) is None
