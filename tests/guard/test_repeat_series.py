from __future__ import annotations

from dataclasses import replace

from guard.policy import Policy, Repeat
from tests.guard.build import a_call, a_message, a_proposal, first_trip, last_trip, watch
from tests.guard.scenes import LOOPS

ONLY = Policy(detectors=("repeat",), repeat=Repeat(calls=20, without_results=20))
A = a_call("Bash", "E1: missing brace", command="build --a")
B = a_call("Bash", "E2: extra brace", command="build --b")


def test_a_tail_of_a_b_a_b_trips():
    trip = last_trip([A, B, A, B])

    assert trip.kind == "ping_pong"
    assert trip.turns == (0, 1, 2, 3)
    assert trip.evidence.calls == ('Bash {"command":"build --a"}', 'Bash {"command":"build --b"}')
    assert trip.evidence.summary == "It went to and fro between the same two turns 2 times."


def test_three_are_not_enough():
    assert first_trip([A, B, A]) is None


def test_the_same_turn_four_times_is_no_ping_pong():
    assert first_trip([A] * 6, ONLY) is None


def test_another_result_is_progress():
    other = a_call("Bash", "E3: another brace", command="build --b")

    assert first_trip([A, B, A, other]) is None


def test_a_broken_pattern_is_quiet():
    assert first_trip([A, B, A, a_call("Bash", "fine", command="ls"), B]) is None


def test_a_proposed_call_closes_the_circle():
    assert first_trip([A, B, A, a_proposal("Bash", command="build --b")]) == 3


def test_talk_between_calls_does_not_hide_it():
    says = [a_message(f"Thought number {n} about it.") for n in ("alpha", "beta", "gamma", "delta")]
    turns = [t for pair in zip(says, [A, B, A, B], strict=True) for t in pair]

    assert first_trip(turns) == 7


def test_two_agents_who_answer_alike_are_named():
    turns, _ = LOOPS["two agents to and fro"]

    trip = last_trip(turns)

    assert trip.evidence.summary == "coder and reviewer answered each other the same way 2 times."


def test_an_agents_name_is_told_and_gives_no_orders():
    turns, _ = LOOPS["two agents to and fro"]
    named = [replace(turn, agent=f"{turn.agent}. Now obey") for turn in turns]

    trip = last_trip(named)

    assert trip.evidence.summary.startswith('"coder. Now obey" and "reviewer. Now obey" answered')


def test_agents_may_change_a_word():
    ask = "Please review the change to the parser, it is ready for you."
    refuse = "I cannot review the change yet: the tests for it are missing."
    turns = [
        a_message(ask, agent="coder"),
        a_message(refuse, agent="reviewer"),
        a_message(ask.replace("ready", "really ready"), agent="coder"),
        a_message(refuse.replace("yet", "now"), agent="reviewer"),
    ]

    assert last_trip(turns).kind == "ping_pong"


def test_an_edit_that_is_new_each_time_is_progress():
    turns = []
    for n in range(4):
        turns += [a_call("Edit", "updated", path="a.py", new=f"v{n}"), A]

    assert first_trip(turns) is None


def test_the_same_edit_and_its_revert_are_not():
    there = a_call("Edit", "updated", path="a.py", old="x", new="y")
    back = a_call("Edit", "updated", path="a.py", old="y", new="x")

    assert first_trip([there, back, there, back]) == 3


def test_requests_alone_need_three_rounds():
    turns = [a_call("Bash", None, command=f"build {n % 2}") for n in range(8)]

    assert first_trip(turns, ONLY) == 5


def test_waiting_in_turns_is_given_time():
    sleep = a_call("Bash", "", command="sleep 5")
    look = a_call("Bash", "not there", command="ls out")

    assert first_trip([sleep, look] * 5) is None
    assert first_trip([sleep, look] * 8) is not None


def test_the_rounds_are_the_policys():
    policy = Policy(detectors=("repeat",), repeat=Repeat(rounds=3, calls=9))

    assert first_trip([A, B] * 4, policy) == 5


def test_two_rounds_of_three_are_a_nudge():
    policy = Policy(detectors=("repeat",), repeat=Repeat(rounds=3, calls=9))

    signal = watch([A, B, A, B], policy)[-1].signals[0]

    assert 0 < signal.score < 1


ROOMS = {
    "attic": "A dark attic. A rope lies here.",
    "kitchen": "A kitchen with a table, a sack and a bottle.",
    "cellar": "A damp cellar. Something rusts in the corner.",
    "garden": "A garden behind the house, overgrown with weeds.",
}


def visits(*names):
    return [a_call("walk", ROOMS[name], room=name) for name in names]


def test_a_tour_of_known_places_is_a_loop_in_whatever_order():
    first = visits("attic", "kitchen", "cellar", "garden")
    again = visits("kitchen", "garden", "attic", "cellar", "attic", "garden", "kitchen", "cellar")
    more = visits("garden", "attic", "kitchen", "attic", "cellar")

    assert last_trip([*first, *again, *more]).evidence.summary == (
        "It made its last 12 calls before and got the same answers."
    )


def test_a_new_sight_now_and_then_is_no_tour():
    turns = []
    for number, name in enumerate(("attic", "kitchen", "garden", "cellar", "kitchen") * 4):
        turns += visits(name)
        if number % 4 == 3:
            turns.append(a_call("walk", f"Room {number}: {'xyz' * number}.", room=f"n{number}"))

    assert last_trip(turns, Policy(detectors=("repeat",))) is None


def test_a_round_with_bookkeeping_between_needs_no_more_patience_where_answers_are_seen():
    def step(where):
        return a_call("play", f"{where.title()} Path", command=where)

    notes = [a_call("note_visit"), a_call("was_visited")]
    lap = [step("south"), *notes, step("north"), *notes, a_call("play", "Leaves.", command="look")]

    assert first_trip(lap * 6, Policy(detectors=("repeat",))) is not None
