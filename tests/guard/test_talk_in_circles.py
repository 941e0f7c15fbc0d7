from __future__ import annotations

from guard.policy import Policy
from guard.turn import Role, Turn
from tests.guard.build import a_call, a_message, a_user, first_trip

FAREWELLS = (
    "You are welcome, it was great working with you.",
    "Thank you too! It was a pleasure.",
    "Likewise, have a great day!",
    "Thanks, you too! Goodbye.",
    "Goodbye! Until next time.",
    "Bye, and thanks again!",
    "Thanks again, goodbye!",
    "Take care, bye!",
    "You too, take care!",
)


def by_turns(texts, agents=("a", "b")):
    return [a_message(text, agent=agents[at % len(agents)]) for at, text in enumerate(texts)]


def test_agents_that_cannot_stop_taking_leave_are_found():
    assert first_trip(by_turns(FAREWELLS)) == 8


def test_a_few_farewells_are_manners():
    assert first_trip(by_turns(FAREWELLS[:6])) is None


def test_three_transfers_there_and_back_are_a_circle_whatever_the_reason():
    reasons = ("it is about a bill", "the plan comes first", "please see the bill", "plan question")
    turns = [
        a_call(
            f"transfer_to_{('sales', 'billing')[place % 2]}",
            "Transferred.",
            agent=("billing", "sales")[place % 2],
            reason=reasons[place % 4],
        )
        for place in range(8)
    ]

    assert first_trip(turns) in range(5, 8)


def test_one_transfer_each_to_three_desks_is_the_way_it_goes():
    desks = ("sales", "billing", "shipping")
    turns = [
        a_call(
            f"transfer_to_{desk}", "Transferred.", reason=f"a question of {desk}", agent="triage"
        )
        for desk in desks
    ]

    assert first_trip(turns) is None


def test_a_machine_that_says_go_on_hides_no_agent_that_does_nothing():
    nudge = a_user("Your last response did not include a tool call. Please go on, or call finish.")
    says = ("I have finished the work.", "The work is finished.", "All work is finished now.")
    turns = [turn for place in range(9) for turn in (nudge, a_message(says[place % 3]))]

    assert first_trip(turns) is not None


def test_a_person_who_wants_something_else_each_time_is_served():
    things = ("order", "invoice", "address", "driver", "coupon", "delivery", "basket", "account")
    asked = [f"Please look after the {thing}." for thing in things]
    turns = [turn for text in asked for turn in (a_user(text), a_message("I have done that."))]

    assert first_trip(turns) is None


def test_a_person_who_asks_in_other_words_is_heard_and_a_few_answers_are_given():
    asked = ("Please transfer me to a human agent.", "I want a human agent, please.") * 2
    answer = a_message("You are being transferred to a human agent.")

    assert first_trip([turn for text in asked for turn in (a_user(text), answer)]) is None


SAME = (
    "Let me check the config file for the database setting.",
    "Let me check the config file again for the database setting.",
    "Let me check the config file once again for the database setting.",
    "Let me check again the config file for the database setting.",
)
TALK = Policy.from_mapping({"detectors": ["talk"]})


def saying_the_same(*between):
    """An agent that has looked around says the same in other words; after each: another turn."""
    says = [a_message(text, agent="a") for text in SAME]
    return [LOOK, *(turn for pair in zip(says, between, strict=True) for turn in pair)]


LOOK = a_call(result="ok", command="true", agent="a")


def test_the_same_in_other_words_three_times_with_nothing_done_between_is_found():
    assert first_trip(saying_the_same(*[LOOK] * 4), TALK) == 5


def test_whoever_learns_something_each_time_may_say_the_same_of_it():
    pages = ("the port is 5432", "users own orders", "a vault keeps keys", "no more files")
    reads = [a_call("Read", page, path=f"{at}.md", agent="a") for at, page in enumerate(pages)]

    assert first_trip(saying_the_same(*reads), TALK) is None


def test_another_who_adds_nothing_hides_no_agent_that_says_the_same():
    assert first_trip(saying_the_same(*[a_message("Please go on.", agent="b")] * 4), TALK) == 7


def test_another_who_adds_something_is_worth_an_answer():
    texts = (
        "The port is 5432, look at the settings.",
        "The password stands in the vault of the team.",
        "Somebody renamed the schema to billing yesterday.",
        "Backups are written at midnight.",
    )

    assert (
        first_trip(saying_the_same(*(a_message(text, agent="b") for text in texts)), TALK) is None
    )


def test_a_tool_that_answers_in_turns_of_its_own_converses_with_nobody():
    rooms = [
        (
            a_message(f"Action:\ngo to shelf {n}"),
            Turn(role=Role.TOOL, content=f"You arrive at shelf {n}. On the shelf you see nothing."),
        )
        for n in range(12)
    ]

    assert first_trip(turn for room in rooms for turn in room) is None


def test_one_sentence_that_is_half_of_a_message_is_chanting_even_if_a_shorter_one_comes_oftener():
    chant = "Yes. " * 12 + "I will now look at the tide tables of the harbour once more. " * 8

    assert first_trip([a_message(chant)]) == 0
