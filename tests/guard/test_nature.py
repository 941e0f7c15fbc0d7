"""What a tool says of itself wins over what the engine would guess."""

from __future__ import annotations

import json

import pytest

from guard.engine import Engine
from guard.errors import PolicyInvalid
from guard.nature import Retry, ToolNature, pick_args, progress_values
from guard.policy import Policy
from guard.reading.step import Step, read_action
from tests.guard.build import a_call, first_trip, last_trip


def saying(tool="Bash", **nature) -> Policy:
    return Policy.from_mapping({"tool": {tool: nature}})


def job(status, age):
    text = json.dumps({"job": {"status": status}, "log": f"line {age} of something new {age * 7}"})
    return a_call("fetch_job", text, id=4)


def test_only_its_loop_key_tells_calls_apart():
    calls = [
        a_call("run_query", "0 rows", sql="select 1", note=f"try {word}")
        for word in ("again", "harder", "differently", "now")
    ]

    assert first_trip(calls, saying("run_query", loop_key=["sql"])) == 2


def test_what_is_said_of_a_tool_changes_no_action_that_steps_share():
    call = a_call("scroll_down", sql="select 1", note="again")
    action = read_action(call)
    before = (action.request, action.words, dict(action.arguments), action.is_move)
    nature = ToolNature(loop_key=("sql",), retry=Retry.NONE)

    step = Step(call, seq=0, outcome=None, action=action, nature=nature)

    assert (action.request, action.words, dict(action.arguments), action.is_move) == before
    assert (step.request, step.is_move) != (action.request, action.is_move)


def test_other_values_at_its_loop_key_are_other_calls():
    names = ["users", "orders", "items", "stock", "prices", "people"]
    calls = [
        a_call("describe", f"table of {name}: {name}_id", table=name, trace="t") for name in names
    ]

    assert first_trip(calls, saying("describe", loop_key=["table"])) is None


def test_an_empty_loop_key_makes_every_call_of_it_the_same():
    calls = [a_call("spin", "nothing", wheel=word) for word in ("red", "green", "blue")]

    assert first_trip(calls, saying("spin", loop_key=[])) == 2


def test_the_card_still_shows_the_whole_call():
    policy = saying("run_query", loop_key=["sql"])
    calls = [a_call("run_query", "0 rows", sql="select 1", note="a") for _ in range(3)]

    assert last_trip(calls, policy).evidence.calls == ('run_query {"note":"a","sql":"select 1"}',)


def test_a_progress_key_that_stands_still_is_no_progress_whatever_else_moves():
    stuck = [job("running", age) for age in range(12)]

    assert first_trip(stuck, saying("fetch_job", progress_key=["job.status"])) == 7
    assert first_trip(stuck) is None


def test_a_progress_key_that_moves_is_progress_though_all_else_stands_still():
    def step(done):
        return a_call("tick", f"done={done}, please wait", id=1)

    moving = [step(done) for done in range(12)]

    assert first_trip(moving, saying("tick", progress_key=["done"])) is None


def test_only_a_progress_key_that_moved_since_the_last_time_is_better():
    engine = Engine(saying("tick", progress_key=["done"]))

    for done in (0, 1, 1, 2):
        engine.observe(a_call("tick", f"done={done}, please wait", id=1))

    assert [step.improved for step in engine.history.steps] == [False, True, False, True]


@pytest.mark.parametrize(("retry", "at"), [("poll", 7), ("retry", 2), ("none", 2)])
def test_its_retry_nature_says_how_patient_to_be_with_good_answers(retry, at):
    calls = [a_call("get_thing", "nothing yet", id=1) for _ in range(9)]

    policy = {"detectors": ["repeat"], "tool": {"get_thing": {"retry": retry}}}

    assert first_trip(calls, Policy.from_mapping(policy)) == at


def test_a_tool_that_is_retried_is_given_time_when_it_fails():
    calls = [a_call("deploy", error="the gate said no", id=1) for _ in range(9)]
    policy = {"detectors": ["repeat"], "tool": {"deploy": {"retry": "retry"}}}

    assert first_trip(calls, Policy.from_mapping(policy)) == 7


def test_a_poll_by_name_can_be_told_that_it_is_none():
    calls = [a_call("get_status", "state: PENDING", id=1) for _ in range(9)]

    assert first_trip(calls, saying("get_status", retry="none")) == 2


def test_a_turn_may_say_it_itself_and_wins():
    nature = ToolNature(loop_key=("sql",))
    calls = [
        a_call("run_query", "0 rows", sql="select 1", note=note, nature=nature) for note in "abc"
    ]

    assert first_trip(calls, saying("run_query", loop_key=["note"])) == 2


def test_what_a_turn_leaves_out_the_policy_says():
    policy, turn = ToolNature(progress_key=("done",), retry=Retry.POLL), ToolNature(loop_key=("a",))

    assert turn.with_defaults(policy) == ToolNature(
        loop_key=("a",), progress_key=("done",), retry=Retry.POLL
    )


@pytest.mark.parametrize(
    ("text", "paths", "found"),
    [
        ('{"a": {"b": [1, {"c": 2}]}}', ["a.b.1.c"], "[2]"),
        ('{"a.b": 1}', ["a.b"], "[1]"),
        ("[1, 2]", ["0"], "[1]"),
        ("state = DONE; rest", ["job.state"], '["DONE"]'),
        ('{"status": "run', ["status"], '["\\"run"]'),
        ("nothing here", ["status"], None),
        ("{}", ["status"], None),
        ("[" * 100_000, ["status"], None),
    ],
)
def test_progress_is_read_from_json_and_from_plain_lines(text, paths, found):
    assert progress_values(text, paths) == found


def test_arguments_are_picked_by_path():
    args = {"query": {"id": 3, "trace": "x"}, "n": 1}

    assert pick_args(args, ["query.id", "missing"]) == {"query.id": 3}
    assert pick_args(None, ["a"]) == {}


@pytest.mark.parametrize("paths", [("x" * 101,), ("x",) * 21])
def test_paths_are_bounded(paths):
    with pytest.raises(PolicyInvalid):
        ToolNature(loop_key=paths)
    assert len(ToolNature.from_mapping({"loop_key": list(paths)}).loop_key) <= 20
