"""Thresholds per task type, tool and agent; the file format and what it refuses."""

from __future__ import annotations

import doctest
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from guard.errors import PolicyInvalid
from guard.policy import PRESETS, Policy
from tests.guard.build import a_call, first_trip

POLICY = """
extends = "balanced"

[repeat]
calls = 4

[task_type.research.repeat]
calls = 6

[tool."Read".repeat]
calls = 3

[tool."mcp__*".repeat]
calls = 5

[tool.mcp__wait.repeat]
calls = 10

[agent.reviewer.repeat]
calls = 2
"""


def repeats_for(tool=None, agent=None, task_type=None) -> int:
    policy = Policy.from_text(POLICY).for_run(task_type)
    return policy.for_step(tool=tool, agent=agent).repeat.calls


def complaints(mapping) -> dict[str, str]:
    with pytest.raises(PolicyInvalid) as caught:
        Policy.from_mapping(mapping)
    return {problem.field: problem.expected for problem in caught.value.problems}


def test_a_tool_that_is_no_table_is_told_by_its_name():
    assert complaints({"tool": {"Bash": 3}}) == {"tool.Bash": "a table of fields"}


def test_a_tool_that_is_no_table_hides_nothing_of_another():
    assert set(complaints({"tool": {"Bash": 3, "Read": {"retry": "x"}}})) == {
        "tool.Bash",
        "tool.Read.retry",
    }


def test_what_is_null_in_a_table_is_not_said():
    broker = {"detectors": ["broker"], "contrib": {"broker": {"warn": None}}}
    policy = Policy.from_mapping(
        {
            "extends": "watchful",
            "ladder": {"every": {"nudge": None}},
            "contrib": {"broker": {"warn": 2}},
            "tool": {"Read": broker},
        }
    )

    assert policy.escalation_of("repeat").nudge == "tell"
    assert policy.for_step(tool="Read", agent=None).contrib == {"broker": {"warn": 2}}


def reads(count, agent="coder", tool="Read"):
    return [a_call(tool, "the same old text", agent=agent, path="a.py") for _ in range(count)]


@pytest.mark.parametrize(
    ("scope", "repeats"),
    [
        ({}, 4),
        ({"task_type": "research"}, 6),
        ({"task_type": "coding"}, 4),
        ({"tool": "Read"}, 3),
        ({"tool": "Read", "task_type": "research"}, 3),
        ({"tool": "mcp__search"}, 5),
        ({"tool": "mcp__wait"}, 10),
        ({"tool": "Read", "agent": "reviewer"}, 2),
        ({"agent": "reviewer", "task_type": "research"}, 2),
    ],
)
def test_the_narrowest_table_that_speaks_wins(scope, repeats):
    assert repeats_for(**scope) == repeats


def test_what_a_table_leaves_out_stays_as_it_was():
    policy = Policy.from_text(POLICY).for_step(tool="Read", agent=None)

    assert policy.repeat.polls == Policy().repeat.polls


def test_the_engine_holds_each_call_to_its_own_table():
    policy = Policy.from_text(POLICY)

    assert first_trip(reads(6, agent="reviewer"), policy) == 1
    assert first_trip(reads(6), policy) == 2
    assert first_trip(reads(6, tool="mcp__get"), policy) == 4


def test_a_tool_may_be_left_to_fewer_detectors():
    policy = Policy.from_mapping({"tool": {"Read": {"detectors": ["budget"]}}})

    assert first_trip(reads(20), policy) is None
    assert first_trip(reads(4, tool="fetch_page"), policy) is not None


def test_a_rule_that_only_a_tool_names_keeps_its_thresholds():
    rule = {"detectors": ["broker"]}
    policy = Policy.from_mapping({"contrib": {"broker": {"warn": 2}}, "tool": {"Read": rule}})

    assert policy.for_step(tool="Read", agent=None).contrib == {"broker": {"warn": 2}}


def test_a_threshold_misspelt_is_told_of_a_rule_that_rests_too():
    assert set(complaints({"contrib": {"broker": {"wran": 2}}})) == {"contrib.broker.wran"}


def test_every_wrong_field_is_told_at_once():
    found = complaints(
        {
            "repeat": {"calls": 1, "polls": 99, "times": 3},
            "ladder": {"every": {"trip": "explode"}, "psychic": {}},
            "tool": {"Bash": {"retry": "often", "repeat": {"rounds": 0}}},
            "agent": {"reviewer": {"budget": {"usd": 1}}},
            "task_type": 3,
        }
    )

    assert set(found) == {
        "repeat.calls",
        "repeat.polls",
        "repeat.times",
        "ladder.every.trip",
        "ladder.psychic",
        "tool.Bash.retry",
        "tool.Bash.repeat.rounds",
        "agent.reviewer.budget",
        "task_type",
    }


def test_an_unknown_name_is_told_the_known_ones():
    assert complaints({"repeat": {"times": 3}}) == {
        "repeat.times": "one of calls, without_results, polls, rounds, cycles"
    }
    assert complaints({"extends": "lax"})["extends"].startswith("one of ")
    assert complaints({"tool": {"Bash": {"retry": "x"}}}) == {
        "tool.Bash.retry": "one of poll, retry, none"
    }


@pytest.mark.parametrize("value", [3, "command", [1], {"a": 1}, ["x"] * 21, ["x" * 101]])
def test_a_loop_key_is_a_list_of_texts(value):
    assert complaints({"tool": {"Bash": {"loop_key": value}}}) == {
        "tool.Bash.loop_key": "a list of texts, at most 20 of 100 characters"
    }


@pytest.mark.parametrize(
    ("mapping", "field"),
    [
        ({"detectors": [["repeat"]]}, "detectors"),
        ({"detectors": ["broker"], "contrib": {"broker": 5}}, "contrib.broker"),
        ({"contrib": 5}, "contrib"),
    ],
)
def test_what_is_no_table_is_told_wherever_it_stands(mapping, field):
    assert set(complaints(mapping)) == {field}


def test_tables_are_bounded():
    many = {f"tool-{number}": {"retry": "poll"} for number in range(201)}

    assert complaints({"tool": many}) == {"tool": "at most 200 tables"}


def test_text_that_is_neither_toml_nor_json_says_where():
    with pytest.raises(PolicyInvalid, match="line 2"):
        Policy.from_text("[repeat]\ncalls = = 3")
    with pytest.raises(PolicyInvalid, match="TOML or JSON"):
        Policy.from_text('{"repeat": ')


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_each_preset_survives_the_way_to_json_and_back(name):
    mapping = json.loads(json.dumps(PRESETS[name].as_mapping()))

    assert Policy.from_mapping(mapping) == PRESETS[name]


def test_a_policy_with_tables_survives_it_too():
    policy = Policy.from_text(POLICY + '[ladder.every]\ntrip = "observe"\n')

    assert Policy.from_mapping(json.loads(json.dumps(policy.as_mapping()))) == policy


def test_a_document_changes_what_it_extends():
    policy = Policy.from_mapping({"extends": "watchful", "repeat": {"rounds": 5}})

    assert policy.repeat.polls == PRESETS["watchful"].repeat.polls
    assert policy.repeat.rounds == 5


def test_quiet_asks_later_and_watchful_no_later_than_balanced():
    missing = [a_call("Read", error="File does not exist.", path="x.py") for _ in range(8)]

    alarms = [first_trip(missing, PRESETS[name]) for name in ("watchful", "balanced", "quiet")]

    assert alarms == sorted(alarms)
    assert alarms[2] > alarms[1]


@pytest.mark.parametrize("section", ["repeat", "errors", "stagnation"])
def test_quiet_is_more_patient_in_each_limit(section):
    quiet, balanced = (asdict(getattr(PRESETS[name], section)) for name in ("quiet", "balanced"))

    assert [name for name, limit in quiet.items() if limit <= balanced[name]] == []


def test_the_examples_in_the_policy_page_are_true():
    page = Path(__file__).resolve().parents[2] / "docs" / "policy.md"

    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_the_policy_of_a_step_holds_no_tables_that_each_change_of_it_would_read_again():
    tables = {"a": {"repeat": {"calls": 5}}}
    policy = Policy.from_mapping({"task_type": tables, "tool": tables, "agent": tables})

    step = policy.for_step(tool="a", agent="b")

    assert (step.repeat.calls, step.task_type, step.tool, step.agent) == (5, {}, {}, {})
