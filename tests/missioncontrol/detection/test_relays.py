"""One agent after another ends on the same failure; side by side is something else."""

from guard.engine import Engine
from guard.policy import DEFAULT_POLICY
from guard.turn import Phase
from missioncontrol.detection.tree_engines import find_relay
from tests.guard.build import a_call, a_message

FAILURE = "ModuleNotFoundError: No module named 'app.tokens'"


def given(n, *, done=False, tool="Agent"):
    phase = Phase.DONE if done else Phase.PROPOSED
    result = f"report {n}: it does not work for a reason of its own" if done else None
    return a_call(tool, result, agent="lead", key=f"give-{n}", prompt=f"job {n}", phase=phase)


def fails(n, command="pytest -q", error=FAILURE):
    return a_call("Bash", error=error, agent=f"helper-{n}", command=command)


def reads(n, path):
    return a_call("Read", f"the text of {path}\nline {path}", agent=f"helper-{n}", file_path=path)


def edits(n, path):
    return a_call(
        "Edit", f"{path} has been updated", agent=f"helper-{n}", file_path=path, new_string=f"v{n}"
    )


def in_turn(*shifts, tool="Agent"):
    """Give each shift's turns between its start and its return."""
    turns = []
    for n, shift in enumerate(shifts):
        turns += [given(n, tool=tool), *shift, given(n, done=True, tool=tool)]
    return turns


def relays(turns, engine=None):
    """Give each loop that is found, as a tree's engine looks for it."""
    engine, found = engine or Engine(), []
    for turn in turns:
        seen = engine.observe(turn)
        relay = find_relay(engine.history, DEFAULT_POLICY)
        if relay is not None and relay.trips and seen.seq in relay.turns:
            found.append(relay)
    return found


def test_the_third_agent_that_ends_on_the_same_failure_trips():
    turns = in_turn(*[[fails(n)] for n in range(3)])

    (relay,) = relays(turns)
    assert (relay.detector, relay.evidence.repeats) == ("errors", 3)
    assert relay.evidence.summary == "3 agents, one after another, ended on the same failure."


def test_agents_that_learn_something_on_the_way_get_one_more():
    shifts = [[reads(n, f"src/module_{n}.py"), fails(n)] for n in range(4)]

    assert len(relays(in_turn(*shifts[:3]))) == 0
    assert len(relays(in_turn(*shifts))) == 1


def test_workers_side_by_side_that_fail_alike_are_no_relay():
    turns = [given(n) for n in range(10)] + [fails(n) for n in range(10)]

    assert relays(turns) == []


def test_workers_that_are_started_while_others_still_work_are_no_relay():
    turns = [turn for n in range(10) for turn in (given(n), fails(n))]

    assert relays(turns) == []


def test_workers_that_all_read_the_same_first_are_no_relay():
    turns = in_turn(*[[reads(n, "README.md"), a_message("Read.", agent="x")] for n in range(10)])

    assert relays(turns) == []


def test_an_agent_that_gets_further_ends_the_relay():
    shifts = [[fails(0)], [fails(1)], [fails(2, error="1 failed, 41 passed")], [fails(3)]]

    assert relays(in_turn(*shifts)) == []


def test_an_agent_that_changes_something_ends_the_relay():
    shifts = [[edits(n, f"app/part_{n}.py"), fails(n)] for n in range(6)]

    assert relays(in_turn(*shifts)) == []


def test_a_first_check_that_fails_before_other_work_is_no_relay():
    shifts = [[fails(n), reads(n, f"ticket-{n}.md")] for n in range(6)]

    assert relays(in_turn(*shifts)) == []


def test_agents_without_a_hand_over_between_are_no_relay():
    assert relays([fails(n) for n in range(10)]) == []


def test_different_commands_with_one_failure_are_no_relay():
    commands = ("pytest -q", "npm test", "cargo build", "go vet ./...")
    shifts = [[fails(n, command)] for n, command in enumerate(commands)]

    assert relays(in_turn(*shifts)) == []


def test_it_counts_from_anew_after_a_person_stepped_in():
    engine, turns = Engine(), in_turn(*[[fails(n)] for n in range(4)])
    for turn in turns[:6]:
        engine.observe(turn)

    engine.reset()

    assert relays(turns[6:], engine) == []


def test_a_failed_hand_over_starts_no_shift():
    assert relays([a_call("Task", error="no such agent", agent="lead", prompt="job 1")]) == []
