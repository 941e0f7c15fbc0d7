from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from guard.policy import Policy, Repeat
from tests.guard.build import a_call, a_message, a_proposal, a_user, first_trip, last_trip, watch

FAILING = a_call("Bash", error="boom", command="make")
NEWS = a_call("Bash", "src/a.py\nsrc/b.py", command="find .")


def test_the_third_identical_call_and_result_trips():
    assert first_trip([FAILING] * 5) == 2


def test_the_third_proposed_call_trips_before_it_runs():
    turns = [a_call("Read", "text", path="x"), a_call("Read", "text", path="x")]

    trip = last_trip([*turns, a_proposal("Read", path="x")])

    assert trip.evidence.repeats == 3
    assert trip.evidence.summary.endswith("and is about to do so again.")


def test_two_are_a_nudge():
    signal = watch([FAILING, FAILING])[-1].signals[0]

    assert not signal.trips
    assert signal.score == pytest.approx(2 / 3)


def test_another_result_ends_the_streak():
    changing = [a_call("Bash", f"v{n}", command="cat x") for n in (1, 1, 2, 2)]

    assert first_trip(changing) is None


def test_a_proposal_repeats_only_what_was_answered_alike():
    answers = [a_call("Bash", f"v{n}", command="cat x") for n in (1, 2)]

    assert last_trip([*answers, a_proposal("Bash", command="cat x")]) is None


def test_an_answer_that_is_not_known_does_not_join_two_that_differ():
    answers = [a_call("Bash", text, command="cat x") for text in ("v1", "v1", None, "v2")]

    assert first_trip(answers) is None


def test_another_argument_is_another_call():
    assert first_trip([a_call("Read", "same", path=f"{n}") for n in "abcd"]) is None


def test_news_between_the_repeats_ends_the_streak():
    rule = Policy.from_mapping({"detectors": ["repeat"]})  # the score sees a third try in vain

    assert first_trip([FAILING, FAILING, NEWS, FAILING], policy=rule) is None


def test_a_new_action_between_the_repeats_ends_the_streak():
    edit = a_call("Edit", "updated", path="a.py", new="x")

    assert first_trip([FAILING, FAILING, edit, FAILING]) is None


def test_a_failed_edit_between_the_repeats_does_not():
    edit = a_call("Edit", error="String to replace not found.", path="a.py", new="x")

    assert first_trip([edit, FAILING, edit, FAILING, edit, FAILING]) is not None


def test_another_agents_calls_are_not_counted_in():
    calls = [a_call("Bash", error="boom", command="make", agent=name) for name in "aabb"]

    trip = last_trip(calls)

    assert trip
    assert trip.detector == "stall"  # what adds up is the whole crew's


def test_another_agents_reading_does_not_hide_a_stuck_one():
    stuck = a_call("Bash", error="boom", command="make", agent="a")
    reads = [a_call("Read", f"text {n} of it", path=n, agent="b") for n in "xyz"]

    assert first_trip([turn for pair in zip([stuck] * 3, reads, strict=True) for turn in pair]) == 4


def test_a_repeated_message_trips_unless_others_say_something_new():
    waiting = a_message("I am waiting for the review.", agent="a")
    news = [a_message(f"Point {n}: look at {n}.", agent="b") for n in ("one", "two", "three")]

    assert first_trip([waiting] * 3) == 2
    assert first_trip([turn for message in news for turn in (waiting, message)]) is None


def test_unknown_results_need_more_repeats():
    assert first_trip([a_call("Bash", None, command="make")] * 6) == 3


def test_proposals_that_never_complete_are_requests_alone():
    turns = [a_proposal("Bash", key=f"k{n}", command="make") for n in range(6)]

    assert first_trip(turns) == 3


@pytest.mark.parametrize("tool", ["wait_for_job", "get_status", "BashOutput", "press_key"])
def test_calls_that_wait_or_move_need_eight(tool):
    assert first_trip([a_call(tool, "unchanged")] * 12) == 7


def test_a_key_that_is_refused_needs_no_more_patience_than_another_call():
    assert first_trip([a_call("press_key", "Invalid action!", key="F9")] * 12) == 2


def polls(every, count=40, **answer):
    """Give polls of a job, so many seconds apart."""
    begun = datetime(2026, 3, 1, tzinfo=UTC)
    fields = answer or {"result": "status: running"}
    return [
        replace(a_call("get_job", **fields), ts=begun + n * timedelta(seconds=every))
        for n in range(count)
    ]


def test_a_job_at_work_may_be_polled_more_often_within_its_first_minute():
    assert first_trip(polls(every=2.5, count=8)) is None
    assert first_trip(polls(every=1.0)) == 31
    assert first_trip(polls(every=5)) == 12
    assert first_trip(polls(every=20)) == 7


@pytest.mark.parametrize("others", [1, 2, 3])
def test_a_fast_poll_among_other_looks_is_not_young_for_ever(others):
    text = "the harbour opens at nine"
    looks = [
        replace(look, ts=poll.ts)
        for n, poll in enumerate(polls(every=1.0, count=50))
        for look in (
            poll,
            *(a_call("Read", text, path=f"{(7 * n + 3 * m) % 5}.md") for m in range(others)),
        )
    ]

    assert first_trip(looks, Policy(detectors=("repeat",))) in range(31, 36)


def test_a_fast_poll_trips_at_last_however_many_the_policy_allows():
    assert first_trip(polls(every=0.5, count=80), Policy(repeat=Repeat(polls=12))) == 31


def test_polls_all_stamped_alike_are_as_polls_without_a_time():
    assert first_trip(polls(every=0)) == 7


def test_a_busy_service_is_not_asked_more_often_because_it_is_asked_fast():
    assert first_trip(polls(every=1, error="503 Service Unavailable")) == 7


def test_waiting_where_nobody_sees_what_came_of_it_is_given_four_times_as_long():
    assert first_trip([a_call("wait_for_job", None)] * 40) == 31


def test_a_busy_service_is_given_time():
    busy = a_call("fetch", error="503 Service Unavailable", url="x")

    assert first_trip([busy] * 12) == 7


def test_a_failure_that_says_running_is_not_waited_for():
    down = a_call("Bash", error="error: the daemon is not running", command="docker build .")

    assert first_trip([down] * 4) == 2


def test_the_thresholds_are_the_policys():
    policy = Policy(repeat=Repeat(calls=5, without_results=6, polls=9))

    assert first_trip([FAILING] * 9, policy) == 4


def test_its_evidence_is_what_an_allowlist_entry_holds():
    evidence = last_trip([FAILING] * 3).evidence

    assert evidence.calls == ('Bash {"command":"make"}',)
    assert (evidence.repeats, evidence.limit, evidence.similarity) == (3, 3, 1.0)
    assert evidence.summary == "It ran the same command 3 times and got the same error."


def test_a_person_ends_the_streak():
    assert first_trip([FAILING, FAILING, a_user(), FAILING, FAILING]) is None


def test_a_call_without_arguments_is_told_by_the_text_beside_it():
    steps = [a_call("act", "ok", content=text) for text in ("open the door", "go in", "look")]
    same = [a_call("act", "ok", content="open the door")] * 3

    assert first_trip(steps) is None
    assert first_trip(same) == 2


@pytest.mark.parametrize("answer", ["Building wheel for app: done", "Server starting on port 80"])
def test_a_build_that_speaks_of_itself_is_not_waited_for(answer):
    assert first_trip([a_call("Bash", answer, command="make run")] * 5) == 2


@pytest.mark.parametrize("answer", ["running", '{"status": "processing"}', "Phase: Building"])
def test_a_state_that_is_on_its_way_is_waited_for(answer):
    assert first_trip([a_call("get_build", answer, id=7)] * 12) == 7


def test_who_looks_around_and_checks_again_is_not_stuck():
    good = a_call("Bash", "40 passed", command="pytest -q")
    looks = [a_call("Grep", "No matches found", pattern=word) for word in "abcd"]

    assert first_trip([turn for look in looks for turn in (good, look)]) is None


def test_who_looks_around_between_failures_is():
    looks = [a_call("Grep", "No matches found", pattern=word) for word in ("a", "b", "c")]

    assert first_trip([turn for look in looks for turn in (look, FAILING)]) == 4


def test_who_looks_around_between_failures_and_is_about_to_fail_again_is():
    looks = [a_call("Grep", "No matches found", pattern=word) for word in ("a", "b")]
    turns = [turn for look in looks for turn in (look, FAILING)]

    assert last_trip([*turns, a_proposal("Bash", command="make")]).evidence.repeats == 3
