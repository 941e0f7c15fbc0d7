"""A corrected call is held at its first reappearance; all else starts afresh."""

import pytest

from guard import Correction, Engine, Phase, Role, Turn

ERROR = "No such file"


def call(command="cat a.txt", *, key=None, agent="coder", **fields):
    return Turn(
        role=Role.ASSISTANT, tool="Bash", args={"command": command}, agent=agent, key=key, **fields
    )


def proposal(command="cat a.txt", **fields):
    return call(command, phase=Phase.PROPOSED, **fields)


@pytest.fixture
def corrected():
    """An engine that held the third identical call; it was corrected."""
    engine = Engine()
    for number in range(2):
        engine.observe(call(key=f"k{number}", error=ERROR))
    held = proposal(key="k2")
    trip = engine.observe(held).trip
    engine.reset(corrected=[Correction(call=held, turns=trip.turns)])
    return engine


def test_the_same_request_trips_at_its_first_reappearance(corrected):
    trip = corrected.observe(proposal(key="k3")).trip

    assert (trip.detector, trip.score, trip.turns) == ("repeat", 1.0, (0, 1, 2, 3))
    assert trip.evidence.summary == "It was corrected and is about to do the same again."
    assert trip.evidence.calls == ('Bash {"command":"cat a.txt"}',)


def test_to_ask_for_it_again_changes_nothing(corrected):
    assert not corrected.observe(proposal(key="k3")).changed


def test_one_that_is_told_when_it_is_done_trips_too(corrected):
    trip = corrected.observe(call(key="k3", error=ERROR)).trip

    assert trip.evidence.summary == "It was corrected and did the same again."


def test_looking_around_in_between_lifts_nothing(corrected):
    corrected.observe(call("ls", result="b.txt"))
    corrected.observe(call("echo thanks", result="thanks"))

    assert corrected.observe(proposal()).trip


@pytest.mark.parametrize(
    "cure",
    [
        call("touch a.txt", result=""),
        Turn(role=Role.USER, content="Read it once more, please."),
    ],
)
def test_a_change_or_a_persons_words_lift_it(corrected, cure):
    corrected.observe(cure)

    assert corrected.observe(proposal()).trip is None
    assert not corrected.is_correcting


def test_it_is_its_agents_though_that_goes_on_with_anothers_tries(corrected):
    corrected.observe(call("ls", agent="critic", result="b.txt"))
    corrected.observe(Turn(role=Role.USER, content="You are going in circles, it still fails."))

    assert corrected.observe(proposal()).trip


def test_a_change_that_failed_lifts_nothing(corrected):
    corrected.observe(call("touch a.txt", error="Permission denied"))

    assert corrected.observe(proposal()).trip


def test_all_other_counts_start_afresh(corrected):
    other = [corrected.observe(call("cat b.txt", error=ERROR)).trip for _ in range(3)]

    assert [trip is not None for trip in other] == [False, False, True]


def test_the_report_that_it_was_not_run_is_no_reappearance(corrected):
    assert corrected.observe(call(key="k2", error="not run")).trip is None
    assert corrected.observe(proposal(key="k3")).trip


def test_the_report_of_a_call_without_a_key_is_told_by_its_number():
    engine = Engine()
    engine.reset(corrected=[Correction(call=proposal(seq=2), turns=(0, 1, 2))])

    assert engine.observe(call(seq=2, error="not run")).trip is None
    assert engine.observe(proposal(seq=3)).trip


def test_another_agent_may_do_what_this_one_was_corrected_for(corrected):
    assert corrected.observe(proposal(agent="reviewer")).trip is None


def test_the_next_reset_lifts_it(corrected):
    corrected.reset()

    assert corrected.observe(proposal()).trip is None


def test_nobody_answered_and_nothing_changes():
    engine = Engine()
    for _ in range(2):
        engine.observe(call(error=ERROR))
    engine.reset()

    assert [engine.observe(call(error=ERROR)).trip is None for _ in range(3)] == [True, True, False]
